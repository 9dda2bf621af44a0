//go:build interleave

package keyed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/keyed"
)

// One key, as any mutex. The entry is freed at each unlock that finds no waiter.
func TestModelMutex(t *testing.T) {
	mutextest.RunSmallModel(t, mutextest.Subject{New: func() mutextest.Small { return newMutex() }})
}

// Two keys that are locked together, as one mutex.
func TestModelAllIsAMutex(t *testing.T) {
	mutextest.RunSmallModel(t, mutextest.Subject{New: func() mutextest.Small { return newTwoKeys() }, Bound: 2})
}

// Every history of one key is one of a queueing semaphore.
func TestModelHistories(t *testing.T) {
	semtest.CheckHistories(t, semKind(), histories)
	t.Run("rwmutex", func(t *testing.T) { rwtest.RunHistories(t, rwKind()) })
}

var histories = []semtest.History{
	{Name: "lock", Size: 1, Clients: semtest.Bodies(semtest.Locks(1), semtest.Locks(1))},
	{Name: "lock twice", Size: 1, Clients: semtest.Bodies(
		semtest.Does(func(c *semtest.Client) { c.Lock(1); c.Lock(1) }), semtest.Locks(1))},
	{Name: "lock/3", Size: 1, Large: true, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Locks(1), semtest.Locks(1))},
	{Name: "sizes", Size: 2, Clients: semtest.Bodies(semtest.Locks(2), semtest.Locks(1))},
	{Name: "sizes/3", Size: 2, Large: true, Clients: semtest.Bodies(
		semtest.Locks(2), semtest.Locks(1), semtest.Locks(1))},
	{Name: "try", Size: 1, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.Try(1); c.Try(1) }))},
	{Name: "try/3", Size: 1, Large: true, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.Try(1) }))},
	{Name: "timeout", Size: 1, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.LockTimeout(1) }))},
	{Name: "timeout/3", Size: 2, Large: true, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.LockTimeout(2) }), semtest.Locks(1))},
	{Name: "cancel", Size: 1, Cancel: true, Clients: semtest.Bodies(
		semtest.Locks(1), func(c *semtest.Client, ctx context.Context) { c.LockContext(ctx, 1) })},
	{Name: "cancel/before release", Size: 1, Clients: semtest.Bodies(
		semtest.Does(func(c *semtest.Client) { c.LockAndCancel(1) }),
		func(c *semtest.Client, ctx context.Context) { c.LockContext(ctx, 1) },
	)},
	{Name: "too large", Size: 1, Clients: semtest.Bodies(semtest.Locks(1), semtest.Locks(2))},
	{Name: "over-release", Size: 1, Clients: semtest.Bodies(
		semtest.Locks(1), semtest.Locks(1), semtest.Does(func(c *semtest.Client) { c.Release(1) }))},
}

// Keys of scenarios: 0, 2 and 16 are in one shard, 0 and 16 in one bucket of it, and 1 is in the
// other shard.
const (
	key       = 0
	neighbour = 16
	near      = 2
	far       = 1
)

// A world is locks by key, and what they protect.
type world struct {
	*interleave.Run
	m       *keyed.Mutex[int]
	holders [neighbour + 1]interleave.Int32
}

// use is inside, alone, with all these keys, and unlocks them.
func (w *world) use(keys ...int) {
	for _, k := range keys {
		w.Assert(w.holders[k].Add(1) == 1, "two hold key %d", k)
	}
	for _, k := range keys {
		w.holders[k].Add(-1)
	}
	w.m.Unlock(keys...)
}

func (w *world) lock(keys ...int)    { w.m.Lock(keys...); w.use(keys...) }
func (w *world) timeout(keys ...int) { w.useIf(w.m.LockTimeout(time.Second, keys...), keys...) }
func (w *world) try(keys ...int)     { w.useIf(w.m.TryLock(keys...), keys...) }
func (w *world) useIf(ok bool, keys ...int) {
	if ok {
		w.use(keys...)
	}
}

func (w *world) allWithin(ctx context.Context, keys ...int) {
	err := w.m.LockContext(ctx, keys...)
	w.Assert(err == nil || err == ctx.Err(), "not the context's error: %v", err) //nolint:errorlint // that very error
	if err == nil {
		w.use(keys...)
	}
}

type scenario struct {
	name  string
	large bool // not for -short, and under a bound
	body  func(w *world)
}

