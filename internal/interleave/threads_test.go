package interleave

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestChooseYieldsEveryValue(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		seen := map[[2]int]int{}
		r := passes(t, o, alone(func() { seen[[2]int{Choose(3), Choose(2)}]++ }))
		require.Equal(t, 6, r.Executions)
		require.Len(t, seen, 6)
	})
	require.Zero(t, Choose(255))
	require.Equal(t, "interleave: a choice of 0 values", Panics(func() { Choose(0) }))
	require.Equal(t, "interleave: a choice of 256 values", Panics(func() { Choose(256) }))
}

// A check may make the choices itself: they are no steps, and end with the execution.
func TestChooses(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		asked := 0
		r := passes(t, o, func(x *Run) {
			var n Int32
			x.Chooses(func(of int) int { asked++; return of - 1 })
			x.Go("t", func() { x.Assert(Choose(3) == 2 && Choose(5) == 4 && n.Add(1) == 1, "chosen") })
			x.Wait()
			x.Assert(x.steps == 2, "%d steps", x.steps)
		})
		require.Equal(t, 1, r.Executions)
		require.Equal(t, 2, asked)
		require.Equal(t, 3, passes(t, o, alone(func() { Choose(3) })).Executions)
	})
	// A thread that is unwound chooses no more.
	_ = fails(t, Assertion, Options{}, func(x *Run) {
		asked := false
		x.Chooses(func(int) int { asked = true; return 1 })
		x.Go("t", func() {
			defer func() { require.True(t, Choose(2) == 0 && !asked) }()
			x.Fail("failed")
		})
		x.Wait()
	})
}

func TestYield(t *testing.T) {
	Yield()
	everyMode(t, func(t *testing.T, o Options) {
		for n := range 2 { // of two variables that the loop looks at, this one changes
			passes(t, o, func(x *Run) {
				Yield()
				var flags [2]Bool
				var other Int32
				x.Go("spinner", func() {
					for !flags[0].Load() && !flags[1].Load() {
						Yield()
					}
				})
				x.Go("setter", func() {
					other.Add(1)
					flags[n].Store(true)
				})
				x.Wait()
			})
		}
		// What a thread does itself is no change, nor is a store of what was there.
		_ = fails(t, Deadlock, o, func(x *Run) {
			var a, b, c Int32
			x.Go("spinner", func() {
				for a.Load() == 0 {
					b.Add(1)
					c.Store(0)
					c.CompareAndSwap(1, 2)
					Yield()
				}
			})
			x.Go("other", func() {
				a.Store(0)
				c.Swap(0)
				c.CompareAndSwap(0, 0)
				c.CompareAndSwap(1, 0)
				c.Or(0)
				c.And(1)
				c.Add(0)
			})
			x.Wait()
		})
		f := fails(t, Deadlock, o, alone(Yield))
		require.Contains(t, f.Message, "a waits for a change of what it looks at")
	})
}

// A thread that looked at more than it can remember, or again at what had changed, still waits for
// the right thing.
func TestYieldRemembersTheLatestLook(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		passes(t, o, func(x *Run) {
			var many [seenSize]Int32
			x.Go("spinner", func() {
				for many[0].Load() == 0 {
					for i := range many {
						many[i].Load()
					}
					if many[0].Load() == 0 {
						Yield()
					}
				}
			})
			x.Go("setter", func() { many[0].Store(1) })
			x.Wait()
		})
	})
}

func TestSpinLock(t *testing.T) {
	locks := map[string]func(lock *Bool){
		"compare and swap": func(lock *Bool) {
			for !lock.CompareAndSwap(false, true) {
				Yield()
			}
		},
		"swap": func(lock *Bool) {
			for lock.Swap(true) {
				Yield()
			}
		},
		"test and test and set": func(lock *Bool) {
			for lock.Load() || lock.Swap(true) {
				Yield()
			}
		},
	}
	for name, acquire := range locks {
		t.Run(name, func(t *testing.T) {
			everyMode(t, func(t *testing.T, o Options) {
				passes(t, o, func(x *Run) {
					var lock Bool
					inside := 0
					for range 2 {
						x.Go("t", func() {
							acquire(&lock)
							inside++
							Choose(1)
							x.Assert(inside == 1, "mutual exclusion")
							inside--
							lock.Store(false)
						})
					}
					x.Wait()
				})
			})
		})
	}
}

