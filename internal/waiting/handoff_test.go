package waiting

import (
	"runtime"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/xsync"
)

// A line of parkers, whose first gets an outcome when the test says so.
type parkers struct {
	mu   xsync.Mutex
	list Queue
}

func (l *parkers) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list.Len()
}

func (l *parkers) wait(got func()) {
	p := GetParker(Limit{})
	l.mu.Lock()
	l.list.PushBack(&p.Waiter)
	l.mu.Unlock()
	p.Park(Limit{})
	got()
	p.Put()
}

func (l *parkers) pop() *Waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list.PopFront()
}

// The owner of a goroutine's node that gets what was handed over runs first, and so do all of a
// list. That of a future does not run: nobody gives up a processor for it.
func TestHandOffLetsTheOwnersRun(t *testing.T) {
	l := new(parkers)
	locktest.RequireHandOff(t, l, 1, func() {}, func() { l.pop().HandOff() }, l.wait)
	all := func() {
		var wake WakeList
		for w := l.pop(); w != nil; w = l.pop() {
			wake.Add(w, Granted)
		}
		wake.HandOff()
		require.False(t, wake.granted, "the list can be used again")
	}
	locktest.RequireHandOff(t, l, 4, func() {}, all, l.wait)
}

// What is not handed over costs the caller no turn: the end of a request without a grant, a
// future, and a grant that was refused.
func TestOnlyHandOffsCede(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const rounds = 100
	ran := 0 // while the test does not give up the processor nobody else runs
	for name, f := range map[string]func(){
		"future": func() {
			var w Waiter
			w.Arm(nil)
			w.HandOff()
		},
		"list of futures": func() {
			var wake WakeList
			w := new(Waiter)
			w.Arm(nil)
			wake.Add(w, Granted)
			wake.HandOff()
		},
		"closed": func() {
			var wake WakeList
			p := GetParker(Limit{})
			wake.Add(&p.Waiter, Closed)
			wake.HandOff()
			p.Park(Limit{}) // The token is there.
			p.Put()
		},
	} {
		ran = 0
		for range rounds {
			done := make(chan bool, 1)
			go func() { done <- true }()
			f()
			if len(done) > 0 {
				ran++
			}
			<-done
		}
		require.Less(t, ran, rounds/5, name)
	}
}