func check(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			o := interleave.Options{}
			if s.large {
				o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
				if testing.Short() || interleave.RaceEnabled {
					t.Skip("tier two")
				}
			}
			interleave.Check(t, o, func(x *interleave.Run) {
				w := &world{Run: x, m: new(keyed.Mutex[int])}
				x.Name("m", w.m)
				s.body(w)
				x.Wait()
				x.Assert(w.m.Len() == 0, "%d keys are left", w.m.Len())
				for _, k := range []int{key, neighbour, near, far} {
					x.Assert(w.m.TryLock(k), "key %d was lost", k)
					x.Assert(!w.m.TryLock(k), "two locks of key %d", k)
				}
				x.Assert(w.m.Len() == 4, "%d keys of 4", w.m.Len())
			})
		})
	}
}

// The entry of a key is freed, and used for another key, while the next locker arrives.
func TestModelKeyIsFreedAsTheNextComes(t *testing.T) {
	check(t, []scenario{
		{name: "two keys of a bucket", body: func(w *world) {
			w.Go("a", func() { w.lock(key); w.lock(key) })
			w.Go("b", func() { w.lock(neighbour); w.lock(key) })
		}},
		{name: "reuse", body: func(w *world) {
			w.m.Lock(key)
			w.Go("holder", func() { w.m.Unlock(key); w.lock(neighbour) })
			w.Same(2, "next", func(int) { w.lock(key) })
		}},
		{name: "give up beside reuse", body: func(w *world) {
			w.m.Lock(key)
			w.Go("holder", func() { w.m.Unlock(key); w.lock(neighbour) })
			w.Go("hasty", func() { w.timeout(key) })
			w.Go("next", func() { w.lock(key) })
		}},
		{name: "try beside reuse", body: func(w *world) {
			w.Go("a", func() { w.lock(key); w.lock(near) })
			w.Go("b", func() { w.try(near); w.try(key) })
			w.Go("c", func() { w.lock(neighbour) })
		}},
		{name: "first use", body: func(w *world) { w.Same(3, "t", func(int) { w.lock(key) }) }},
		{name: "two shards", body: func(w *world) {
			w.Go("a", func() { w.lock(key); w.lock(far) })
			w.Go("b", func() { w.lock(far); w.lock(key) })
		}},
	})
}

// The table grows, and shrinks again, beside those that lock its keys or wait for them.
func TestModelTableGrowsAndShrinks(t *testing.T) {
	var many []int // of one shard
	for i := range 5 * keyed.PerSegment {
		many = append(many, 2*i)
	}
	check(t, []scenario{{name: "many", body: func(w *world) {
		w.m.Lock(neighbour)
		w.Go("many", func() { w.m.Lock(many...); w.m.Unlock(many...) })
		w.Go("holder", func() { w.use(neighbour) })
		w.Go("one", func() { w.lock(key) })
	}}})
}

// A key is not held up by the holder of another, in whatever bucket or shard that is.
func TestModelKeysAreIndependent(t *testing.T) {
	check(t, []scenario{{name: "held", body: func(w *world) {
		w.m.Lock(key)
		w.Go("t", func() {
			for _, k := range []int{neighbour, near, far} {
				w.Assert(w.m.TryLock(k), "key %d is held up", k)
				w.use(k)
			}
		})
		w.Go("waiter", func() { w.lock(key) })
		w.Go("holder", func() { w.use(key) })
	}}})
}

