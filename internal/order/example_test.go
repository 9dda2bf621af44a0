package order_test

import (
	"fmt"

	"github.com/farad-go/farad/internal/order"
	"github.com/farad-go/farad/internal/waiting"
)

// One tenant has four requests in the line when another one comes with two.
func Example() {
	line := order.New(order.Config{Shares: true})
	var wake waiting.WakeList // of those that are shed: none here
	names := map[*waiting.Waiter]string{}
	push := func(tenant, name string) {
		w := &waiting.Waiter{N: 1}
		names[w] = name
		line.Push(w, &order.By{Tenant: tenant, Weight: line.Weigh(tenant)}, 0, false, &wake)
	}
	for _, name := range []string{"A1", "A2", "A3", "A4"} {
		push("A", name)
	}
	push("B", "B1")
	push("B", "B2")
	for w := line.Pop(0, &wake); w != nil; w = line.Pop(0, &wake) {
		fmt.Print(names[w], " ")
	}
	// Output: A1 B1 A2 B2 A3 A4
}
