//go:build interleave

package semaphore

import (
	"fmt"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A capacitorWorld is a semaphore all of whose permits are held, and its waiters.
type capacitorWorld struct {
	*interleave.Run
	p *capacitor
}

func newCapacitorWorld(x *interleave.Run, n int64, b, q int) *capacitorWorld {
	w := &capacitorWorld{x, New(n, WithCapacitor(b, q)).p.(*capacitor)}
	x.Name("p", w.p)
	x.Assert(w.p.TryAcquire(n), "not free")
	return w
}

// future returns a request for n permits.
func (w *capacitorWorld) future(n int64) *waiter.Future {
	f := new(waiter.Future)
	inner := (*waiting.Future)(f)
	waiting.Bind(inner, w.p.request(inner), n)
	return f
}

// queue puts a request for n permits into the line, and returns a function that waits until it has
// them.
func (w *capacitorWorld) queue(ctx *interleave.Context, n int64) func() error {
	s := parking.GetSleeper()
	k := s.Parker(waiting.UntilDone(ctx))
	k.N = n
	o := w.p.enqueue(s, &k.Waiter)
	w.Assert(o == waiting.Pending, "it does not have to wait")
	return func() error { return w.p.await(waiting.UntilDone(ctx), s, k, o) }
}

// check looks at how many are inside.
func (w *capacitorWorld) check() {
	l := w.p.line()
	defer l.Unlock()
	w.Assert(w.p.inside <= w.p.members && w.p.asleep <= w.p.inside, "%d are inside, %d asleep", w.p.inside, w.p.asleep)
}

// requireIdle checks that no goroutine is left, and nothing lost.
func (w *capacitorWorld) requireIdle() {
	p := w.p
	w.Assert(
		p.Available() == p.Size() && p.waiting == 0,
		"%d of %d permits are back, %d wait",
		p.Available(),
		p.Size(),
		p.waiting,
	)
	w.Assert(p.inside == 0 && p.asleep == 0 && p.promised == 0, "a goroutine is inside")
	w.Assert(p.look()&(capacitorWaits|capacitorSleeps) == 0, "a waiter is remembered")
}

func capacitorOptions(t *testing.T, bound int) interleave.Options {
	t.Helper()
	switch {
	case bound == 0:
		return interleave.Options{}
	case testing.Short() || interleave.RaceEnabled:
		t.Skip("tier two")
	}
	return interleave.Options{Mode: interleave.Bounded, Bound: bound}
}

// Every way to end a wait, wherever it stands: in the line, awake, or asleep again because a
// goroutine on the express lane was quicker.
func TestModelCapacitorWaitsEnd(t *testing.T) {
	use := func(w *capacitorWorld, n int64, err error) {
		if err == nil {
			w.check()
			w.p.Release(n)
		}
	}
	// waits has a goroutine wait for n permits, in line.
	waits := func(w *capacitorWorld, name string, ctx *interleave.Context, n int64) {
		wait := w.queue(ctx, n)
		w.Go(name, func() { use(w, n, wait()) })
	}
	// holds gives the n permits back, and then takes one by the lane, if it can.
	holds := func(w *capacitorWorld, n int64) {
		w.Go("holder", func() {
			w.p.Release(n)
			if w.p.TryAcquire(1) {
				use(w, 1, nil)
			}
		})
	}
	for name, s := range map[string]struct {
		b, q  int
		n     int64
		bound int
		body  func(w *capacitorWorld)
	}{
		"cancel": {b: 1, q: 1, n: 1, body: func(w *capacitorWorld) {
			ctx := w.NewContext()
			waits(w, "waiter", ctx, 1)
			holds(w, 1)
			w.Go("canceller", ctx.Cancel)
		}},
		"cancel, one behind": {b: 1, q: 1, n: 1, bound: 2, body: func(w *capacitorWorld) {
			ctx := w.NewContext()
			waits(w, "hasty", ctx, 1)
			waits(w, "behind", w.NewContext(), 1)
			holds(w, 1)
			w.Go("canceller", ctx.Cancel)
		}},
		"cancel, two inside": {b: 2, q: 1, n: 2, bound: 2, body: func(w *capacitorWorld) {
			ctx := w.NewContext()
			waits(w, "hasty", ctx, 1)
			waits(w, "mate", w.NewContext(), 1)
			holds(w, 2)
			w.Go("canceller", ctx.Cancel)
		}},
		"cancel of a large one": {b: 1, q: 1, n: 2, bound: 2, body: func(w *capacitorWorld) {
			ctx := w.NewContext()
			waits(w, "large", ctx, 2)
			waits(w, "behind", w.NewContext(), 1)
			holds(w, 2)
			w.Go("canceller", ctx.Cancel)
		}},
		"timeout": {b: 1, q: 1, n: 1, bound: 3, body: func(w *capacitorWorld) {
			w.Same(2, "hasty", func(int) { use(w, 1, w.p.AcquireTimeout(time.Second, 1)) })
			holds(w, 1)
		}},
		"close": {b: 1, q: 1, n: 1, body: func(w *capacitorWorld) {
			waits(w, "waiter", w.NewContext(), 1)
			holds(w, 1)
			w.Go("closer", w.p.Close)
		}},
		"close, two wait": {b: 2, q: 1, n: 1, bound: 2, body: func(w *capacitorWorld) {
			waits(w, "first", w.NewContext(), 1)
			waits(w, "second", w.NewContext(), 1)
			holds(w, 1)
			w.Go("closer", w.p.Close)
		}},
		"resize down": {b: 1, q: 1, n: 2, bound: 2, body: func(w *capacitorWorld) {
			waits(w, "large", w.NewContext(), 2)
			waits(w, "behind", w.NewContext(), 1)
			holds(w, 2)
			w.Go("resizer", func() { w.p.Resize(1) })
		}},
		"resize down, two are too large": {b: 1, q: 1, n: 2, body: func(w *capacitorWorld) {
			waits(w, "large", w.NewContext(), 2)
			waits(w, "as large", w.NewContext(), 2)
			w.Go("resizer", func() {
				w.p.Resize(1)
				w.p.Release(2)
			})
		}},
		"resize up": {b: 2, q: 1, n: 1, bound: 2, body: func(w *capacitorWorld) {
			waits(w, "first", w.NewContext(), 1)
			waits(w, "second", w.NewContext(), 1)
			holds(w, 1)
			w.Go("resizer", func() { w.p.Resize(2) })
		}},
		"future behind": {b: 1, q: 1, n: 1, bound: 2, body: func(w *capacitorWorld) {
			waits(w, "waiter", w.NewContext(), 1)
			f := w.future(1)
			w.Assert(!f.Poll(nil), "it does not have to wait")
			holds(w, 1)
			w.Go("dropper", func() {
				if f.Complete() {
					use(w, 1, f.Take())
				}
				f.Release()
			})
		}},
		"future in front": {b: 1, q: 1, n: 1, bound: 2, body: func(w *capacitorWorld) {
			f := w.future(1)
			done := f.Done()
			waits(w, "waiter", w.NewContext(), 1)
			holds(w, 1)
			w.Go("selector", func() {
				interleave.Receive(done)
				use(w, 1, f.Take())
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, capacitorOptions(t, s.bound), func(x *interleave.Run) {
				w := newCapacitorWorld(x, s.n, s.b, s.q)
				s.body(w)
				x.Wait()
				w.requireIdle()
			})
		})
	}
}

// A release that comes after a cancel does not serve who was cancelled, wherever it stands.
func TestModelCapacitorCancelBeforeGrantWins(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		w := newCapacitorWorld(x, 1, 1, 1)
		ctx := x.NewContext()
		var cancelled interleave.Bool
		wait := w.queue(ctx, 1)
		x.Go("waiter", func() {
			if wait() == nil {
				x.Assert(!cancelled.Load(), "granted after the cancel")
				w.p.Release(1)
			}
		})
		x.Go("holder", func() {
			w.p.Release(1)
			if w.p.TryAcquire(1) {
				ctx.Cancel()
				cancelled.Store(true)
				w.p.Release(1)
			}
		})
		x.Wait()
		w.requireIdle()
	})
}