func TestGoAndJoinInThreads(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		passes(t, o, func(x *Run) {
			var n Int32
			x.Go("parent", func() {
				h := x.Go("child", func() {
					x.Go("grandchild", func() { n.Add(10) }).Join()
					n.Add(1)
				})
				g := x.Go("sibling", func() { n.Add(100) })
				h.Join()
				x.Assert(n.Load()%100 == 11, "joined too early")
				g.Join()
				h.Join()
				x.Assert(n.Load() == 111, "joined too early")
			})
			x.Wait()
			x.Assert(n.Load() == 111, "waited for all")
		})
		f := fails(t, Deadlock, o, func(x *Run) {
			var self *Thread
			self = x.Go("a", func() { self.Join() })
			x.Wait()
		})
		require.Contains(t, f.Message, "a waits for the end of a")
	})
}

func TestThreadLimit(t *testing.T) {
	many := func(x *Run, n int) {
		for range n {
			x.Go("t", func() {})
		}
	}
	passes(t, Options{}, func(x *Run) { many(x, maxThreads); x.Wait() })
	f := fails(t, Panic, Options{}, func(x *Run) { many(x, maxThreads+1); x.Wait() })
	require.Contains(t, f.Message, "interleave: more than 8 threads")
	f = fails(t, Panic, Options{}, func(x *Run) {
		x.Go("parent", func() { many(x, maxThreads) })
		x.Wait()
	})
	require.Contains(t, f.Message, "interleave: more than 8 threads")
}

func TestWaitIsCalledOnce(t *testing.T) {
	f := fails(t, Panic, Options{}, func(x *Run) { x.Go("a", func() {}) })
	require.Contains(t, f.Message, "a thread without a Wait")
	f = fails(t, Panic, Options{}, func(x *Run) {
		x.Go("a", func() {})
		x.Wait()
		x.Wait()
	})
	require.Contains(t, f.Message, "a second Wait")
}

func TestAlways(t *testing.T) {
	if RaceEnabled {
		t.Skip("invariants are not checked")
	}
	everyMode(t, func(t *testing.T, o Options) {
		invariant := func(check func(x *Run, a, b *Int32)) func(x *Run) {
			return func(x *Run) {
				var a, b Int32
				x.Always(func() { check(x, &a, &b) })
				x.Go("t", func() {
					a.Store(1)
					b.Store(1)
				})
				x.Wait()
			}
		}
		passes(t, o, invariant(func(x *Run, a, b *Int32) { x.Assert(a.Load() >= b.Load(), "a first") }))
		f := fails(t, Assertion, o, invariant(func(x *Run, a, b *Int32) { x.Assert(a.Load() == b.Load(), "same") }))
		require.Equal(t, "same", f.Message)
		require.Equal(t, "a2", f.Schedule, "it fails right after the first store")
		require.Contains(t, f.Trace, "Store(1)")
		f = fails(t, Panic, o, invariant(func(_ *Run, a, _ *Int32) {
			if a.Load() == 1 {
				panic("ouch")
			}
		}))
		require.Contains(t, f.Message, "in an invariant: ouch")
		// The last step is checked, too.
		f = fails(t, Assertion, o, invariant(func(x *Run, _, b *Int32) { x.Assert(b.Load() == 0, "last") }))
		require.Equal(t, "a3", f.Schedule)
	})
}

func TestFailures(t *testing.T) {
	everyMode(t, func(t *testing.T, o Options) {
		f := fails(t, Assertion, o, func(x *Run) { alone(func() { x.Assert(false, "no %d", 1) })(x) })
		require.Equal(t, "no 1", f.Message)
		require.ErrorContains(t, f, "assertion: no 1\nschedule a1\n")
		f = fails(t, Assertion, o, func(x *Run) { x.Fail("setup") })
		require.Equal(t, "setup", f.Message)
		f = fails(t, Assertion, o, func(x *Run) { alone(func() {})(x); x.Fail("final") })
		require.Equal(t, "final", f.Message)
		f = fails(t, Panic, o, alone(func() { panic("in a thread") }))
		require.Contains(t, f.Message, "in a thread\n")
		require.Contains(t, f.Message, "threads_test.go", "a stack")
		f = fails(t, Panic, o, func(*Run) { panic("in the body") })
		require.Contains(t, f.Message, "in the body\n")
		f = fails(t, Panic, o, func(x *Run) { alone(func() {})(x); panic("at the end") })
		require.Contains(t, f.Message, "at the end\n")
		passes(t, o, func(x *Run) { x.Assert(true, "never"); alone(func() { x.Assert(true, "never") })(x) })
	})
}

