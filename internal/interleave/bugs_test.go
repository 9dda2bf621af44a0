package interleave

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A bug is a scenario with a well-known mistake, and without.
type bug struct {
	name     string
	kind     FailureKind
	switches int // at most, after shortening; without choices the minimum
	body     func(x *Run, repaired bool)
}

var bugs = []bug{
	{"lost update", Assertion, 2, func(x *Run, repaired bool) {
		var v Int32
		for range 2 {
			x.Go("adder", func() {
				for old := v.Load(); ; old = v.Load() {
					if !repaired {
						v.Store(old + 1)
						return
					}
					if v.CompareAndSwap(old, old+1) {
						return
					}
				}
			})
		}
		x.Wait()
		x.Assert(v.Load() == 2, "%d", v.Load())
	}},
	{"Dekker without one store", Assertion, 1, func(x *Run, repaired bool) {
		var wants [2]Bool
		var inside Int32
		for i := range 2 {
			x.Go("t", func() {
				if i == 0 || repaired {
					wants[i].Store(true)
				}
				if !wants[1-i].Load() {
					x.Assert(inside.Add(1) == 1, "both inside")
					inside.Add(-1)
				}
			})
		}
		x.Wait()
	}},
	{"ABA", Assertion, 2, stackABA},
	{"lost wake-up", Deadlock, 2, func(x *Run, repaired bool) {
		var ready, waiting Bool
		s := NewSignal(1)
		x.Go("sleeper", func() {
			if repaired {
				waiting.Store(true)
			}
			if !ready.Load() {
				waiting.Store(true)
				s.Receive()
			}
		})
		x.Go("waker", func() {
			ready.Store(true)
			if waiting.Load() {
				s.Send()
			}
		})
		x.Wait()
	}},
	{"flag of an initialization set too early", Assertion, 1, func(x *Run, repaired bool) {
		var mu Mutex
		var ready Bool
		var value Int32
		for range 2 {
			x.Go("t", func() {
				if !ready.Load() {
					mu.Lock()
					if !ready.Load() {
						if repaired {
							value.Store(42)
						}
						ready.Store(true)
						value.Store(42)
					}
					mu.Unlock()
				}
				x.Assert(value.Load() == 42, "not initialized")
			})
		}
		x.Wait()
	}},
	{"reader-writer lock without a second look", Assertion, 2, func(x *Run, repaired bool) {
		var writing Bool
		var readers, data Int32
		x.Go("reader", func() {
			for {
				for writing.Load() {
					Yield()
				}
				readers.Add(1)
				if !repaired || !writing.Load() {
					break
				}
				readers.Add(-1)
			}
			x.Assert(data.Load() == 0, "half written")
			readers.Add(-1)
		})
		x.Go("writer", func() {
			writing.Store(true)
			for readers.Load() != 0 {
				Yield()
			}
			data.Store(1)
			data.Store(0)
			writing.Store(false)
		})
		x.Wait()
	}},
	{"release that does not look at the slot again", Deadlock, 2, semaphoreWithASlot},
	{"lock order", Deadlock, 1, func(x *Run, repaired bool) {
		var mus [2]Mutex
		for i := range 2 {
			x.Go("t", func() {
				first, second := &mus[i], &mus[1-i]
				if repaired {
					first, second = &mus[0], &mus[1]
				}
				first.Lock()
				pass(second)
				first.Unlock()
			})
		}
		x.Wait()
	}},
	{"grant lost in a cancellation", Assertion, 3, func(x *Run, repaired bool) {
		const waiting, granted, gone = 0, 1, 2
		var state, permits Int32
		s, ctx := NewSignal(1), x.NewContext()
		acquired := 0
		x.Go("acquirer", func() {
			switch {
			case s.ReceiveOr(ctx.Done()):
				acquired = 1
			case !repaired:
				state.Store(gone)
			case !state.CompareAndSwap(waiting, gone):
				s.Receive()
				permits.Add(1)
			}
		})
		x.Go("releaser", func() {
			if state.CompareAndSwap(waiting, granted) {
				s.Send()
			} else {
				permits.Add(1)
			}
		})
		x.Go("canceller", ctx.Cancel)
		x.Wait()
		x.Assert(acquired+int(permits.Load()) == 1, "the permit is gone")
	}},
}

