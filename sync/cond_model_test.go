//go:build interleave

package sync

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A condWorld is a Cond in a scenario. A goroutine of its line that was in it from the start has no
// thread before it waits, and so few steps.
type condWorld struct {
	*Cond
	x *interleave.Run
}

func newCondWorld(x *interleave.Run) condWorld {
	c := NewCond(new(xsync.Mutex))
	x.Name("c", c)
	return condWorld{c, x}
}

// queued puts a waiter into the line. The function that it returns is the rest of its wait, without
// the lock, and reports whether it was woken.
func (w condWorld) queued(l waiting.Limit) (wait func() bool) {
	p := waiting.GetParker(l)
	w.enter(p)
	return func() bool {
		_, err := waiting.Wait(p, l, condLine{w.Cond})
		if err == nil {
			p.Put()
		}
		return err == nil
	}
}

// cancelled returns a limit, whose context ends at any time.
func (w condWorld) cancelled() waiting.Limit {
	ctx := w.x.NewContext()
	w.x.Go("canceller", ctx.Cancel)
	return waiting.UntilDone(ctx)
}

// passesOn has a goroutine of the line give up at any time. If it was woken before, it sends a
// signal in place of the one that it has used.
func (w condWorld) passesOn(l waiting.Limit) {
	wait := w.queued(l)
	w.x.Go("gives up", func() {
		if wait() {
			w.Signal()
		}
	})
}

// waits has a goroutine of the line wait until it is woken. If none wakes it that is a deadlock.
func (w condWorld) waits(name string) {
	wait := w.queued(waiting.Limit{})
	w.x.Go(name, func() { wait() })
}

// locked runs f under the lock.
func (w condWorld) locked(f func()) {
	w.L.Lock()
	f()
	w.L.Unlock()
}

// isNotWoken waits for a short time, and fails if a signal from before ends the wait.
func (w condWorld) isNotWoken() {
	w.locked(func() {
		w.x.Assert(!w.WaitTimeout(time.Second), "woken by what was sent before the wait")
	})
}

