//go:build interleave

package rt

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest"
)

// counted is start, with workers that Shutdown waits for, and that nothing but the end of the
// executor sends home.
func (l *lab) counted(tasks ...*subject) {
	l.withTimers()
	l.left.Add(1) // so that the last task does not stop them
	for _, t := range tasks {
		l.spawn(t)
	}
	for _, w := range l.ex.workers {
		l.ex.count()
		l.Go("worker", func() {
			w.serve()
			l.ex.workerEnded()
		})
	}
}

// shutDown does what Shutdown does besides waiting, for which it has channels of Go.
func (l *lab) shutDown() {
	l.ex.close()
	await(func() bool { return l.ex.left.Load() == 0 })
	l.Assert(locktest.IsClosed(l.ex.drained), "all tasks have ended, and it is not reported")
	l.ex.end()
}

func (l *lab) requireHome() {
	l.Assert(locktest.IsClosed(l.ex.home), "all goroutines have ended, and it is not reported")
	l.Assert(l.ex.running == 0, "%d goroutines are still counted", l.ex.running)
	l.Assert(l.ex.Spawn(l.task("late", once)) == ErrShutdown, "a task was taken after the end")
	l.ex.count() // a function that blocks, of a goroutine that does not know yet
	l.ex.workerEnded()
}

// However many end an executor at the same time: each task that was accepted ends, every worker
// exits, and each waiter for one or the other is told, once.
func TestModelEnd(t *testing.T) {
	o := interleave.Options{Mode: interleave.Bounded, Bound: 2}
	if testing.Short() || interleave.RaceEnabled {
		o.Bound = 1
	}
	run(t, o, []experiment{
		{"two at once", func(x *interleave.Run) {
			l := newLab(x, 1)
			l.counted(l.task("t", once))
			x.Same(2, "closer", func(int) { l.shutDown() })
			x.Wait()
			l.requireHome()
		}, 0},
		{"without a goroutine", func(x *interleave.Run) { // as if the pool had none
			l := newLab(x, 1)
			l.withTimers()
			x.Same(2, "closer", func(int) { l.shutDown() })
			x.Wait()
			l.requireHome()
		}, 0},
		{"beside a spawn", func(x *interleave.Run) { // which is refused, or takes place
			l := newLab(x, 2)
			l.counted()
			var taken interleave.Bool
			u := l.task("u", once)
			x.Go("spawner", func() {
				err := l.ex.Spawn(u)
				l.Assert(err == nil || err == ErrShutdown, "spawn: %v", err) //nolint:errorlint // that very error
				taken.Store(err == nil)
			})
			x.Go("closer", l.shutDown)
			x.Wait()
			l.Assert((u.polls.Load() == 1) == taken.Load(), "taken %v, polled %d times", taken.Load(), u.polls.Load())
			l.requireHome()
		}, 0},
		{"with a monitor that looks", func(x *interleave.Run) {
			l := newLab(x, 2)
			clock := l.monitored()
			l.counted(l.task("t", once))
			x.Go("clock", func() {
				if clock.set.Swap(false) { // it goes off, maybe too late to be stopped
					l.ex.monitor.tick()
				}
			})
			x.Go("closer", l.shutDown)
			x.Wait()
			l.Assert(l.ex.monitor.stopped && !clock.set.Load(), "the clock goes on")
			l.requireHome()
		}, 0},
		{"by a cancel of a task that waits", func(x *interleave.Run) {
			l := newLab(x, 1)
			t := l.task("t", func(_ *subject, cx *Context, _ int32) bool { return cx.Err() != nil })
			l.counted(t)
			x.Go("closer", func() {
				l.ex.close()
				l.ex.cancelAll(ErrShutdown)
				await(func() bool { return l.ex.left.Load() == 0 })
				l.ex.end()
			})
			x.Wait()
			l.requireHome()
		}, 0},
	})
}
