package interleave

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// threads returns the body of n threads that all run f.
func threads(n int, f func(i int)) func(x *Run) {
	return func(x *Run) {
		for i := range n {
			x.Go("t", func() { f(i) })
		}
		x.Wait()
	}
}

// What can be counted by hand: the traces of a scenario.
func TestReducedExecutesEachTraceOnce(t *testing.T) {
	var v, w Int32
	var vs [maxThreads]Int32
	var mu Mutex
	for _, c := range []struct {
		name   string
		traces int
		body   func(x *Run)
	}{
		{"2 additions", 2, counters(2)},
		{"3 additions", 6, counters(3)},
		{"4 additions", 24, counters(4)},
		{"5 additions", 120, counters(5)},
		{"stores to one variable", 2, threads(2, func(int) { v.Store(1) })},
		{"stores to different variables", 1, threads(3, func(i int) {
			for range 5 {
				vs[i].Store(1)
			}
		})},
		{"loads", 1, threads(4, func(int) { v.Load(); w.Load() })},
		{"a store and 3 loads", 8, threads(4, func(i int) {
			if i == 0 {
				v.Store(1)
			} else {
				v.Load()
			}
		})},
		{"2 stores and a load", 6, threads(3, func(i int) {
			if i == 0 {
				v.Load()
			} else {
				v.Store(1)
			}
		})},
		{"crosswise", 3, threads(2, func(i int) { // all but the one where both loads come first and last
			vs[i].Store(1)
			vs[1-i].Load()
		})},
		{"2 lock sections", 2, threads(2, func(int) { mu.Lock(); v.Add(1); mu.Unlock() })},
		{"3 lock sections", 6, threads(3, func(int) { mu.Lock(); v.Add(1); mu.Unlock() })},
		{"lock and try", 3, threads(2, func(i int) { // before, within, after
			if i == 0 {
				pass(&mu)
			} else if mu.TryLock() {
				mu.Unlock()
			}
		})},
		{"failing tries", 1, func(x *Run) {
			var mu Mutex
			mu.Lock()
			threads(3, func(int) { mu.TryLock() })(x)
		}},
		{"failing sends", 1, func(x *Run) {
			s := NewSignal(1)
			s.Send()
			threads(3, func(int) { s.TrySend() })(x)
		}},
		{"a wait that the context ends", 1, func(x *Run) { // beside a receive that finds nothing either
			s, ctx := NewSignal(1), x.NewContext()
			ctx.Cancel()
			threads(2, func(i int) {
				if i == 0 {
					s.ReceiveOr(ctx.Done())
				} else {
					s.TryReceive()
				}
			})(x)
		}},
		{"a wait that could end either way", 3, func(x *Run) { // a failing send, and one before or after the receive
			s, ctx := NewSignal(1), x.NewContext()
			s.Send()
			ctx.Cancel()
			threads(2, func(i int) {
				if i == 0 {
					s.ReceiveOr(ctx.Done())
				} else {
					s.TrySend()
				}
			})(x)
		}},
		{"failing compare and swap", 1, threads(3, func(int) { v.CompareAndSwap(1, 2) })},
		{"compare and swap", 2, threads(2, func(int) { v.CompareAndSwap(0, 1) })},
		{"choices", 12, threads(2, func(i int) { Choose(3 + i) })},
		{"send and receive", 1, func(x *Run) {
			s := NewSignal(1)
			threads(2, func(i int) {
				if i == 0 {
					s.Receive()
				} else {
					s.Send()
				}
			})(x)
		}},
		{"a call each", 3, func(x *Run) { // before, after, overlapping
			threads(2, func(int) { x.Invoke(); x.Respond() })(x)
		}},
		{"two calls and one", 6, func(x *Run) { // p returns before its call, q calls before its return: p <= q <= 2
			threads(2, func(i int) {
				for range 2 - i {
					x.Invoke()
					x.Respond()
				}
			})(x)
		}},
		{"child", 2, func(x *Run) { // the addition of the child before or after the parent's
			x.Go("t", func() {
				h := x.Go("child", func() { v.Add(1) })
				v.Add(1)
				h.Join()
				v.Add(1)
			})
			x.Wait()
		}},
		{"wait for a flag", 2, func(x *Run) { // set before the look, or after it
			var flag Bool
			x.Go("a", func() {
				for !flag.Load() {
					Yield()
				}
			})
			x.Go("b", func() { v.Add(1); flag.Store(true) })
			x.Wait()
		}},
		{"join", 2, func(x *Run) { // the additions to w; those to v are in order
			x.Go("other", func() { w.Add(1) })
			x.Go("parent", func() {
				x.Go("child", func() { w.Add(1); v.Add(1) }).Join()
				v.Add(1)
			})
			x.Wait()
		}},
		{"what the parent did before", 1, func(x *Run) {
			x.Go("parent", func() {
				v.Add(1)
				x.Go("child", func() { v.Add(1) })
			})
			x.Go("other", func() { w.Load() })
			x.Wait()
		}},
		{"grandchild", 1, func(x *Run) {
			x.Go("parent", func() { x.Go("child", func() { x.Go("grandchild", func() {}) }) })
			x.Go("other", func() { w.Load() })
			x.Wait()
		}},
		{"many variables", 2, func(x *Run) {
			var many [200]Int32
			threads(2, func(int) {
				for i := range 199 {
					many[i].Load()
				}
				many[199].Add(1)
			})(x)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := passes(t, Options{}, c.body)
			require.Equal(t, c.traces, r.Executions)
			require.Zero(t, r.Pruned)
		})
	}
}