// The bound: at most (p + B) · Q + B − 1 later requests overtake one that waits behind p others.
// The watched request wants all permits, so that no other holds any with it.
func TestModelCapacitorBypass(t *testing.T) {
	for _, s := range []struct {
		n      int64
		b, q   int
		ahead  int // how many wait in front of the watched request
		others []int
		bound  int
	}{
		{n: 1, b: 1, q: 0, others: []int{1}},
		{n: 1, b: 1, q: 1, others: []int{2}},
		{n: 1, b: 1, q: 2, others: []int{3}, bound: 2},
		{n: 2, b: 1, q: 1, others: []int{2}},
		{n: 1, b: 2, q: 0, others: []int{1, 1}, bound: 2},
		{n: 1, b: 1, q: 1, others: []int{1, 1}, bound: 2},
		{n: 2, b: 1, q: 1, others: []int{1, 1}, bound: 2},
		{n: 1, b: 1, q: 0, ahead: 1, others: []int{1}, bound: 2},
		{n: 1, b: 1, q: 1, ahead: 1, others: []int{3}, bound: 2},
		{n: 2, b: 2, q: 1, ahead: 1, others: []int{3}, bound: 2},
		{n: 1, b: 2, q: 1, ahead: 2, others: []int{3}, bound: 2},
	} {
		t.Run(
			fmt.Sprintf("%d permits, platoon %d, lane %d, ahead %d, others %v", s.n, s.b, s.q, s.ahead, s.others),
			func(t *testing.T) {
				most, reached := (s.ahead+s.b)*s.q+s.b-1, 0
				interleave.Check(t, capacitorOptions(t, s.bound), func(x *interleave.Run) {
					w := newCapacitorWorld(x, s.n, s.b, s.q)
					var in, passed interleave.Int32
					x.Go("holder", func() { w.p.Release(s.n) })
					for i := range s.ahead + 1 {
						n := int64(1)
						if i == s.ahead {
							n = s.n
						}
						wait := w.queue(x.NewContext(), n)
						x.Go(fmt.Sprintf("queued %d", i), func() {
							x.Assert(wait() == nil, "not granted")
							if i == s.ahead {
								in.Store(1)
							}
							w.p.Release(n)
						})
					}
					for _, rounds := range s.others {
						x.Go("other", func() {
							for range int(rounds) {
								x.Assert(w.p.acquire(waiting.UntilDone(x.NewContext()), 1) == nil, "not granted")
								if in.Load() == 0 {
									n := int(passed.Add(1))
									x.Assert(n <= most, "overtaken %d times", n)
								}
								w.p.Release(1)
							}
						})
					}
					x.Wait()
					reached = max(reached, int(passed.Load()))
					w.requireIdle()
				})
				require.True(t, reached == most || s.b > 1, "never overtaken more than %d times, of %d", reached, most)
			},
		)
	}
}

