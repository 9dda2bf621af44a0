package observe

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

// rounds returns the number of random histories.
func rounds(all int) int {
	if testing.Short() || locktest.RaceEnabled {
		return all / 200
	}
	if os.Getenv("FARAD_STRESS") == "" {
		return all / 100
	}
	return all
}

// turn lets an agent that is free do something that keep allows.
func (w *world) turn(keep func(*worldAgent, *worldLock) bool) {
	if w.rnd.IntN(4) == 0 {
		w.releaseGhost()
		return
	}
	a := w.agents[w.rnd.IntN(len(w.agents))]
	if a.next != stepFree {
		w.step(a)
		return
	}
	if len(a.holds) > 0 && w.rnd.IntN(3) == 0 {
		w.release(a, a.holds[w.rnd.IntN(len(a.holds))])
		return
	}
	l := w.locks[w.rnd.IntN(len(w.locks))]
	if !keep(a, l) {
		return
	}
	q := w.request(a, l)
	q.canEnd = w.rnd.IntN(6) == 0
	if a.id.Task == 0 || w.rnd.IntN(2) == 0 {
		w.acquire(q)
		return
	}
	q.future = true
	w.acquire(q)
	if o := w.locks[w.rnd.IntN(len(w.locks))]; o != l && keep(a, o) && w.rnd.IntN(2) == 0 {
		q := w.request(a, o)
		q.future = true
		w.acquire(q)
	}
}

// inOrder allows what can never end in a deadlock: who holds a lock acquires only later ones.
func (w *world) inOrder(a *worldAgent, l *worldLock) bool {
	return !slices.ContainsFunc(a.holds, func(h *worldHold) bool { return h.lock.id >= l.id })
}

func anyOrder(*worldAgent, *worldLock) bool { return true }

// A million histories of programs that never deadlock give no report.
func TestLegalHistories(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	for i := range rounds(1_000_000) {
		w := newWorld(rand.New(rand.NewPCG(seed, uint64(i))), 2+i%4, 1+i%3)
		d := detector{}
		for range 6 {
			for range w.rnd.IntN(20) {
				w.turn(w.inOrder)
			}
			certain, _ := d.next(w.snapshot(func() {
				for range w.rnd.IntN(3) {
					w.turn(w.inOrder)
				}
			}), time.Hour)
			require.Empty(t, certain, "seed %d, history %d", seed, i)
		}
	}
}

// In programs that deadlock as well, an agent that is reported cannot go on in any schedule.
func TestReportedAgentsAreHopeless(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	reports := 0
	for i := range rounds(300_000) {
		w := newWorld(rand.New(rand.NewPCG(seed, uint64(i))), 2+i%4, 1+i%3)
		d := detector{}
		for range 6 {
			for range w.rnd.IntN(20) {
				w.turn(anyOrder)
			}
			certain, _ := d.next(w.snapshot(func() {
				for range w.rnd.IntN(3) {
					w.turn(anyOrder)
				}
			}), time.Hour)
			if len(certain) == 0 {
				continue
			}
			reports++
			hopeless := w.hopeless()
			for _, c := range certain {
				for _, b := range c.Waits {
					require.True(t, slices.ContainsFunc(hopeless, func(a *worldAgent) bool {
						x, _ := a.id.who()
						y, _ := b.Waiter.Agent.who()
						return x == y
					}), "seed %d, history %d, %v", seed, i, b)
				}
			}
		}
	}
	assert.Positive(t, reports)
}

// When nobody moves any more and all is known, exactly those are stuck that the oracle calls
// hopeless. The certain ones are nearly all of these: see invariant 3 of graph.
func TestStuckAreTheHopeless(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	all, certain := 0, 0
	for i := range rounds(300_000) {
		w := newWorld(rand.New(rand.NewPCG(seed, uint64(i))), 2+i%4, 1+i%3)
		for _, l := range w.locks {
			l.owned, l.released = true, 1
		}
		for range 40 {
			w.turn(anyOrder)
		}
		for slices.ContainsFunc(w.agents, w.step) {
		}
		for _, l := range w.locks {
			slices.SortFunc(l.waiters, func(a, b *worldWait) int {
				return slices.Index(l.queue, a) - slices.Index(l.queue, b)
			})
		}
		nothing := func() {}
		g := newGraph(w.snapshot(nothing), w.snapshot(nothing))
		names := func(actors []*actor) (ids []string) {
			for _, a := range actors {
				ids = append(ids, fmt.Sprint(a.waits[0].Agent.who()))
			}
			slices.Sort(ids)
			return ids
		}
		var hopeless []string
		for _, a := range w.hopeless() {
			hopeless = append(hopeless, fmt.Sprint(a.id.who()))
		}
		slices.Sort(hopeless)
		stuck := stuckOf(g.actors, trustPossible)
		require.Equal(t, hopeless, names(stuck), "seed %d, history %d", seed, i)
		wake(stuck)
		sure := stuckOf(g.actors, trustCertain)
		require.Subset(t, hopeless, names(sure))
		wake(sure)
		all += len(stuck)
		certain += len(sure)
	}
	t.Logf("%d of %d are certain", certain, all)
	assert.Greater(t, certain, all*8/10)
}