// All are unwound, and what their deferred functions do is without effect, but they come to their
// end.
func TestAFailureUnwindsAll(t *testing.T) {
	unwound, failed := 0, 0
	_ = fails(t, Assertion, Options{}, func(x *Run) {
		unwound, failed = 0, 0
		var mu Mutex
		var held Bool
		s := NewSignal(1)
		x.Go("holder", func() {
			mu.Lock()
			held.Store(true)
			defer func() { unwound++ }()
			defer mu.Unlock()
			defer s.Receive()
			defer mu.Lock()
			s.Receive()
		})
		x.Go("failing", func() {
			defer func() {
				mu.Lock()
				held.Load()
				failed++
			}()
			x.Assert(!held.Load(), "held")
			s.Send()
		})
		x.Wait()
	})
	require.Equal(t, 1, unwound)
	require.Equal(t, 1, failed)
}

func TestPanics(t *testing.T) {
	require.Nil(t, Panics(func() {}))
	require.Equal(t, 1, Panics(func() { panic(1) }))
	f := fails(t, Assertion, Options{}, func(x *Run) {
		x.Go("a", func() {
			x.Assert(Panics(func() { panic("p") }) == "p", "its value")
			x.Assert(Panics(func() { x.Fail("from within") }) == nil, "not reached")
		})
		x.Wait()
	})
	require.Equal(t, "from within", f.Message)
	_ = fails(t, Assertion, Options{}, func(x *Run) {
		Panics(func() { x.Fail("in the body") })
		t.Error("it went on")
	})
	f = fails(t, Deadlock, Options{}, alone(func() { Panics(func() { NewSignal(1).Receive() }) }))
	require.Contains(t, f.Message, "a waits to receive")
}

func TestStepLimit(t *testing.T) {
	var v Int32
	endless := alone(func() {
		for {
			v.Load()
		}
	})
	f := fails(t, Steps, Options{}, endless)
	require.Equal(t, "no end after 2000 steps", f.Message)
	f = fails(t, Steps, Options{MaxSteps: 10}, endless)
	require.Equal(t, "no end after 10 steps", f.Message)
	exactly := func(n int) func(*Run) {
		return alone(func() {
			for range n - 1 {
				v.Load()
			}
		})
	}
	require.Equal(t, 10, passes(t, Options{MaxSteps: 10}, exactly(10)).Steps)
	_ = fails(t, Steps, Options{MaxSteps: 10}, exactly(11))
	require.Equal(t, 600, passes(t, Options{}, exactly(600)).Steps, "more than there was room for at first")
}

// Goexit, which FailNow of package testing calls, ends the test and not only the thread.
func TestGoexitInAThread(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	everyMode(t, func(t *testing.T, o Options) {
		unwound, returned := 0, false
		done := make(chan struct{})
		go func() {
			defer close(done)
			Explore(o, func(x *Run) {
				var mu Mutex
				s := NewSignal(1)
				x.Go("waiting", func() {
					mu.Lock()
					defer func() { unwound++ }()
					defer mu.Unlock()
					s.Receive()
				})
				x.Go("leaving", func() {
					Choose(2)
					runtime.Goexit()
				})
				x.Go("not started", func() { unwound += 10 })
				x.Wait()
			})
			returned = true
		}()
		<-done
		require.False(t, returned)
		require.Equal(t, 1, unwound)
		require.Nil(t, current)
		passes(t, o, alone(func() {}))
	})
}

func TestNestedExplorationPanics(t *testing.T) {
	nested := func() { Explore(Options{}, func(*Run) {}) }
	for _, body := range []func(*Run){alone(nested), func(*Run) { nested() }} {
		if RaceEnabled {
			body = func(*Run) { nested() } // for Explore to look around is not synchronized with anything
		}
		f := fails(t, Panic, Options{}, body)
		require.Contains(t, f.Message, "interleave: an exploration within an exploration")
	}
}