var condScenarios = []struct {
	name string
	run  func(w condWorld)
	left int // how many wait when all threads have ended
}{
	{"signal", func(w condWorld) {
		var ready interleave.Bool
		w.x.Go("waiter", func() {
			w.locked(func() {
				for !ready.Load() {
					w.Wait()
				}
			})
		})
		w.x.Go("changer", func() {
			w.locked(func() { ready.Store(true) })
			w.Signal()
		})
	}, 0},
	{"items", func(w condWorld) {
		items := 0 // the lock guards it
		w.x.Same(2, "consumer", func(int) {
			w.locked(func() {
				for items == 0 {
					w.Wait()
				}
				items--
			})
		})
		w.x.Go("producer", func() {
			for range 2 {
				w.locked(func() {
					items++
					w.Signal()
				})
			}
		})
	}, 0},
	{"item beside a cancel", func(w condWorld) {
		items := 0
		put := func() {
			items++
			w.Signal()
		}
		ctx := w.x.NewContext()
		w.x.Go("canceller", ctx.Cancel)
		w.x.Go("gives up", func() {
			w.locked(func() {
				for items == 0 {
					if w.WaitContext(ctx) != nil {
						return
					}
				}
				put()
				items--
			})
		})
		w.x.Go("consumer", func() {
			w.locked(func() {
				for items == 0 {
					w.Wait()
				}
				items--
			})
		})
		w.x.Go("producer", func() { w.locked(put) })
	}, 0},
	{"broadcast", func(w condWorld) {
		ready := false
		w.x.Same(2, "waiter", func(int) {
			w.locked(func() {
				for !ready {
					w.Wait()
				}
			})
		})
		w.x.Go("changer", func() {
			w.locked(func() { ready = true })
			w.Broadcast()
		})
	}, 0},
	// A lock that several have at a time, as a read lock, does not order those who enter.
	{"lock that is shared", func(w condWorld) {
		w.L = shared{}
		w.x.Same(2, "waiter", func(int) { w.WaitTimeout(time.Second) })
		w.x.Go("signaller", func() {
			w.Signal()
			w.Broadcast()
		})
	}, 0},
	{"broadcast beside a cancel", func(w condWorld) {
		wait := w.queued(w.cancelled())
		w.x.Go("gives up", func() { wait() })
		w.waits("waiter")
		w.x.Go("caller", func() {
			w.Broadcast()
			w.isNotWoken()
		})
	}, 0},
	// What a broadcast sends to one who gives up is for none who came later.
	{"broadcast and signal beside a cancel", func(w condWorld) {
		wait := w.queued(w.cancelled())
		w.x.Go("gives up", func() { wait() })
		w.x.Go("caller", func() {
			w.Broadcast()
			w.queued(waiting.Limit{})
			w.queued(waiting.Limit{})
			w.Signal()
		})
	}, 1},
	{"signal beside a cancel", func(w condWorld) {
		w.passesOn(w.cancelled())
		w.waits("waiter")
		w.x.Go("signaller", w.Signal)
	}, 0},
	{"signal beside a timeout", func(w condWorld) {
		w.passesOn(waiting.After(time.Second))
		w.waits("waiter")
		w.x.Go("signaller", w.Signal)
	}, 0},
	{"signal beside two cancels", func(w condWorld) {
		w.passesOn(w.cancelled())
		w.passesOn(waiting.After(time.Second))
		w.waits("waiter")
		w.x.Go("signaller", w.Signal)
	}, 0},
	// Who gives up behind the waiter was the last that the signal could be passed on to.
	{"signal beside cancels on both sides", func(w condWorld) {
		w.passesOn(w.cancelled())
		w.waits("waiter")
		w.passesOn(waiting.After(time.Second))
		w.x.Go("signaller", w.Signal)
	}, 0},
	// The second signal is for one who came after the first. The first, passed on, takes the place
	// of the second, which then is for the later one.
	{"signals beside a cancel", func(w condWorld) {
		w.passesOn(w.cancelled())
		w.waits("waiter")
		w.x.Go("signaller", func() {
			w.Signal()
			later := w.queued(waiting.Limit{})
			w.Signal()
			later()
		})
	}, 0},
	{"two signals beside a cancel", func(w condWorld) {
		w.passesOn(w.cancelled())
		w.waits("waiter")
		w.waits("another")
		w.x.Same(2, "signaller", func(int) { w.Signal() })
	}, 0},
	{"two signals beside two cancels", func(w condWorld) {
		w.passesOn(w.cancelled())
		w.passesOn(waiting.After(time.Second))
		w.waits("waiter")
		w.waits("another")
		w.x.Same(2, "signaller", func(int) { w.Signal() })
	}, 0},
	{"signal beside a cancel is one", func(w condWorld) {
		w.passesOn(w.cancelled())
		w.queued(waiting.Limit{})
		w.queued(waiting.Limit{})
		w.x.Go("signaller", w.Signal)
	}, 1},
	{"wait after a signal", func(w condWorld) {
		wait := w.queued(w.cancelled())
		w.x.Go("gives up", func() { wait() })
		w.x.Go("signaller", func() {
			w.Signal()
			w.isNotWoken()
		})
	}, 0},
	{"first come", func(w condWorld) {
		first := w.queued(waiting.Limit{})
		w.queued(waiting.Limit{})
		w.x.Go("first", func() { first() })
		w.x.Go("signaller", w.Signal)
	}, 1},
	// A wait ends with the lock held, however it ends. No other has it then.
	{"lock is held after it", func(w condWorld) {
		var inside interleave.Int32
		ctx := w.x.NewContext()
		alone := func() {
			w.x.Assert(inside.Add(1) == 1, "two inside")
			inside.Add(-1)
		}
		w.x.Go("canceller", ctx.Cancel)
		w.x.Go("waiter", func() {
			w.locked(func() {
				err := w.WaitContext(ctx)
				w.x.Assert(err == nil || err == context.Canceled, "%v", err)
				alone()
			})
		})
		w.x.Go("other", func() {
			w.locked(alone)
			w.Signal()
		})
	}, 0},
	// Who fails to unlock may have a signal already, and so may who gives up.
	{"lock that panics beside one who gives up", func(w condWorld) {
		w.L = stuck{}
		p := waiting.GetParker(waiting.Limit{})
		w.enter(p)
		w.passesOn(w.cancelled())
		w.waits("waiter")
		w.x.Go("misuser", func() {
			w.x.Assert(interleave.Panics(func() { w.unlock(p) }) == "stuck", "no panic")
		})
		w.x.Go("signaller", w.Signal)
	}, 0},
	{"lock that panics", func(w condWorld) {
		w.L = stuck{}
		p := waiting.GetParker(waiting.Limit{})
		w.enter(p)
		w.waits("waiter")
		w.x.Go("misuser", func() {
			w.x.Assert(interleave.Panics(func() { w.unlock(p) }) == "stuck", "no panic")
		})
		w.x.Go("signaller", w.Signal)
	}, 0},
	{"lock that panics before a timeout", func(w condWorld) {
		w.L = stuck{}
		w.x.Go("misuser", func() {
			w.x.Assert(interleave.Panics(func() { w.WaitTimeout(time.Second) }) == "stuck", "no panic")
			w.x.Assert(interleave.Panics(w.Wait) == "stuck", "no panic")
		})
		w.x.Go("signaller", w.Signal)
	}, 0},
}