// A scene is a snapshot that is written down by hand.
type scene struct {
	s   Snapshot
	ids uint64
}

func (c *scene) add(l Lock) int {
	c.ids++
	l.ID, l.Free = c.ids, l.Size
	c.s.Locks = append(c.s.Locks, l)
	return len(c.s.Locks) - 1
}

func (c *scene) mutex() int { return c.add(Lock{Size: 1, Owned: true}) }
func (c *scene) rw() int    { return c.add(Lock{Size: 1000, Owned: true}) }

// semaphore is one whose permits have been released by who had acquired them.
func (c *scene) semaphore(n int64) int {
	return c.add(Lock{Size: n, Counts: Counts{Released: 1}, Sites: []Site{{Stack: Stack{1}, Holds: 1}}})
}

func (c *scene) hold(who Agent, l int, n int64) *Holder {
	c.ids++
	k := &c.s.Locks[l]
	k.Free -= n
	k.Holders = append(k.Holders, Holder{ID: c.ids, Agent: who, Permits: n, Stack: Stack{1}})
	return &k.Holders[len(k.Holders)-1]
}

func (c *scene) wait(who Agent, l int, n int64) *Waiter {
	c.ids++
	k := &c.s.Locks[l]
	k.Waiting++
	k.Waiters = append(k.Waiters, Waiter{ID: c.ids, Agent: who, Permits: n, Stack: Stack{2}})
	w := &k.Waiters[len(k.Waiters)-1]
	if who.Task != 0 {
		w.Future = true
		for i := range c.s.Tasks {
			if c.s.Tasks[i].ID == who.Task {
				c.s.Tasks[i].Locks++
				return w
			}
		}
		c.s.Tasks = append(c.s.Tasks, Task{ID: who.Task, State: taskWaiting, Locks: 1})
	}
	return w
}

// copy returns a snapshot that shares nothing with c.
func (c *scene) copy() *Snapshot {
	s := c.s
	s.Tasks = slices.Clone(s.Tasks)
	s.Locks = slices.Clone(s.Locks)
	for i := range s.Locks {
		s.Locks[i].Holders = slices.Clone(s.Locks[i].Holders)
		s.Locks[i].Waiters = slices.Clone(s.Locks[i].Waiters)
	}
	return &s
}

// find returns what a detector finds that sees the scene twice.
func (c *scene) find() (certain, possible []Deadlock) {
	var d detector
	d.next(c.copy(), 0)
	return d.next(c.copy(), 0)
}

func goroutine(i int) Agent { return Agent{Goroutine: uint64(10 + i)} }
func task(i int) Agent      { return Agent{Goroutine: 1, Task: uint64(10 + i)} }

// deadlocked returns the agents of the only deadlock.
func deadlocked(t *testing.T, certain, possible []Deadlock) (agents []Agent) {
	t.Helper()
	require.Len(t, certain, 1)
	assert.Empty(t, possible)
	for _, b := range certain[0].Waits {
		agents = append(agents, b.Waiter.Agent)
	}
	return agents
}

