//go:build interleave

package sync

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
)

var groupScenarios = []struct {
	name string
	run  func(x *interleave.Run, wg *WaitGroup)
}{
	{"wait", func(x *interleave.Run, wg *WaitGroup) {
		wg.Add(2)
		var did [2]bool // plain: what comes before Done is ordered before what comes after Wait
		x.Go("task", func() { did[0] = true; wg.Done() })
		x.Go("other task", func() { did[1] = true; wg.Done() })
		x.Same(2, "waiter", func(int) {
			wg.Wait()
			x.Assert(did == [2]bool{true, true}, "returned before the tasks were done")
		})
	}},
	{"tasks that start tasks", func(x *interleave.Run, wg *WaitGroup) {
		wg.Add(1)
		done := 0
		x.Go("task", func() {
			wg.Add(1)
			wg.Done()
			done++
			wg.Done()
		})
		x.Go("waiter", func() {
			wg.Wait()
			x.Assert(done == 1, "returned before the task was done")
		})
	}},
	{"cancel", func(x *interleave.Run, wg *WaitGroup) {
		wg.Add(1)
		ctx := x.NewContext()
		x.Go("canceller", ctx.Cancel)
		x.Go("task", wg.Done)
		x.Go("gives up", func() {
			err := wg.WaitContext(ctx)
			x.Assert(err == nil || err == context.Canceled, "%v", err)
		})
		x.Go("waiter", wg.Wait)
	}},
	{"cancel before the end", func(x *interleave.Run, wg *WaitGroup) {
		wg.Add(1)
		ctx := x.NewContext()
		x.Go("task", func() { ctx.Cancel(); wg.Done() })
		x.Go("gives up", func() { x.Assert(wg.WaitContext(ctx) == context.Canceled, "the cancel was first") })
	}},
	{"timeout", func(x *interleave.Run, wg *WaitGroup) {
		wg.Add(1)
		var done interleave.Bool
		x.Go("task", func() { done.Store(true); wg.Done() })
		x.Same(2, "hasty", func(int) {
			x.Assert(!wg.WaitTimeout(time.Second) || done.Load(), "returned before the task was done")
		})
	}},
	{"reuse", func(x *interleave.Run, wg *WaitGroup) {
		wg.Add(1)
		x.Go("task", wg.Done)
		x.Go("waiter", func() {
			wg.Wait()
			again(x, wg)
		})
	}},
	// The task may still be about to wake the waiter that has given up.
	{"reuse after cancel", func(x *interleave.Run, wg *WaitGroup) {
		wg.Add(1)
		ctx := x.NewContext()
		x.Go("canceller", ctx.Cancel)
		x.Go("task", wg.Done)
		x.Go("waiter", func() {
			_ = wg.WaitContext(ctx)
			again(x, wg)
		})
	}},
	{"reuse after timeout", func(x *interleave.Run, wg *WaitGroup) {
		wg.Add(1)
		x.Go("task", wg.Done)
		x.Go("waiter", func() {
			wg.WaitTimeout(time.Second)
			again(x, wg)
		})
	}},
	{"too many done", func(x *interleave.Run, wg *WaitGroup) {
		wg.Add(1)
		x.Same(2, "task", func(int) {
			if v := interleave.Panics(wg.Done); v != nil {
				x.Assert(v == "sync: negative WaitGroup counter", "panicked with %v", v)
				wg.Add(1)
			}
		})
	}},
}

// again uses the group a second time.
func again(x *interleave.Run, wg *WaitGroup) {
	var done interleave.Bool
	wg.Add(1)
	x.Go("later task", func() { done.Store(true); wg.Done() })
	wg.Wait()
	x.Assert(done.Load(), "returned before the later task was done")
}

// A second round that begins before a wait of the first has returned is said to be misuse in some
// executions, by either side. In the others it does no harm.
func TestModelWaitGroupIsReusedTooEarly(t *testing.T) {
	for name, wait := range map[string]func(wg *WaitGroup){
		"Wait":        (*WaitGroup).Wait,
		"WaitTimeout": func(wg *WaitGroup) { wg.WaitTimeout(time.Second) },
	} {
		t.Run(name, func(t *testing.T) {
			var inWait, inAdd atomic.Bool
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				wg := new(WaitGroup)
				wg.Add(1)
				x.Go("waiter", func() {
					if v := interleave.Panics(func() { wait(wg) }); v != nil {
						x.Assert(v == "sync: WaitGroup is reused before previous Wait has returned", "panicked with %v", v)
						inWait.Store(true)
					}
				})
				x.Go("task", wg.Done)
				x.Go("too early", func() {
					if v := interleave.Panics(func() { wg.Add(1) }); v != nil {
						x.Assert(v == "sync: WaitGroup misuse: Add called concurrently with Wait", "panicked with %v", v)
						inAdd.Store(true)
					}
					wg.Done()
				})
				x.Wait()
				x.Assert(wg.state.Load() == 0, "the state is %x", wg.state.Load())
			})
			require.True(t, inWait.Load(), "no wait sees it")
			require.True(t, inAdd.Load(), "no Add sees it")
		})
	}
}

// No wait returns before the counter was zero, and each returns then, though others give up.
func TestModelWaitGroup(t *testing.T) {
	for _, s := range groupScenarios {
		t.Run(s.name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				wg := new(WaitGroup)
				x.Name("wg", wg)
				s.run(x, wg)
				x.Wait()
				x.Assert(wg.state.Load() == 0, "the state is %x", wg.state.Load())
				x.Assert(wg.line.Len() == 0 && wg.Waiting() == 0, "%d are in the line", wg.line.Len())
			})
		})
	}
}
