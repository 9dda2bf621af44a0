package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store"
)

// A memory is a store in memory, and the process that uses it.
type memory struct {
	*testing.T
	*memstore.Server
	*memstore.Store
}

func newMemory(t *testing.T) *memory {
	m := &memory{T: t, Server: memstore.NewServer()}
	m.Store = m.Connect(0)
	m.Move(0, time.Millisecond) // an answer is old when it arrives
	return m
}

// member returns a process whose session is over: its drivers only know the lines.
func (m *memory) member(ttl time.Duration) *Fleet {
	f := &Fleet{drivers: make(map[string]*driver), membership: membership{
		store: m.Store, ttl: ttl, turns: make(chan struct{}, mostRequests), patience: newPatience(ttl),
	}}
	f.lines = f
	f.ctx, f.stop = context.WithCancel(m.Context())
	s := newSession(1, clock.Now(), ttl)
	s.lose()
	f.session.Store(s)
	f.feed = newFeed(&f.membership, m.Store)
	go f.feed.run(f.ctx)
	return f
}

// quit ends the driver, whatever is left.
func (d *driver) quit() {
	d.stop()
	d.in.wake()
}

// leave ends all goroutines of f.
func (m *memory) leave(f *Fleet) {
	f.stop()
	f.mu.Lock()
	all := slices.Collect(mapValues(f.drivers))
	f.mu.Unlock()
	for _, d := range all {
		d.quit()
		<-d.done
	}
	<-f.feed.done
}

func mapValues[K comparable, V any](m map[K]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// opens opens a line whose kind needs no write.
func (m *memory) opens(f *Fleet, name string) *driver {
	d, err := f.open(m.Context(), kindMutex, name, 1)
	require.NoError(m, err)
	return d
}

// entry is a change of a mutex's entry.
func entry(name string, lease, weight int) store.Event {
	return store.Event{Line: mutex(name), Change: store.Change{
		Key: store.Key{Lease: int64(lease), Seq: 1}, Weight: int64(weight),
	}}
}

func mutex(name string) string { return memstore.ID(kindMutex, name) }

// knows waits until d has all that is in its line, and fails if that takes longer than within.
func (m *memory) knows(d *driver, within time.Duration) {
	m.Helper()
	for end := time.Now().Add(within); ; {
		synctest.Wait()
		is, err := d.remote.read(m.Context())
		require.NoError(m, err)
		d.seen.Lock()
		state := d.state.Clone()
		d.seen.Unlock()
		same := slices.Equal(is.Entries, state.Entries)
		if same {
			return
		}
		time.Sleep(10 * time.Millisecond)
		if time.Now().After(end) {
			require.Equal(m, is.Entries, state.Entries, "line %s, known at %d, is at %d", d.name, state.Rev, is.Rev)
		}
	}
}

// Whatever happens to the watch, each driver comes to know its line: no change is missed, and none
// of another line is taken for one of it.
func TestDriversKnowTheirLines(t *testing.T) {
	seeds := uint64(300)
	if testing.Short() {
		seeds = 100
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 32))
			m := newMemory(t)
			f := m.member(5 * time.Second)
			defer m.leave(f)
			names := []string{"a", "b", "c", "a/b"}
			var opening sync.WaitGroup
			var mu sync.Mutex
			open := map[string]*driver{} // guarded by mu
			weights := map[string]int{}
			for range 60 {
				time.Sleep(time.Duration(rng.IntN(3)) * 400 * time.Microsecond)
				name := names[rng.IntN(len(names))]
				switch n := rng.IntN(20); {
				case n < 2:
					opening.Go(func() {
						d := m.opens(f, name)
						mu.Lock()
						defer mu.Unlock()
						open[name] = d
					})
				case n == 2:
					opening.Wait()
					if d := open[name]; d != nil {
						d.quit()
						<-d.done
						delete(open, name)
					}
				case n == 3:
					m.Forget()
					m.HangWatches()
				case n == 4:
					m.HangWatches()
				case n == 5:
					time.Sleep(time.Duration(rng.IntN(10)) * time.Second)
				case n == 6:
					f.feed.heard(m.Rev())
				case n == 7: // more than an inbox takes
					for range rng.IntN(2 * mostRevisions) {
						m.Put(entry("a", 7, 1+rng.IntN(5)))
					}
					weights["a7"] = 1
				case n == 8: // the role covers single lines
					m.Allow(func(line string) bool { return line != "" })
				case n == 9:
					m.Allow(func(string) bool { return true })
				default: // in several lines at one revision, as at the end of a lease
					var all []store.Event
					for _, of := range names[:1+rng.IntN(len(names))] {
						for range 1 + rng.IntN(2) {
							lease := 1 + rng.IntN(5)
							weight := rng.IntN(3)
							if k := of + fmt.Sprint(lease); weights[k] != weight {
								weights[k] = weight
								all = append(all, entry(of, lease, weight))
							}
						}
					}
					all = unique(all)
					rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
					m.Put(append(all, store.Event{Line: "somebody's", Change: store.Change{Key: store.Key{Lease: 1, Seq: 1}, Weight: 1}})...)
				}
			}
			time.Sleep(time.Minute)
			opening.Wait()
			for _, d := range open {
				m.knows(d, 0)
			}
		})
	}
}