// Every cycle of two to five goroutines, tasks or both, over all kinds of locks, is one report.
func TestCycles(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range rounds(100_000) {
		n := 2 + i%4
		c := &scene{}
		var agents []Agent
		var locks []int
		var sizes []int64
		for k := range n {
			agents = append(agents, [...]Agent{goroutine(k), task(k)}[rnd.IntN(2)])
			switch rnd.IntN(3) {
			case 0:
				locks, sizes = append(locks, c.mutex()), append(sizes, 1)
			case 1:
				locks, sizes = append(locks, c.rw()), append(sizes, 1000)
			default:
				locks, sizes = append(locks, c.semaphore(3)), append(sizes, 3)
			}
		}
		for k := range n { // each holds its own, and waits for the next
			c.hold(agents[k], locks[k], 1+rnd.Int64N(sizes[k]))
			c.wait(agents[k], locks[(k+1)%n], sizes[(k+1)%n])
		}
		certain, possible := c.find()
		require.ElementsMatch(t, agents, deadlocked(t, certain, possible))
		for _, b := range certain[0].Waits {
			require.Len(t, b.Holders, 1)
		}
	}
}

func TestSelfDeadlock(t *testing.T) {
	c := &scene{}
	mu := c.mutex()
	c.hold(goroutine(1), mu, 1)
	c.wait(goroutine(1), mu, 1)
	certain, possible := c.find()
	assert.Empty(t, certain, "another goroutine may be about to unlock: the first time one cannot know")
	assert.Len(t, possible, 1)

	c.s.Locks[mu].Counts.Released = 1
	certain, possible = c.find()
	assert.Equal(t, []Agent{goroutine(1)}, deadlocked(t, certain, possible))
}

// A reader that reads again behind a waiting writer: the writer waits for the reader, and the
// reader for the writer.
func TestReaderBehindWriter(t *testing.T) {
	c := &scene{}
	rw := c.rw()
	c.s.Locks[rw].Counts.Released = 1
	c.hold(goroutine(1), rw, 1).Shared = true
	c.hold(goroutine(3), rw, 1).Shared = true // runs
	c.wait(goroutine(2), rw, 1000)
	c.wait(goroutine(1), rw, 1).Shared = true
	certain, possible := c.find()
	assert.ElementsMatch(t, []Agent{goroutine(1), goroutine(2)}, deadlocked(t, certain, possible))
}

// For several permits no cycle is enough: all who hold have to be stuck, a knot.
func TestKnot(t *testing.T) {
	c := &scene{}
	sem, mu := c.semaphore(3), c.mutex()
	for i := range 2 {
		c.hold(goroutine(i), sem, 1)
	}
	c.hold(goroutine(9), mu, 1)
	c.wait(goroutine(0), mu, 1)
	c.wait(goroutine(1), mu, 1)
	c.wait(goroutine(9), sem, 1)
	certain, possible := c.find()
	assert.Empty(t, certain, "a permit is free")
	assert.Empty(t, possible)

	h := c.hold(goroutine(2), sem, 1)
	certain, possible = c.find()
	assert.Empty(t, certain, "a holder runs")
	assert.Empty(t, possible)

	c.wait(goroutine(2), mu, 1)
	certain, possible = c.find()
	assert.Len(t, deadlocked(t, certain, possible), 4)

	h.Approximate = true
	certain, possible = c.find()
	assert.Empty(t, certain)
	assert.Len(t, possible, 1)
}

// Who waits for a deadlock from outside is no part of it, and makes no other.
func TestPilesBehindMakeNoReport(t *testing.T) {
	c := &scene{}
	a, b, other := c.mutex(), c.mutex(), c.mutex()
	c.hold(goroutine(1), a, 1)
	c.hold(goroutine(2), b, 1)
	c.hold(goroutine(3), other, 1)
	c.wait(goroutine(1), b, 1)
	c.wait(goroutine(2), a, 1)
	var d detector
	d.next(c.copy(), 0)
	certain, possible := d.next(c.copy(), 0)
	assert.ElementsMatch(t, []Agent{goroutine(1), goroutine(2)}, deadlocked(t, certain, possible))
	c.wait(goroutine(3), a, 1)
	c.wait(goroutine(4), other, 1)
	c.wait(goroutine(5), b, 1)
	for range 3 {
		certain, possible = d.next(c.copy(), 0)
		assert.Empty(t, certain)
		assert.Empty(t, possible)
	}
	certain, possible = c.find() // from the beginning: still only the two
	assert.Len(t, deadlocked(t, certain, possible), 2)
}