// A shared lock keeps no goroutine out.
type shared struct{}

func (shared) Lock()   {}
func (shared) Unlock() {}

// A stuck lock cannot be unlocked.
type stuck struct{}

func (stuck) Lock()   {}
func (stuck) Unlock() { panic("stuck") }

// No signal is lost when others give up: a goroutine that waits for it would sleep for ever. None
// is woken by a signal from before its wait.
func TestModelCond(t *testing.T) {
	for _, s := range condScenarios {
		t.Run(s.name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				w := newCondWorld(x)
				s.run(w)
				x.Wait()
				x.Assert(w.Waiting() == s.left, "%d wait, not %d", w.Waiting(), s.left)
				x.Assert(w.isOccupied() == (s.left > 0), "a line of %d is occupied: %v", s.left, w.isOccupied())
			})
		})
	}
}

// Goroutines that have the lock for reading look, and give up at any point. A writer finds
// them in the line.
func TestModelCondOfReaders(t *testing.T) {
	for _, end := range []string{"cancel", "timeout"} {
		t.Run(end, func(t *testing.T) {
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
				l, ready := newRWMutex(Express-1), false
				w := condWorld{NewCond(l.RLocker()), x}
				x.Name("l", l)
				limit := waiting.After(time.Second)
				if end == "cancel" {
					limit = w.cancelled()
				}
				x.Go("gives up", func() {
					w.locked(func() {
						if !ready && w.wait(limit) == nil {
							w.Signal()
						}
					})
				})
				x.Go("reader", func() {
					w.locked(func() {
						for !ready {
							w.Wait()
						}
					})
				})
				x.Go("writer", func() {
					l.Lock()
					ready = true
					l.Unlock()
					w.Signal()
				})
				x.Wait()
				x.Assert(w.Waiting() == 0, "%d wait", w.Waiting())
				requireUnlocked(x, l)
			})
		})
	}
}

// A signal to one of two conditions with one lock wakes nobody of the other, and is not lost when a
// producer gives up.
func TestModelCondsOfOneLock(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
		items := newCondWorld(x)
		room := condWorld{NewCond(items.L), x}
		full := true
		put := func(wait func() bool) {
			items.locked(func() {
				for full {
					if !wait() {
						return
					}
				}
				full = true
				items.Signal()
			})
		}
		x.Go("hasty producer", func() { put(func() bool { return room.WaitTimeout(time.Second) }) })
		x.Go("producer", func() { put(func() bool { room.Wait(); return true }) })
		x.Go("consumer", func() {
			for range 2 {
				items.locked(func() {
					for !full {
						items.Wait()
					}
					full = false
					room.Signal()
				})
			}
		})
		x.Wait()
		x.Assert(items.Waiting()+room.Waiting() == 0, "%d and %d wait", items.Waiting(), room.Waiting())
	})
}