// stackABA: a node is popped and pushed again while a Pop holds it for the top, and its successor
// for the next.
func stackABA(x *Run, repaired bool) {
	type node struct {
		next  Pointer[node]
		owned bool
	}
	var top Pointer[node]
	push := func(n *node) {
		for {
			old := top.Load()
			n.next.Store(old)
			if top.CompareAndSwap(old, n) {
				return
			}
		}
	}
	pop := func() *node {
		for {
			n := top.Load()
			if n == nil || top.CompareAndSwap(n, n.next.Load()) {
				return n
			}
		}
	}
	push(new(node))
	push(new(node))
	x.Go("popper", func() { pop() })
	x.Go("recycler", func() {
		n := pop()
		if m := pop(); m != nil {
			m.owned = true
		}
		if repaired {
			n = new(node)
		}
		push(n)
	})
	x.Wait()
	for n := top.Load(); n != nil; n = n.next.Load() {
		x.Assert(!n.owned, "an owned node is on the stack")
	}
}

// semaphoreWithASlot: the first waiter stands in a slot, others would stand in a list. A release
// looks at both. Once it has left its permit because it found no waiter, it must look at both
// again.
func semaphoreWithASlot(x *Run, repaired bool) {
	var permits, listed Int32
	var slot Pointer[Signal]
	var mu Mutex
	take := func() bool { return permits.CompareAndSwap(1, 0) }
	x.Go("acquirer", func() {
		if take() {
			return
		}
		s := NewSignal(1)
		slot.Store(s)
		if take() {
			if !slot.CompareAndSwap(s, nil) {
				s.Receive()
				permits.Add(1)
			}
			return
		}
		s.Receive()
	})
	x.Go("releaser", func() {
		if s := slot.Swap(nil); s != nil {
			s.Send()
			return
		}
		permits.Add(1)
		if repaired && slot.Load() != nil && take() {
			if s := slot.Swap(nil); s != nil {
				s.Send()
			} else {
				permits.Add(1)
			}
			return
		}
		mu.Lock()
		x.Assert(listed.Load() == 0, "no thread is in the list")
		mu.Unlock()
	})
	x.Wait()
}

func TestBugsAreFound(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			for _, o := range []Options{
				{},
				{Mode: Bounded, Bound: 2},
				{Mode: Plain, Bound: 2},
				{Mode: Random, Seed: 1, Executions: 1000},
				{Mode: PCT, Seed: 1, Executions: 1000},
			} {
				t.Run(o.Mode.String(), func(t *testing.T) {
					broken := func(x *Run) { b.body(x, false) }
					f := fails(t, b.kind, o, broken)
					passes(t, o, func(x *Run) { b.body(x, true) })
					if RaceEnabled {
						return // traces are made without it
					}
					requireExplained(t, f, broken)
					steps, err := parseSchedule(f.Schedule)
					require.NoError(t, err)
					require.LessOrEqual(t, switches(steps), b.switches, "%v", f)
				})
			}
		})
	}
}

// requireExplained checks that both schedules of a failure fail in the same way, and that the short
// one is not longer.
func requireExplained(t *testing.T, f *Failure, body func(*Run)) {
	t.Helper()
	found, err := parseSchedule(f.Found)
	require.NoError(t, err)
	short, err := parseSchedule(f.Schedule)
	require.NoError(t, err)
	require.Equal(t, f.Schedule, formatSchedule(short))
	require.LessOrEqual(t, switches(short), switches(found))
	if switches(short) == switches(found) {
		require.LessOrEqual(t, len(short), len(found))
	}
	again := fails(t, f.Kind, Options{Schedule: f.Found}, body)
	require.Equal(t, f.Found, again.Found, "it fits literally")
	again = fails(t, f.Kind, Options{Schedule: f.Schedule}, body)
	require.Equal(t, f.Schedule, again.Found, "it fits literally")
	require.Equal(t, f.Schedule, again.Schedule, "it cannot be shortened again")
	require.Equal(t, f.Trace, again.Trace)
	if f.Kind != Panic { // that has addresses
		require.Equal(t, f.Message, again.Message)
	}
}

// A bound of n allows n preemptions, and no more.
func TestBugsNeedTheirPreemptions(t *testing.T) {
	for _, o := range []Options{{Mode: Bounded}, {Mode: Plain}} {
		for _, b := range bugs {
			passes(t, o, func(x *Run) { b.body(x, true) })
		}
		lostUpdate := func(x *Run) { bugs[0].body(x, false) }
		passes(t, o, lostUpdate)
		o.Bound = 1
		_ = fails(t, Assertion, o, lostUpdate)
	}
}