// Two deadlocks at a time are two reports, even if one waits for the other besides.
func TestTwoDeadlocks(t *testing.T) {
	c := &scene{}
	a, b, d, e := c.mutex(), c.mutex(), c.mutex(), c.mutex()
	for i, l := range []int{a, b, d, e} {
		c.hold(goroutine(i), l, 1)
	}
	for i, l := range []int{b, a, e, d} {
		c.wait(goroutine(i), l, 1)
	}
	sem := c.semaphore(2) // 5 and 6 wait for each other, and 6 for 0 besides
	c.hold(goroutine(5), sem, 1)
	c.hold(goroutine(0), sem, 1)
	f := c.mutex()
	c.hold(goroutine(6), f, 1)
	c.wait(goroutine(5), f, 1)
	c.wait(goroutine(6), sem, 2)
	certain, _ := c.find()
	require.Len(t, certain, 3)
}

// A wait with a context or a time ends at some time.
func TestContextsBreakCycles(t *testing.T) {
	c := &scene{}
	a, b := c.mutex(), c.mutex()
	c.hold(goroutine(1), a, 1)
	c.hold(goroutine(2), b, 1)
	c.wait(goroutine(1), b, 1)
	c.wait(goroutine(2), a, 1).CanEnd = true
	certain, possible := c.find()
	assert.Empty(t, certain)
	assert.Empty(t, possible)
}

func TestUnknownHoldersMayRelease(t *testing.T) {
	c := &scene{}
	a, b := c.semaphore(2), c.mutex()
	c.s.Locks[a].Unknown = 1
	c.hold(goroutine(1), a, 1)
	c.hold(goroutine(2), b, 1)
	c.wait(goroutine(1), b, 1)
	c.wait(goroutine(2), a, 1)
	certain, possible := c.find()
	assert.Empty(t, certain)
	assert.Len(t, possible, 1, "but nobody has been seen to")
}

// A dispatcher acquires, and hands the permits to the goroutines that it starts.
func TestDispatchersAreNotDeadlocked(t *testing.T) {
	c := &scene{}
	sem := c.semaphore(3)
	for range 3 {
		c.hold(goroutine(1), sem, 1)
	}
	c.wait(goroutine(1), sem, 1)
	certain, possible := c.find()
	assert.Empty(t, certain)
	assert.Empty(t, possible)
}

// A permit of a semaphore counts as its agent's if its place has always kept what it acquired.
func TestPlacesHaveToShowThatTheyKeepPermits(t *testing.T) {
	for name, site := range map[string]Site{
		"never released":     {Stack: Stack{1}},
		"sometimes handed":   {Stack: Stack{1}, Holds: 5, Handed: 1},
		"another place kept": {Stack: Stack{5}, Holds: 5},
	} {
		c := &scene{}
		a, b := c.semaphore(1), c.mutex()
		c.s.Locks[a].Sites = []Site{site}
		c.hold(goroutine(1), a, 1)
		c.hold(goroutine(2), b, 1)
		c.wait(goroutine(1), b, 1)
		c.wait(goroutine(2), a, 1)
		certain, possible := c.find()
		assert.Empty(t, certain, name)
		assert.Len(t, possible, 1, name)
	}
}

// A mutex that another goroutine has unlocked belongs to nobody for certain.
func TestHandedMutexesAreOnlySuspected(t *testing.T) {
	c := &scene{}
	mu := c.mutex()
	c.s.Locks[mu].Counts = Counts{Released: 1, Handed: 1}
	c.hold(goroutine(1), mu, 1)
	c.wait(goroutine(1), mu, 1)
	certain, possible := c.find()
	assert.Empty(t, certain)
	assert.Len(t, possible, 1)
}

func TestGrantedButNotYetRunning(t *testing.T) {
	c := &scene{}
	a, b := c.mutex(), c.mutex()
	c.hold(goroutine(1), a, 1)
	c.wait(goroutine(1), b, 1) // b was given to it, and its record is still that of a wait
	c.s.Locks[b].Free = 0
	c.wait(goroutine(2), a, 1)
	c.wait(goroutine(2), b, 1)
	certain, possible := c.find()
	assert.Empty(t, certain)
	assert.Empty(t, possible)
}

