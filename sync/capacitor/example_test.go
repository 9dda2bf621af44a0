package capacitor_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/farad-go/farad/sync/capacitor"
)

// Any lock can be wrapped. With this bound at most 9 later arrivals get the lock first.
func ExampleWrap() {
	mu := capacitor.Wrap(new(sync.Mutex), 10)
	mu.Lock()
	fmt.Println(mu.Gate().Population(), mu.TryLock())
	mu.Unlock()
	// Output: 1 false
}

// Visitors of a cave go in threes, and the next three when all have come out.
func ExampleGate() {
	gate := capacitor.NewGate(3)
	fmt.Println(gate.TryArrive(), gate.TryArrive(), gate.TryArrive(), gate.TryArrive())
	gate.Depart()
	gate.Depart()
	fmt.Println(gate.Population(), gate.TryArrive())
	gate.Depart()
	fmt.Println(gate.Population(), gate.TryArrive())
	// Output:
	// true true true false
	// 1 false
	// 0 true
}

func ExampleOption() {
	mu := capacitor.Wrap(new(sync.Mutex), 2, capacitor.WithExpress(64))
	for range 10 {
		mu.Lock()
		mu.Unlock()
	}
	fmt.Println("no goroutine has passed the gate:", mu.Gate().Platoon() == 0)
	// Output: no goroutine has passed the gate: true
}

func ExampleWithWaitingArray() {
	gate := capacitor.NewGate(10, capacitor.WithWaitingArray(nil))
	if err := gate.Arrive(context.Background()); err != nil {
		return
	}
	defer gate.Depart()
	fmt.Println(gate.Population())
	// Output: 1
}