// unique keeps the last of each key.
func unique(all []store.Event) (u []store.Event) {
	for i, e := range all {
		if !slices.ContainsFunc(all[i+1:], func(o store.Event) bool { return e.Line == o.Line && e.Key == o.Key }) {
			u = append(u, e)
		}
	}
	return u
}

// A watch that hangs is noticed by the next renewal: what was written meanwhile arrives within half
// a TTL, as if the watch had been asked for a sign of life four times in a TTL. While nothing is
// written, it is asked seldom.
func TestAWatchThatHangs(t *testing.T) {
	const ttl = 6 * time.Second
	for phase := range 8 {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory(t)
			f := m.member(ttl)
			defer m.leave(f)
			d := m.opens(f, "a")
			go func() {
				for ; f.ctx.Err() == nil; pause(f.ctx, ttl/3) {
					f.feed.heard(m.Rev())
				}
			}()
			time.Sleep(time.Minute)
			require.LessOrEqual(t, m.Signs(), int(time.Minute/(3*ttl))+1, "signs of life at rest")
			time.Sleep(time.Duration(phase) * ttl / 24)
			m.HangWatches()
			m.Put(entry("a", 1, 1))
			m.knows(d, ttl/2+10*time.Millisecond)
			require.Equal(t, 2, m.Asked("watch"))

			m.HangWatches()
			time.Sleep(time.Minute) // nothing is written
			require.Greater(t, m.Asked("watch"), 2, "a hang at rest is noticed, too")
		})
	}
}

// A watch that does not begin is given up as soon as any request would be.
func TestAWatchThatDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		hung := 0
		m.On(func(ctx context.Context, request string) error {
			if request == "watch" && hung < 2 {
				hung++
				<-ctx.Done()
			}
			return ctx.Err()
		})
		f := m.member(5 * time.Second)
		defer m.leave(f)
		d := m.opens(f, "a")
		synctest.Wait()
		m.Put(entry("a", 1, 1))
		m.knows(d, 3*leastPatience)
		require.Equal(t, 2, hung)
	})
}

// A role that covers single lines does, for a stream a line. Once it covers all there is one again.
func TestARoleForSingleLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		f := m.member(5 * time.Second)
		defer m.leave(f)
		open := func(whole, a, b, c int) {
			t.Helper()
			time.Sleep(time.Minute)
			require.Equal(t, []int{whole, a, b, c},
				[]int{m.Open(""), m.Open(mutex("a")), m.Open(mutex("b")), m.Open(mutex("c"))})
		}
		m.Allow(func(line string) bool { return line != "" })
		a, b := m.opens(f, "a"), m.opens(f, "b")
		open(0, 1, 1, 0)
		c := m.opens(f, "c")
		open(0, 1, 1, 1)
		b.quit()
		open(0, 1, 0, 1)
		m.Put(entry("a", 1, 1), entry("c", 2, 1))
		m.knows(a, 100*time.Millisecond)
		m.knows(c, 100*time.Millisecond)
		m.HangWatches()
		m.Put(entry("a", 1, 2))
		f.feed.heard(m.Put(store.Event{Line: "other", Change: store.Change{Weight: 1}}))
		m.knows(a, 2*time.Second)

		m.Allow(func(line string) bool { return line == mutex("a") })
		m.HangWatches()
		open(0, 1, 0, 0)
		require.ErrorIs(t, c.refusedSince(nil), store.ErrRefused)
		require.NoError(t, a.refusedSince(nil))

		m.Allow(func(string) bool { return true })
		open(1, 0, 0, 0)
		m.Put(entry("c", 1, 2))
		m.knows(c, 100*time.Millisecond)
	})
}