// While one of a platoon is slow, another departs and gives its permit back: that lets in as many
// as the platoon still lacks, and no more.
func TestModelCapacitorIsNotRefilled(t *testing.T) {
	for b, still := range map[int]int64{2: 1, 3: 2} {
		t.Run(fmt.Sprintf("platoon %d", b), func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				w := newCapacitorWorld(x, 2, b, 0)
				slow, quick, next := w.queue(x.NewContext(), 1), w.queue(x.NewContext(), 1), w.queue(x.NewContext(), 1)
				w.p.Release(2)
				x.Go("all", func() {
					use := func(wait func() error) {
						x.Assert(wait() == nil, "not granted")
						w.p.Release(1)
					}
					use(quick)
					x.Assert(w.p.inside == still && w.p.entry == 0, "%d are inside, %d may pass", w.p.inside, w.p.entry)
					use(slow)
					use(next)
				})
				x.Wait()
				w.requireIdle()
			})
		})
	}
}

// A departure gives the lane all its places again, even if others still wait.
func TestModelCapacitorLaneIsRenewed(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		w := newCapacitorWorld(x, 1, 1, 1)
		first, second := w.queue(x.NewContext(), 1), w.queue(x.NewContext(), 1)
		x.Go("all", func() {
			for _, wait := range []func() error{first, second} {
				w.p.Release(1)
				x.Assert(w.p.TryAcquire(1), "the lane has no place")
				w.p.Release(1)
				x.Assert(!w.p.TryAcquire(1), "the lane has more places than one")
				x.Assert(wait() == nil, "not granted")
			}
			w.p.Release(1)
		})
		x.Wait()
		w.requireIdle()
	})
}