func TestBadOptionsPanic(t *testing.T) {
	require.Equal(t, "interleave: no such mode", Panics(func() { Explore(Options{Mode: PCT + 1}, nil) }))
	require.ErrorContains(t, Panics(func() { Explore(Options{Schedule: "?"}, nil) }).(error), "schedule")
}

func TestBodiesMustBeDeterministic(t *testing.T) {
	n := 0
	var a, b, v Int32
	var mu Mutex
	race := func(x *Run, before func()) {
		n++
		x.Go("a", func() {
			before()
			a.Load()
			v.Add(1)
		})
		x.Go("b", func() { v.Add(1) })
		x.Wait()
	}
	for name, body := range map[string]func(x *Run){
		"another operation": func(x *Run) {
			race(x, func() {
				if n == 1 {
					a.Load()
				} else {
					a.Store(0)
				}
			})
		},
		"another object": func(x *Run) {
			race(x, func() {
				a.Load()
				if n == 1 {
					a.Load()
				} else {
					b.Load()
				}
			})
		},
		"another outcome": func(x *Run) { race(x, func() { a.CompareAndSwap(int32(n-1), 1) }) },
		"another thread": func(x *Run) {
			if n == 1 {
				x.Go("c", func() {})
			}
			race(x, func() {})
		},
		"another wait": func(x *Run) {
			if n == 1 {
				mu.Lock()
			}
			race(x, mu.Lock)
		},
		"less": func(x *Run) {
			n++
			x.Go("a", func() {
				if n == 1 {
					a.Load()
					Choose(2)
				}
			})
			x.Wait()
		},
		"nothing": func(x *Run) {
			n++
			x.Go("a", func() {
				a.Load()
				Choose(2)
			})
			if n == 1 {
				x.Wait()
			} else {
				x.threads = x.threads[:0]
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			everyMode(t, func(t *testing.T, o Options) {
				n = 0
				got := Panics(func() { Explore(o, body) })
				if name == "another wait" && got == nil { // in its first execution it is a deadlock
					return
				}
				require.NotNil(t, got)
				require.True(t,
					strings.HasPrefix(fmt.Sprint(got), "interleave: the body is not deterministic"),
					"%v", got)
				require.Nil(t, current)
			})
		})
	}
	n = 0
	f := fails(t, Assertion, Options{}, func(x *Run) {
		n++
		x.Assert(n > 1, "only the first time")
	})
	if !RaceEnabled { // it is not tried
		require.Contains(t, f.Message, "only the first time\n(It does not fail again: the body is not deterministic.)")
	}
}

func TestCoroutinesEndWithTheExploration(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r := Explore(Options{}, func(x *Run) { // some executions are pruned in the middle
		var a, b Int32
		for range 3 {
			x.Go("t", func() {
				a.CompareAndSwap(1, 2)
				b.Add(1)
				a.Load()
			})
		}
		x.Wait()
	})
	require.True(t, r.Exhausted)
	require.NotZero(t, Explore(Options{Mode: Bounded, Bound: 2}, counters(3)).Pruned)
	for _, kind := range []FailureKind{Assertion, Deadlock, Panic, Steps} {
		_ = fails(t, kind, Options{}, func(x *Run) {
			var mu Mutex
			x.Go("waiting", func() { pass(&mu); NewSignal(1).Receive() })
			x.Go("failing", func() {
				switch mu.Lock(); kind {
				case Assertion:
					x.Fail("now")
				case Panic:
					panic("now")
				case Steps:
					for {
						Choose(1)
					}
				default:
				}
			})
			x.Wait()
		})
	}
	Explore(Options{Executions: 1}, counters(3))
	Explore(Options{Mode: Random, Executions: 3}, counters(3))
}

// counters is the body of n threads that add to one variable.
func counters(n int) func(x *Run) {
	return func(x *Run) {
		var v Int32
		for range n {
			x.Go("t", func() { v.Add(1) })
		}
		x.Wait()
		x.Assert(v.Load() == int32(n), "all have added")
	}
}