// A driver that is late holds up nobody, and takes no more memory than a few revisions.
func TestADriverThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		f := m.member(5 * time.Second)
		defer m.leave(f)
		late, other := m.opens(f, "late"), m.opens(f, "other")
		synctest.Wait()
		late.in.mu.Lock()
		late.in.running = true // its goroutine gets no processor
		late.in.mu.Unlock()
		for i := range 10 * mostRevisions {
			m.Put(entry("late", 1, i%2+1))
			synctest.Wait()
		}
		m.Put(entry("other", 1, 1))
		m.knows(other, 0)
		late.in.mu.Lock()
		require.LessOrEqual(t, len(late.in.revisions), mostRevisions)
		late.in.mu.Unlock()
		reads := m.Asked("read")
		go late.in.run()
		m.knows(late, 100*time.Millisecond)
		require.LessOrEqual(t, m.Asked("read")-reads, 4, "one read, and those of the test")
	})
}

// Servers go back to an older revision. Drivers of lines in which nothing happens know that as soon
// as an answer to anything else has the older revision, and then follow what happens there.
func TestServersThatGoBackAreNoticed(t *testing.T) {
	for _, single := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory(t)
			f := m.member(5 * time.Second)
			defer m.leave(f)
			if single {
				m.Allow(func(line string) bool { return line != "" })
			}
			a, b := m.opens(f, "a"), m.opens(f, "b")
			m.Put(entry("a", 1, 1))
			m.knows(a, time.Second)
			rev := m.Rev()
			kept := m.Copy()
			for i := range 10 {
				m.Put(entry("b", i+2, 1), entry("a", i+2, 1))
			}
			m.knows(a, time.Second)
			m.knows(b, time.Second)
			m.GoBack(kept)
			f.feed.heard(rev)
			m.knows(a, time.Second)
			m.knows(b, time.Second)
			require.EqualValues(t, 1, f.age.Load())
			require.Equal(t, rev+10, a.status().Back.From)
			for i := range 12 {
				m.Put(entry("b", i+20, 1))
				m.knows(b, 50*time.Millisecond)
			}
			m.Put(entry("a", 1, 0))
			m.knows(a, 50*time.Millisecond)
			require.Nil(t, a.status().Back)
			require.EqualValues(t, 1, f.age.Load())
		})
	}
}

// What was passed on before the feed knows that the servers have gone back says nothing to a
// driver that knows it, and what is passed on afterwards nothing to one that does not.
func TestChangesOfAnotherHistoryWait(t *testing.T) {
	d := alone(t, kindSemaphore, 4)
	d.in.miss(known{0, 100})
	d.in.pass(known{0, 101}, nil)
	all, missed := d.in.follow(known{1, 50})
	require.Empty(t, all)
	require.Zero(t, missed)
	d.in.miss(known{1, 60})
	d.in.pass(known{1, 61}, nil)
	all, missed = d.in.follow(known{0, 100})
	require.Empty(t, all)
	require.Zero(t, missed)
	_, missed = d.in.follow(known{1, 50})
	require.EqualValues(t, 60, missed)
	all, missed = d.in.follow(known{1, 60})
	require.Len(t, all, 1)
	require.Zero(t, missed)
}

// A driver that has ended has no read under way, and while it is refused what it misses it asks
// only now and then.
func TestADriverThatEndsWaitsForItsReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		f := m.member(5 * time.Second)
		defer m.leave(f)
		d := m.opens(f, "a")
		synctest.Wait() // the watch has begun
		rev := m.Rev()
		asked := 0
		m.Allow(func(string) bool { asked++; return false })
		d.in.miss(known{rev: rev + 1})
		time.Sleep(10 * time.Second)
		m.Allow(func(string) bool { return false }) // nobody counts any more
		require.InDelta(t, 8, asked, 4)
		for m.Going("read") == 0 {
			time.Sleep(100 * time.Microsecond)
		}
		d.quit()
		<-d.done
		require.Zero(t, m.Going("read"))
	})
}