// A future may be dropped at the moment of its grant. Its permit then goes to the next, whichever
// side notices.
func TestModelCapacitorUnwantedGrant(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		w := newCapacitorWorld(x, 1, 1, 0)
		f := w.future(1)
		x.Assert(!f.Poll(nil), "it does not have to wait")
		wait := w.queue(x.NewContext(), 1)
		x.Go("holder", func() { w.p.Release(1) })
		x.Go("dropper", func() { f.Release() })
		x.Go("behind", func() {
			x.Assert(wait() == nil, "not granted")
			w.p.Release(1)
		})
		x.Wait()
		w.requireIdle()
	})
}

// Permits that come back all at once go to all their waiters at once, before any of these gives one
// back.
func TestModelCapacitorIsServedAtOnce(t *testing.T) {
	for _, s := range []struct{ b, q, waiters, bound int }{
		{b: 1, q: 0, waiters: 2},
		{b: 1, q: 1, waiters: 2},
		{b: 2, q: 1, waiters: 2},
		{b: 1, q: 1, waiters: 3, bound: 2},
		{b: 2, q: 0, waiters: 3, bound: 2},
	} {
		t.Run(fmt.Sprintf("platoon %d, lane %d, %d wait", s.b, s.q, s.waiters), func(t *testing.T) {
			interleave.Check(t, capacitorOptions(t, s.bound), func(x *interleave.Run) {
				n := int64(s.waiters)
				w := newCapacitorWorld(x, n, s.b, s.q)
				for i := range s.waiters {
					wait := w.queue(x.NewContext(), 1)
					x.Go(fmt.Sprintf("queued %d", i), func() { x.Assert(wait() == nil, "not granted") })
				}
				x.Go("holder", func() {
					w.p.Release(n)
					w.check()
				})
				x.Wait()
				x.Assert(
					w.p.Available() == 0 && w.p.waiting == 0,
					"%d wait, beside %d permits",
					w.p.waiting,
					w.p.Available(),
				)
				w.p.Release(n)
				w.requireIdle()
			})
		})
	}
}

// Whatever a Resize does at the same time, a release of more than is held is noticed, and one of
// what is held is not refused.
func TestModelCapacitorReleaseAgainstResize(t *testing.T) {
	for _, size := range []int64{1, 3} {
		t.Run(fmt.Sprintf("to %d", size), func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				p := New(2, WithCapacitor(1, 1)).p.(*capacitor)
				x.Name("p", p)
				x.Assert(p.TryAcquire(1), "not free")
				x.Go("resizer", func() { p.Resize(size) })
				x.Go("releaser", func() {
					x.Assert(interleave.Panics(func() { p.Release(2) }) != nil, "one is held")
					p.Release(1)
				})
				x.Wait()
				x.Assert(
					p.Available() == size && p.Size() == size,
					"%d of %d permits are back",
					p.Available(),
					p.Size(),
				)
			})
		})
	}
}

// An acquire is one load and one compare-and-swap, and a release is one load more, even on the
// lane. A release that does not free enough for the sleeper takes no lock.
func TestModelCapacitorCost(t *testing.T) {
	for name, s := range map[string]struct {
		waits   bool
		acquire int
		release int
	}{"no goroutine waits": {false, 2, 3}, "a goroutine waits": {true, 2, 4}} {
		t.Run(name, func(t *testing.T) {
			stepsOf := func(use func(p *capacitor)) int {
				return interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
					w := newCapacitorWorld(x, 4, 1, 1)
					if s.waits {
						w.p.Release(1)
						w.queue(x.NewContext(), 4)
					} else {
						w.p.Release(3)
					}
					x.Go("user", func() { use(w.p) })
					x.Wait()
				}).Steps
			}
			none := stepsOf(func(*capacitor) {})
			require.Equal(t, s.acquire, stepsOf(func(p *capacitor) { p.TryAcquire(1) })-none)
			require.Equal(t, s.release, stepsOf(func(p *capacitor) { p.Release(1) })-none)
		})
	}
}
