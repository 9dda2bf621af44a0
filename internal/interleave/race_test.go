//go:build race

package interleave

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Scenarios with plain memory: those that are synchronized, and those that are not, in some
// executions.
var racy = map[string]func(x *Run){
	"in one interleaving": func(x *Run) {
		var turn Int32
		data := 0
		x.Go("writer", func() {
			turn.Store(1) // too early
			data = 1
			turn.Store(2)
		})
		x.Go("reader", func() {
			if turn.Load() == 1 {
				x.Logf("%d", data)
			}
		})
		x.Wait()
	},
	"in a failed try": func(x *Run) {
		var mu Mutex
		data := 0
		for range 2 {
			x.Go("t", func() {
				if mu.TryLock() {
					data++
					mu.Unlock()
				} else {
					data++
				}
			})
		}
		x.Wait()
	},
	"after a timeout": func(x *Run) {
		s := NewSignal(1)
		data := 0
		x.Go("sender", func() {
			data++
			s.Send()
		})
		x.Go("receiver", func() {
			receiveWithin(s)
			data++
		})
		x.Wait()
	},
	"with a child": func(x *Run) {
		data := 0
		x.Go("parent", func() {
			h := x.Go("child", func() { data++ })
			data++
			h.Join()
		})
		x.Wait()
	},
	"with nothing in between": func(x *Run) {
		data := 0
		x.Go("a", func() { data++ })
		x.Go("b", func() { data++ })
		x.Wait()
	},
}

var synchronized = map[string]func(x *Run){
	"mutex": func(x *Run) {
		var mu Mutex
		data := 0
		for range 3 {
			x.Go("t", func() {
				mu.Lock()
				data++
				mu.Unlock()
			})
		}
		x.Wait()
		x.Assert(data == 3, "%d", data)
	},
	"tried mutex": func(x *Run) {
		var mu Mutex
		data := 0
		for range 2 {
			x.Go("t", func() {
				if mu.TryLock() {
					data++
					mu.Unlock()
				}
			})
		}
		x.Wait()
	},
	"flag": func(x *Run) {
		var ready Bool
		data := 0
		x.Go("writer", func() {
			data = 1
			ready.Store(true)
		})
		x.Go("reader", func() {
			for !ready.Load() {
				Yield()
			}
			x.Assert(data == 1, "%d", data)
		})
		x.Wait()
	},
	"claim": func(x *Run) {
		var claimed Int32
		data := 0
		for range 2 {
			x.Go("t", func() {
				if claimed.CompareAndSwap(0, 1) {
					data++
				}
			})
		}
		x.Wait()
		x.Assert(data == 1, "%d", data)
	},
	"signal": func(x *Run) {
		s := NewSignal(1)
		data := 0
		x.Go("sender", func() {
			data++
			s.Send()
		})
		x.Go("receiver", func() {
			s.Receive()
			data++
		})
		x.Wait()
	},
	"context": func(x *Run) {
		s, ctx := NewSignal(1), x.NewContext()
		data := 0
		x.Go("canceller", func() {
			data++
			ctx.Cancel()
		})
		x.Go("waiter", func() {
			if !s.ReceiveOr(ctx.Done()) {
				data++
			}
		})
		x.Wait()
	},
	"error of a context": func(x *Run) {
		ctx := x.NewContext()
		data := 0
		ctx.AfterFunc(func() { data = 3 })
		x.Go("canceller", func() {
			data = 1
			ctx.Cancel()
		})
		x.Wait()
		x.Assert(data == 3, "%d", data)
	},
	// Executions that are pruned unwind what is deferred, and then locks do nothing.
	unwound: func(x *Run) {
		var mu Mutex
		var other Int32
		data := 0
		x.Same(3, "t", func(int) {
			defer func() {
				mu.Lock()
				data++
				mu.Unlock()
			}()
			mu.Lock()
			data++
			mu.Unlock()
			other.Add(1)
			other.Load()
		})
		x.Wait()
	},
	"children": func(x *Run) {
		data := 0
		x.Go("parent", func() {
			data++
			x.Go("child", func() { data++ }).Join()
			data++
		})
		x.Wait()
		x.Assert(data == 3, "%d", data)
	},
}

const unwound = "deferred, and unwound"

const childVariable = "INTERLEAVE_TEST_CHILD"

func TestRacesAreReported(t *testing.T) {
	for name := range racy {
		out, err := child(t, name)
		require.Error(t, err, name)
		require.Contains(t, out, "WARNING: DATA RACE", name)
		require.Contains(t, out, "failure: data race", name)
		require.Contains(t, out, "race_test.go", name)
	}
	for name := range synchronized {
		out, err := child(t, name)
		require.NoError(t, err, "%s: %s", name, out)
		require.Contains(t, out, "no failure", name)
	}
}

// child explores the scenario in a process of its own.
func child(t *testing.T, name string) (string, error) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestRaceChild$", "-test.v")
	c.Env = append(os.Environ(), childVariable+"="+name)
	out, err := c.CombinedOutput()
	return string(out), err
}

func TestRaceChild(t *testing.T) {
	name := os.Getenv(childVariable)
	if name == "" {
		t.Skip("it is run by TestRacesAreReported")
	}
	body := racy[name]
	if body == nil {
		body = synchronized[name]
	}
	o := Options{}
	if name == unwound {
		o = Options{Mode: Bounded, Bound: 2}
	}
	r := Explore(o, body)
	if r.Failure != nil {
		fmt.Println("failure:", r.Failure.Kind)
		return
	}
	fmt.Println("no failure in", r.Executions)
}