// 2 waits before the writer in the queue, though it was recorded after it: 3 may let it in.
func TestOrderOfRecordsProvesNothing(t *testing.T) {
	scene := func() (*scene, int) {
		c := &scene{}
		sem := c.semaphore(3)
		c.hold(goroutine(1), sem, 1)
		c.hold(goroutine(3), sem, 2)
		c.wait(goroutine(4), sem, 3)
		c.wait(goroutine(2), sem, 1)
		mu := c.mutex()
		c.hold(goroutine(2), mu, 1)
		c.wait(goroutine(1), mu, 1)
		return c, sem
	}
	c, _ := scene()
	certain, _ := c.find()
	assert.Empty(t, certain)

	c, sem := scene()
	k := &c.s.Locks[sem]
	k.Holders, k.Free = k.Holders[:1], 2 // 3 has returned its permits, and 2 still waits
	certain, _ = c.find()
	require.Len(t, certain, 1)
	assert.Len(t, certain[0].Waits, 3)

	k.Waiting = 1 // one of them is not in the queue yet
	certain, _ = c.find()
	assert.Empty(t, certain)

	k.Waiting = 3 // one waits since before the lock was observed, and may be the first
	certain, _ = c.find()
	assert.Empty(t, certain)
}

// The same of one key of a table: what another key has in its queue proves nothing either.
func TestOrderOfRecordsOfAKey(t *testing.T) {
	c := &scene{}
	sem := c.semaphore(3)
	c.hold(goroutine(1), sem, 1).Key = "a"
	c.wait(goroutine(4), sem, 3).Key = "a"
	c.wait(goroutine(2), sem, 1).Key = "a"
	c.wait(goroutine(5), sem, 3).Key = "b"
	mu := c.mutex()
	c.hold(goroutine(2), mu, 1)
	c.wait(goroutine(1), mu, 1)
	certain, possible := c.find()
	assert.Empty(t, certain, "nobody knows how many permits of the key are free")
	assert.Len(t, possible, 1)

	c.s.Locks[sem].Keys = []Key{{Key: "b", Free: 0, Waiting: 1, Unknown: 3}, {Key: "a", Free: 2, Waiting: 2}}
	certain, _ = c.find()
	require.Len(t, certain, 1)
	assert.Len(t, certain[0].Waits, 3)

	for _, n := range []int{1, 3} {
		c.s.Locks[sem].Keys[1].Waiting = n
		certain, _ = c.find()
		assert.Empty(t, certain)
	}
}

func TestSelectIsStuckOnlyIfAllAre(t *testing.T) {
	scene := func() *scene {
		c := &scene{}
		a, b, d := c.mutex(), c.mutex(), c.mutex()
		c.hold(task(1), a, 1)
		c.hold(goroutine(2), b, 1)
		c.hold(goroutine(3), d, 1)
		c.wait(task(1), b, 1)
		c.wait(task(1), d, 1)
		c.wait(goroutine(2), a, 1)
		return c
	}
	c := scene()
	certain, _ := c.find()
	assert.Empty(t, certain, "3 runs")

	c.wait(goroutine(3), 0, 1)
	certain, possible := c.find()
	assert.Len(t, deadlocked(t, certain, possible), 4)

	c.s.Tasks[0].Locks = 3
	certain, _ = c.find()
	assert.Empty(t, certain, "it waits for another lock, which is not observed")

	c.s.Tasks[0].Locks = 0
	certain, _ = c.find()
	assert.Empty(t, certain, "something else may wake it")

	c.s.Tasks[0].Locks = 2
	d := detector{}
	d.next(c.copy(), 0)
	c.s.Tasks[0].Polls++
	certain, _ = d.next(c.copy(), 0)
	assert.Empty(t, certain, "it was awake")
}

// A goroutine that has started a future does something else.
func TestFuturesPutNoGoroutineToSleep(t *testing.T) {
	c := &scene{}
	mu := c.mutex()
	c.hold(goroutine(1), mu, 1)
	c.wait(goroutine(1), mu, 1).Future = true
	certain, possible := c.find()
	assert.Empty(t, certain)
	assert.Empty(t, possible)
}

// Anybody may signal a cond.
func TestCondsEndNoAnalysis(t *testing.T) {
	c := &scene{}
	mu, cond := c.mutex(), c.add(Lock{Kind: "sync.Cond"})
	c.hold(goroutine(1), mu, 1)
	c.wait(goroutine(1), cond, 1)
	c.wait(goroutine(2), mu, 1)
	certain, possible := c.find()
	assert.Empty(t, certain)
	assert.Empty(t, possible)
}