// A thread looks, sees nothing and yields, or looks after the store. A Yield comes after what wakes
// it.
func TestReducedTakesAYieldForALook(t *testing.T) {
	var u, v, w Int32
	r := passes(t, Options{}, threads(2, func(i int) {
		if i == 0 {
			w.Load()
			v.Store(1)
			return
		}
		if u.Load() == 0 && v.Load() == 0 {
			Yield()
		}
		w.Store(1)
	}))
	require.Equal(t, 2, r.Executions)
	require.Zero(t, r.Pruned)
}

// Programs on which the search, or a mutant of it, has once missed something.
func TestReductionSeesEveryTraceOfThese(t *testing.T) {
	for _, p := range []program{
		{threads: [][]step2{{{insAdd, 2}, {insAwaitEither, 0}}, {{insLockSection, 0}, {insAdd, 0}}, {{insAdd, 2}}}},
		{threads: [][]step2{
			{{insSend, 2}, {insSend, 0}, {insSend, 0}},
			{{insStore, 0}, {insTimed, 0}, {insSend, 2}, {insSend, 0}},
		}},
		{threads: [][]step2{{{insStore, 0}, {insStore, 0}}, {{insStore, 1}, {insGo, 1}, {insCall, 0}}}},
	} {
		all, reduced := &bounded{bound: Unbounded, cache: new(cache)}, &reduction{}
		want, _, ok := traces(all, &all.causality, 20*plainLimit, p.body(func(string) {}))
		require.True(t, ok)
		got, _, ok := traces(reduced, &reduced.causality, plainLimit, p.body(func(string) {}))
		require.True(t, ok)
		requireSameTraces(t, want, got, p)
	}
}

// A thread that is blocked at the end could have been first.
func TestReducedReversesWhoIsBlocked(t *testing.T) {
	for n := 2; n < 5; n++ {
		s := &reduction{}
		got, pruned, ok := traces(s, &s.causality, 100, func(x *Run) {
			var mu Mutex
			threads(n, func(int) { mu.Lock() })(x)
		})
		require.True(t, ok)
		require.Len(t, got, n, "each may be the one that gets the lock")
		require.Equal(t, n, total(got))
		require.Zero(t, pruned)
	}
}

// Which of the threads that are alike goes first makes no difference.
func TestAlikeThreadsAreCountedOnce(t *testing.T) {
	body := func(n, additions int) func(x *Run) {
		return func(x *Run) {
			var v Int32
			x.Same(n, "t", func(int) {
				for range additions {
					v.Add(1)
				}
			})
			x.Wait()
		}
	}
	everyMode(t, func(t *testing.T, o Options) {
		for n := 2; n < 5; n++ {
			require.Equal(t, 1, passes(t, o, body(n, 1)).Executions)
		}
	})
	require.Equal(t, 3, passes(t, Options{}, body(2, 2)).Executions)  // half of 4! / (2! 2!)
	require.Equal(t, 15, passes(t, Options{}, body(3, 2)).Executions) // a sixth of 6! / (2! 2! 2!)
}

// Only those of one group stand for each other.
func TestGroupsAreKeptApart(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		got := outcomes(t, o, func(x *Run, tell func(string)) {
			var v Int32
			var saw [2][2]int32
			x.Go("single", func() { v.Add(1) })
			for g := range saw {
				x.Same(2, "reader", func(i int) { saw[g][i] = v.Load() })
			}
			x.Wait()
			for g := range saw {
				slices.Sort(saw[g][:])
			}
			tell(fmt.Sprint(saw))
		})
		want := map[string]bool{}
		for _, a := range []string{"[0 0]", "[0 1]", "[1 1]"} {
			for _, b := range []string{"[0 0]", "[0 1]", "[1 1]"} {
				want["["+a+" "+b+"]"] = true
			}
		}
		require.Equal(t, want, got)
	})
}