// Several keys: no deadlock with each other, whatever the order and the shards; all or none.
func TestModelAll(t *testing.T) {
	check(t, []scenario{
		{name: "crossed", body: func(w *world) {
			w.Go("a", func() { w.lock(key, far) })
			w.Go("b", func() { w.lock(far, key) })
		}},
		{name: "one shard", body: func(w *world) {
			w.Go("a", func() { w.lock(key, near) })
			w.Go("b", func() { w.lock(near, key) })
		}},
		{name: "a ring", body: func(w *world) {
			w.Go("a", func() { w.lock(key, far) })
			w.Go("b", func() { w.lock(far, near) })
			w.Go("c", func() { w.lock(near, key) })
		}},
		{name: "twice", large: true, body: func(w *world) {
			w.Same(2, "t", func(int) { w.lock(key, far); w.lock(far, key) })
		}},
		{name: "beside one", body: func(w *world) {
			w.Go("all", func() { w.lock(key, far) })
			w.Go("one", func() { w.lock(key) })
			w.Go("other", func() { w.lock(far) })
		}},
		{name: "beside tries", body: func(w *world) {
			w.Go("all", func() { w.lock(key, far) })
			w.Go("one", func() { w.try(key); w.try(far) })
			w.Go("hasty", func() { w.timeout(far) })
		}},
		{name: "several at a try", body: func(w *world) {
			w.Go("all", func() { w.try(key, far) })
			w.Go("crossed", func() { w.lock(far, key) })
			w.Go("one", func() { w.try(far); w.try(key) })
		}},
		{name: "several in time", body: func(w *world) {
			w.Go("all", func() { w.timeout(key, far) })
			w.Go("crossed", func() { w.timeout(far, key) })
			w.Go("one", func() { w.lock(far) })
		}},
		{name: "in time, both busy", body: func(w *world) {
			w.m.Lock(key)
			w.m.Lock(far)
			w.Go("all", func() { w.timeout(key, far) })
			w.Go("holder", func() { w.m.Unlock(key); w.m.Unlock(far) })
		}},
		{name: "repeated", body: func(w *world) {
			w.Go("a", func() { w.m.Lock(key, far, key, far, key); w.use(key, far) })
			w.Go("b", func() { w.m.Lock(far, key); w.m.Unlock(key, key, far) })
		}},
		{name: "context", body: func(w *world) {
			ctx := w.NewContext()
			w.Go("all", func() { w.allWithin(ctx, key, far) })
			w.Go("one", func() { w.lock(key) })
			w.Go("canceller", ctx.Cancel)
		}},
		{name: "context, both busy", body: func(w *world) {
			ctx := w.NewContext()
			w.m.Lock(key)
			w.m.Lock(far)
			w.Go("all", func() { w.allWithin(ctx, key, far) })
			w.Go("holder", func() { w.m.Unlock(key); w.m.Unlock(far) })
			w.Go("canceller", ctx.Cancel)
		}},
		{name: "context, and one behind", large: true, body: func(w *world) {
			ctx := w.NewContext()
			w.m.Lock(far)
			w.Go("all", func() { w.allWithin(ctx, key, far) })
			w.Go("behind", func() { w.lock(key) })
			w.Go("holder", func() { w.m.Unlock(far) })
			w.Go("canceller", ctx.Cancel)
		}},
		// It has the first key, waits for the second, and gives both up: the one behind gets in.
		{name: "given up for good", body: func(w *world) {
			ctx := w.NewContext()
			w.m.Lock(far)
			w.Go("all", func() {
				w.Assert(w.m.LockContext(ctx, key, far) != nil, "locked what is never unlocked")
				w.lock(key)
				w.m.Unlock(far)
			})
			w.Go("behind", func() { w.lock(key) })
			w.Go("canceller", ctx.Cancel)
		}},
		{name: "cancel before unlock", body: func(w *world) {
			ctx, ended := w.NewContext(), false
			w.m.Lock(far)
			w.Go("holder", func() { ctx.Cancel(); ended = true; w.m.Unlock(far) })
			w.Go("all", func() {
				if w.m.LockContext(ctx, key, far) == nil {
					w.Assert(!ended, "locked, though the context had ended before the unlock")
					w.use(key, far)
				}
			})
		}},
		{name: "two with a context", large: true, body: func(w *world) {
			ctx := w.NewContext()
			w.Go("a", func() { w.allWithin(ctx, key, far) })
			w.Go("b", func() { w.allWithin(ctx, far, key) })
			w.Go("canceller", ctx.Cancel)
		}},
	})
}

// A request whose context is done already takes nothing, not even for a moment: a try beside it
// finds all keys free.
func TestModelDoneContextTakesNothing(t *testing.T) {
	check(t, []scenario{
		{name: "one", body: func(w *world) {
			ctx := w.NewContext()
			ctx.Cancel()
			w.Go("late", func() { w.Assert(w.m.LockContext(ctx, key) == ctx.Err(), "not its error") }) //nolint:errorlint // that very error
			w.Go("other", func() { w.Assert(w.m.TryLock(key), "taken for a moment"); w.use(key) })
		}},
		{name: "all", body: func(w *world) {
			ctx := w.NewContext()
			ctx.Cancel()
			w.Go("late", func() { w.Assert(w.m.LockContext(ctx, key, far) == ctx.Err(), "not its error") }) //nolint:errorlint // that very error
			w.Go("other", func() {
				w.Assert(w.m.TryLock(far), "taken for a moment")
				w.use(far)
			})
		}},
	})
}

// They enter all lines at one instant: one that is before another in one line, is so in all.
func TestModelAllEntersAtOnce(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		m := new(keyed.Mutex[int])
		m.Lock(key, far)
		var order [2]interleave.Int32
		x.Same(2, "t", func(int) {
			m.Lock(far, key)
			first := order[0].Add(1)
			x.Assert(first == order[1].Add(1), "first in one line, and second in the other")
			m.Unlock(key, far)
		})
		x.Go("holder", func() { m.Unlock(key); m.Unlock(far) })
		x.Wait()
		x.Assert(m.Len() == 0, "%d keys are left", m.Len())
	})
}