// Each key of a keyed lock is a lock of its own.
func TestKeys(t *testing.T) {
	c := &scene{}
	mu := c.mutex()
	c.hold(goroutine(1), mu, 1).Key = "a"
	c.hold(goroutine(2), mu, 1).Key = "b"
	c.wait(goroutine(1), mu, 1).Key = "b"
	w := c.wait(goroutine(2), mu, 1)
	w.Key = "c"
	certain, possible := c.find()
	assert.Empty(t, certain)
	assert.Empty(t, possible)
	w.Key = "a"
	certain, possible = c.find()
	assert.Len(t, deadlocked(t, certain, possible), 2)
}

// A cycle that consists of a wait that has just ended and of one that has just begun is none.
func TestNoPhantomCycles(t *testing.T) {
	c := &scene{}
	a, b := c.mutex(), c.mutex()
	c.hold(goroutine(1), a, 1)
	c.hold(goroutine(2), b, 1)
	w := c.wait(goroutine(1), b, 1)
	h := &c.s.Locks[a].Holders[0]
	c.wait(goroutine(2), a, 1)
	for _, id := range []*uint64{&w.ID, &h.ID} {
		var d detector
		d.next(c.copy(), 0)
		*id = 1000
		certain, possible := d.next(c.copy(), 0)
		assert.Empty(t, certain)
		assert.Empty(t, possible)
		certain, _ = d.next(c.copy(), 0)
		assert.Len(t, certain, 1)
	}
}

// A long chain and a large knot take no time that grows with their square.
func TestLargeGraphs(t *testing.T) {
	locktest.SkipSequential(t)
	c := &scene{}
	const n = 20_000
	for range n {
		c.mutex()
	}
	for i := range n {
		c.hold(goroutine(i), i, 1)
		c.wait(goroutine(i), (i+1)%n, 1)
	}
	certain, _ := c.find()
	require.Len(t, certain, 1)
	assert.Len(t, certain[0].Waits, maxBlocked)

	c = &scene{}
	sem, mu := c.semaphore(n), c.mutex()
	for i := range n {
		c.hold(goroutine(i), sem, 1)
		c.wait(goroutine(i), mu, 1)
	}
	c.hold(goroutine(n), mu, 1)
	c.wait(goroutine(n), sem, 1)
	certain, _ = c.find()
	require.Len(t, certain, 1)
	assert.Len(t, certain[0].Waits, maxBlocked)
	assert.Len(t, certain[0].Waits[0].Holders, 1)
}

// 1 would go on if 3 released, so it does not wait for 2 alone: only 3 and 4 are deadlocked.
func TestKnotThatAnotherDeadlockStops(t *testing.T) {
	c := &scene{}
	sem, a, b, d := c.semaphore(2), c.mutex(), c.mutex(), c.mutex()
	c.hold(goroutine(1), a, 1)
	c.hold(goroutine(2), sem, 1)
	c.hold(goroutine(3), sem, 1)
	c.wait(goroutine(1), sem, 1)
	c.wait(goroutine(2), a, 1)
	c.hold(goroutine(3), b, 1)
	c.hold(goroutine(4), d, 1)
	c.wait(goroutine(3), d, 1)
	c.wait(goroutine(4), b, 1)
	certain, possible := c.find()
	assert.ElementsMatch(t, []Agent{goroutine(3), goroutine(4)}, deadlocked(t, certain, possible))
}

// While the size changes, the larger one counts.
func TestResizesBreakCycles(t *testing.T) {
	c := &scene{}
	sem, mu := c.semaphore(2), c.mutex()
	c.hold(goroutine(1), sem, 1)
	c.wait(goroutine(2), sem, 1)
	c.hold(goroutine(2), mu, 1)
	c.wait(goroutine(1), mu, 1)
	c.s.Locks[sem].Size, c.s.Locks[sem].Free = 1, 0
	small := c.copy()
	c.s.Locks[sem].Size = 2
	large := c.copy()
	for _, two := range [][2]*Snapshot{{small, large}, {large, small}} {
		var d detector
		d.next(two[0], 0)
		certain, possible := d.next(two[1], 0)
		assert.Empty(t, certain)
		assert.Empty(t, possible)
	}
	var d detector
	d.next(small, 0)
	certain, _ := d.next(small, 0)
	assert.Len(t, certain, 1)

	c.s.Locks[sem].Waiters[0].Permits = 3 // more than there are: only a resize helps
	c.s.Locks[sem].Holders[0].Permits = 2
	certain, _ = c.find()
	assert.Empty(t, certain)
}