// Every thread's start is a step, too.
func TestPlainExecutesEachSchedule(t *testing.T) {
	loads := func(n, k int) func(x *Run) {
		var v Int32
		return threads(n, func(int) {
			for range k {
				v.Load()
			}
		})
	}
	for _, c := range []struct{ threads, loads, bound, schedules int }{
		{1, 3, Unbounded, 1},
		{2, 1, Unbounded, 6}, // 4! / (2! 2!)
		{2, 2, Unbounded, 20},
		{3, 1, Unbounded, 90}, // 6! / (2! 2! 2!)
		{2, 1, 0, 2},          // aabb bbaa
		{2, 1, 1, 4},          // abba baab
		{2, 1, 2, 6},          // abab baba
		{2, 2, 0, 2},
		{2, 2, 1, 6}, // and one thread whole, after one or two steps of the other
		{3, 1, 0, 6},
		{3, 0, 0, 6},
		{3, 0, 7, 6},
	} {
		r := passes(t, Options{Mode: Plain, Bound: c.bound}, loads(c.threads, c.loads))
		require.Equal(t, c.schedules, r.Executions, "%+v", c)
		require.Zero(t, r.Pruned)
	}
	// Neither a switch away from a thread that waits nor one at a Yield is a preemption.
	waits := func(x *Run) {
		var mu Mutex
		mu.Lock()
		s := NewSignal(1)
		x.Go("a", func() { mu.Lock() })
		x.Go("b", func() { mu.Unlock(); s.Receive() })
		x.Go("c", func() { s.Send() })
		x.Wait()
	}
	yields := func(x *Run) {
		var flag Bool
		x.Go("a", func() {
			for !flag.Load() {
				Yield()
			}
		})
		x.Go("b", func() { flag.Store(true) })
		x.Wait()
	}
	// a waits; b, waits: acb, cab, cba. a waits; c, b, a. b waits: acb, cab, cba. c; a waits, ba.
	// c, b, a.
	require.Equal(t, 9, passes(t, Options{Mode: Plain}, waits).Executions)
	// a waits; b, a. b, a.
	require.Equal(t, 2, passes(t, Options{Mode: Plain}, yields).Executions)
}

func TestExecutionsAreLimited(t *testing.T) {
	for _, o := range exhaustive {
		o.Executions = 3
		r := Explore(o, counters(3))
		require.Nil(t, r.Failure)
		require.Equal(t, 3, r.Executions)
		require.False(t, r.Exhausted)
		o.Executions = 1000
		r = Explore(o, counters(3))
		require.True(t, r.Exhausted)
	}
	r := passes(t, Options{}, counters(3))
	require.Equal(t, 3, r.Threads)
	require.Equal(t, 6, r.Steps)
	require.Positive(t, r.Elapsed)
}

// The searches are deterministic, so how much they execute is known exactly. It may become less:
// then these figures follow. More of them is redundant, and fewer traces would be unsound: the
// validation looks at that.
func TestSearchesExecuteAsMuchAsEver(t *testing.T) {
	reduced := func() (scheduler, *causality) { s := &reduction{}; return s, &s.causality }
	for _, m := range []struct {
		name string
		s    func() (scheduler, *causality)
		told bool
		want string
	}{
		{"reduced", reduced, false, "160 executions, 3 pruned, 1284 steps"},
		{"reduced, alike", reduced, true, "544 executions, 3 pruned, 4948 steps"},
		{"reduced, shard", func() (scheduler, *causality) {
			s := &reduction{shard: shard{index: 1, count: 3}}
			return s, &s.causality
		}, false, "115 executions, 305 pruned, 827 steps"},
		{"bounded by 2", func() (scheduler, *causality) {
			s := &bounded{bound: 2, cache: new(cache)}
			return s, &s.causality
		}, false, "649 executions, 2306 pruned, 5173 steps"},
		{"bounded, alike", func() (scheduler, *causality) {
			s := &bounded{bound: Unbounded, cache: new(cache)}
			return s, &s.causality
		}, true, "1415 executions, 2710 pruned, 12843 steps"},
		{"bounded, shard", func() (scheduler, *causality) {
			s := &bounded{bound: Unbounded, cache: new(cache), shard: shard{index: 1, count: 3}}
			return s, &s.causality
		}, false, "629 executions, 2553 pruned, 5176 steps"},
		{"plain by 1", func() (scheduler, *causality) {
			s := &bounded{bound: 1}
			return s, &s.causality
		}, true, "1836 executions, 0 pruned, 16940 steps"},
	} {
		t.Run(m.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(9, 10))
			executions, prunes, steps := 0, 0, 0
			for range 60 {
				p := randomProgram(rng, m.told)
				if p.schedules() > 3*plainLimit {
					continue
				}
				p.told = m.told
				s, c := m.s()
				got, pruned, ok := traces(s, c, 10*plainLimit, p.body(func(string) { steps += c.depth }))
				require.True(t, ok)
				executions += total(got)
				prunes += pruned
			}
			require.Equal(t, m.want, fmt.Sprintf("%d executions, %d pruned, %d steps", executions, prunes, steps))
		})
	}
}

func TestCacheRemembers(t *testing.T) {
	var c cache
	rng := rand.New(rand.NewPCG(17, 18))
	keys := make([]uint64, 20_000) // it grows meanwhile
	for i := range keys {
		if i > 0 { // 0 is remembered, too
			keys[i] = rng.Uint64()
		}
		require.True(t, c.enter(keys[i], 2))
	}
	for _, k := range keys {
		require.False(t, c.enter(k, 2))
		require.False(t, c.enter(k, 3))
		require.True(t, c.enter(k, 1), "with fewer preemptions")
		require.False(t, c.enter(k, 1))
	}
}