// Of two unlocks of what was locked once one panics, names the key, and has changed nothing.
func TestModelUnlockTooMany(t *testing.T) {
	for name, unlock := range map[string]func(m *keyed.Mutex[int]){
		"one": func(m *keyed.Mutex[int]) { m.Unlock(far) },
		"all": func(m *keyed.Mutex[int]) { m.Unlock(far, key) },
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				m := new(keyed.Mutex[int])
				m.Lock(key, far)
				var panics interleave.Int32
				x.Same(2, "t", func(int) {
					if p := interleave.Panics(func() { unlock(m) }); p != nil {
						text := fmt.Sprint(p)
						x.Assert(strings.HasSuffix(text, "unlocked key 1") || strings.HasSuffix(text, "unlocked key 0"), "%s", text)
						panics.Add(1)
					}
				})
				x.Wait()
				x.Assert(panics.Load() == 1, "%d panics", panics.Load())
			})
		})
	}
}

// A grant that another has given back, by an unlock too many, while its waiter gave up: that is
// noticed, by whichever of the two is the later.
func TestModelUnlockTooManyBesideACancel(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		m := new(keyed.Mutex[int])
		m.Lock(key)
		var panics interleave.Int32
		x.Go("waiter", func() {
			if p := interleave.Panics(func() {
				if m.LockTimeout(time.Second, key) {
					m.Unlock(key)
				}
			}); p != nil {
				panics.Add(1)
			}
		})
		x.Go("holder", func() {
			m.Unlock(key)
			if p := interleave.Panics(func() { m.Unlock(key) }); p != nil {
				panics.Add(1)
			}
		})
		x.Wait()
		x.Assert(panics.Load() == 1, "%d panics", panics.Load())
		x.Assert(m.Len() == 0 && m.Waiting(key) == 0, "the key is left")
	})
}

// Readers of several keys do not wait for one another: here the first never unlocks.
func TestModelReadersShareAllKeys(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		m := new(keyed.RWMutex[int])
		m.RLock(key, far)
		x.Same(2, "reader", func(int) {
			m.RLock(far, key, near)
			m.RUnlock(near, key, far)
		})
		x.Wait()
		x.Assert(m.Len() == 2, "%d keys of 2", m.Len())
	})
}

// Readers of several keys share them, and exclude a writer of them.
func TestModelRWAll(t *testing.T) {
	o := interleave.Options{Mode: interleave.Bounded, Bound: 2}
	if testing.Short() || interleave.RaceEnabled {
		o.Bound = 1
	}
	interleave.Check(t, o, func(x *interleave.Run) {
		m := new(keyed.RWMutex[int])
		m.RLock(key, far)
		ctx := x.NewContext()
		var readers, writers interleave.Int32
		read := func() {
			readers.Add(1)
			x.Assert(writers.Load() == 0, "a reader beside a writer")
			readers.Add(-1)
			m.RUnlock(far, key)
		}
		x.Go("first", read)
		x.Go("reader", func() {
			if m.RLockContext(ctx, far, key) == nil {
				read()
			}
		})
		x.Go("writer", func() {
			m.Lock(far, key)
			writers.Add(1)
			x.Assert(readers.Load() == 0, "a writer beside a reader")
			writers.Add(-1)
			m.Unlock(key, far)
		})
		x.Go("hasty", func() {
			if m.LockContext(ctx, key, far) == nil {
				m.Unlock(key, far)
			}
		})
		x.Go("canceller", ctx.Cancel)
		x.Wait()
		x.Assert(m.Len() == 0, "%d keys are left", m.Len())
	})
}

// A reader's unlock does not end a writer's lock, nor the reverse; a reader that gives up has
// nothing.
func TestModelRWMisuse(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		m := new(keyed.RWMutex[int])
		m.Lock(key)
		x.Go("writer", func() {
			x.Assert(interleave.Panics(func() { m.RUnlock(key) }) != nil, "a reader's unlock of a writer's key")
			m.Unlock(key)
		})
		x.Go("reader", func() {
			if !m.RLockTimeout(time.Second, key) {
				return
			}
			x.Assert(interleave.Panics(func() { m.Unlock(key) }) != nil, "a writer's unlock of a reader's key")
			m.RUnlock(key)
		})
		x.Wait()
		x.Assert(m.Len() == 0 && m.Waiting(key) == 0, "%d keys are left", m.Len())
	})
}

// A request that gives up lets those behind it in, beside the holder.
func TestModelLargeRequestGivesUp(t *testing.T) {
	interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
		s := keyed.NewSemaphore[int](2)
		x.Assert(s.TryAcquire(key, 1), "not free")
		x.Go("large", func() {
			if s.AcquireTimeout(time.Second, key, 2) == nil {
				x.Fail("granted what is never free")
			}
		})
		x.Go("small", func() {
			x.Assert(s.Acquire(bg, key, 1) == nil, "not acquired")
			s.Release(key, 1)
		})
		x.Wait()
		s.Release(key, 1)
		x.Assert(s.Len() == 0, "%d keys are left", s.Len())
	})
}
