package locks

import (
	"context"
	"fmt"
	"sync"

	"github.com/farad-go/farad/bench/measure"
	farad "github.com/farad-go/farad/sync"
)

// The names of what only these workloads have.
const (
	NameCond      = "sync.Cond"
	NameWaitGroup = "sync.WaitGroup"
	nameForeign   = "farad, sync.Mutex" // farad's condition variable on the standard library's lock
)

// Conds are condition variables, each with the mutex of its package, and wait groups. One goroutine
// is measured. The others, whose part it waits for, come and go with each batch of operations.
var Conds = []Bench{
	{"cond-ping-pong", 1, onConds(pingPong)},
	{"cond-64", 1, onConds(func(l sync.Locker, create func(sync.Locker) condition) Loop {
		return signals(64, l, create(l), create(l))
	})},
	{"waitgroup-1", 1, []Impl{faradAddDone, stdAddDone}},
	{"waitgroup-wait", 1, []Impl{faradWait, stdWait}},
}

type condition interface {
	Wait()
	Signal()
}

func faradCond(l sync.Locker) condition { return farad.NewCond(l) }

func stdCond(l sync.Locker) condition { return sync.NewCond(l) }

// onConds returns what loop does with each kind of condition variable.
func onConds(loop func(l sync.Locker, create func(sync.Locker) condition) Loop) []Impl {
	return []Impl{
		{Name: measure.NameFarad, Make: func() Loop { return loop(new(farad.Mutex), faradCond) }},
		{Name: nameForeign, Make: func() Loop { return loop(new(sync.Mutex), faradCond) }},
		{Name: NameCond, Make: func() Loop { return loop(new(sync.Mutex), stdCond) }},
	}
}

// pingPong makes two goroutines take turns.
func pingPong(l sync.Locker, create func(sync.Locker) condition) Loop {
	mine, theirs := create(l), create(l)
	theirTurn, left := false, 0
	partner := func() {
		l.Lock()
		for ; left > 0; left-- {
			for !theirTurn {
				theirs.Wait()
			}
			theirTurn = false
			mine.Signal()
		}
		l.Unlock()
	}
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		l.Lock()
		defer l.Unlock()
		left = n // The partner of the last batch has ended, or is about to return.
		go partner()
		for range n {
			theirTurn = true
			theirs.Signal()
			for theirTurn {
				mine.Wait()
			}
			x = measure.Xorshift(x)
		}
		if left > 1 {
			return x, fmt.Errorf("the partner has %d turns left", left)
		}
		return x, nil
	}
}

// signals makes all goroutines wait, and wakes each by a signal. One operation is all of them.
func signals(goroutines int, l sync.Locker, c, ready condition) Loop {
	round, rounds, waiting := 0, 0, 0
	arrive := func() {
		if waiting++; waiting == goroutines {
			ready.Signal()
		}
	}
	goroutine := func() {
		l.Lock()
		for mine := range rounds {
			arrive()
			for round == mine {
				c.Wait()
			}
		}
		arrive()
		l.Unlock()
	}
	return func(_ context.Context, _, n int, x uint64) (uint64, error) {
		l.Lock()
		defer l.Unlock()
		round, rounds, waiting = 0, n, 0
		for range goroutines {
			go goroutine()
		}
		for range n + 1 {
			for waiting < goroutines {
				ready.Wait()
			}
			waiting = 0
			round++
			for range goroutines {
				c.Signal()
			}
			x = measure.Xorshift(x)
		}
		return x, nil
	}
}

var (
	faradAddDone = Impl{Name: measure.NameFarad, Make: func() Loop {
		var wg farad.WaitGroup
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				wg.Add(1)
				x = measure.Xorshift(x)
				wg.Done()
			}
			return x, nil
		}
	}}
	stdAddDone = Impl{Name: NameWaitGroup, Make: func() Loop {
		var wg sync.WaitGroup
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				wg.Add(1)
				x = measure.Xorshift(x)
				wg.Done()
			}
			return x, nil
		}
	}}
	faradWait = Impl{Name: measure.NameFarad, Make: func() Loop {
		var wg farad.WaitGroup
		done := wg.Done
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				wg.Add(1)
				go done()
				x = measure.Xorshift(x)
				wg.Wait()
			}
			return x, nil
		}
	}}
	stdWait = Impl{Name: NameWaitGroup, Make: func() Loop {
		var wg sync.WaitGroup
		done := wg.Done
		return func(_ context.Context, _, n int, x uint64) (uint64, error) {
			for range n {
				wg.Add(1)
				go done()
				x = measure.Xorshift(x)
				wg.Wait()
			}
			return x, nil
		}
	}}
)
