package waiters

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
)

// How many wait when it is measured how quickly they are served. A million goroutines need 4 GiB.
var wakeSizes = []int{100_000, 1_000_000}

// WakeTargets are the targets of very many waiters.
var WakeTargets = []table.Target{
	{Workloads: []string{"wake/goroutine/1000000"}, Metric: table.RateTo, Peer: peers.NameChannel, Bound: 1},
}

// WakeTargetFor returns the target for the rate of a line divided by a peer's, nil if there is
// none.
func WakeTargetFor(line, peer string) *table.Target {
	return table.Find(WakeTargets, line, "", table.RateTo, peer)
}

// WakeRates returns how many waiters farad serves in a second, divided by how many another does,
// round by round.
func WakeRates(rs []*WakeResult, line, peer string) []float64 {
	var ours, theirs []float64
	for _, r := range rs {
		if r.Line() != line {
			continue
		}
		switch r.Impl {
		case measure.NameFarad:
			ours = r.NsPerWake
		case peer:
			theirs = r.NsPerWake
		}
	}
	return measure.Ratios(theirs, ours)
}

// A WakeResult is how long it takes to serve one of very many that wait: the only permit goes from
// each to the next.
type WakeResult struct {
	Waiter    string    `json:"waiter"`
	Impl      string    `json:"implementation"`
	Waiters   int       `json:"waiters"`
	NsPerWake []float64 `json:"ns_per_wake"` // a round each

	measure func(n int, limit time.Duration) (time.Duration, error) // first release to last return
}

// Line is the name of the line without the implementation.
func (r *WakeResult) Line() string { return fmt.Sprintf("wake/%s/%d", r.Waiter, r.Waiters) }

func (r *WakeResult) String() string {
	return fmt.Sprintf("wake/%s/%s/%d", r.Waiter, r.Impl, r.Waiters)
}

// PlanWake returns the measurements that match picks. In a smoke run fewer wait.
func PlanWake(match func(string) bool, smoke bool) []*WakeResult {
	var all []*WakeResult
	add := func(waiter, impl string, measure func(n int, limit time.Duration) (time.Duration, error)) {
		for _, n := range wakeSizes {
			all = append(all, &WakeResult{Waiter: waiter, Impl: impl, Waiters: n, measure: measure})
		}
	}
	add("future", measure.NameFarad, wakeFutures)
	add("poll task", measure.NameFarad, wakePollTasks)
	array := peers.Maker{
		Name: peers.NameArray,
		Make: func(permits int64) peers.Locker { return semaphore.New(permits, semaphore.WithWaitingArray(nil)) },
	}
	capacitor := peers.Maker{
		Name: peers.NameCapacitor,
		Make: func(permits int64) peers.Locker { return semaphore.New(permits, semaphore.WithCapacitor(1, 256)) },
	}
	for _, im := range append(peers.Lockers(), array, capacitor) {
		add(
			"goroutine",
			im.Name,
			func(n int, limit time.Duration) (time.Duration, error) { return wakeGoroutines(im, n, limit) },
		)
	}
	all = slices.DeleteFunc(all, func(r *WakeResult) bool { return !match(r.String()) })
	if smoke {
		for _, r := range all {
			r.Waiters /= memorySmokeShare
		}
	}
	return all
}

// RunWakeRound measures each of rs once. Before the first round a crowd as large as the largest
// waits, so that all find descriptors.
func RunWakeRound(round int, rs []*WakeResult, limit time.Duration, measured func(string)) error {
	crowd := 0
	for _, r := range rs {
		if r.Waiter == "goroutine" {
			crowd = max(crowd, r.Waiters)
		}
	}
	if round == 0 && crowd > 0 {
		if err := measure.Precede(crowd, limit); err != nil {
			return fmt.Errorf("wake: bare receive: %w", err)
		}
	}
	rng := rand.New(rand.NewPCG(5, uint64(round)))
	for _, r := range measure.Shuffled(rng, rs) {
		d, err := r.measure(r.Waiters, limit)
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		r.NsPerWake = append(r.NsPerWake, float64(d.Nanoseconds())/float64(r.Waiters))
		measured(r.String())
	}
	return nil
}

// wakeFutures has futures passed the permit, one after the other, by the goroutine that polls them:
// what of a wake is the lock's own.
func wakeFutures(n int, _ time.Duration) (time.Duration, error) {
	s, futures := waitingFutures(n)
	start := time.Now()
	s.Release(1)
	for i := range futures {
		f := &futures[i]
		if !f.Poll(nil) {
			return 0, fmt.Errorf("future %d of %d is not served when it is its turn", i, n)
		}
		if err := f.Err(); err != nil {
			return 0, err
		}
		s.Release(1)
	}
	return time.Since(start), onePermit(s)
}

// wakePollTasks has poll tasks pass it on.
func wakePollTasks(n int, limit time.Duration) (time.Duration, error) {
	s := semaphore.New(1)
	if !s.TryAcquire(1) {
		return 0, errors.New("a new semaphore has no permit")
	}
	ex := rt.New()
	if err := spawnWaiting(ex, s, n); err != nil {
		return 0, err
	}
	if err := untilWaiting(s, n, limit); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	start := time.Now()
	s.Release(1)
	if err := ex.Shutdown(ctx); err != nil {
		return 0, fmt.Errorf("%w %w", measure.ErrStuck, err)
	}
	return time.Since(start), onePermit(s)
}

// wakeGoroutines has goroutines pass it on.
func wakeGoroutines(im peers.Maker, n int, limit time.Duration) (time.Duration, error) {
	l := im.Make(1)
	ctx := context.Background()
	if err := l.Acquire(ctx, 1); err != nil {
		return 0, err
	}
	c, err := measure.Gather(n, limit, func(int) { peers.PassOn(ctx, l) })
	if err != nil {
		return 0, err
	}
	start := time.Now()
	l.Release(1)
	if !measure.Within(limit, &c.WG) {
		return 0, measure.ErrStuck
	}
	d := time.Since(start)
	if s, ok := l.(*semaphore.Semaphore); ok {
		err = onePermit(s)
	}
	return d, err
}

// onePermit returns an error unless the one permit is free at the end, and nobody waits.
func onePermit(s *semaphore.Semaphore) error {
	if w, free := s.Waiting(), s.Available(); w != 0 || free != 1 {
		return fmt.Errorf("%d wait and %d of 1 permits are free at the end", w, free)
	}
	return nil
}

const wakeNote = "Many waiters want the only permit. It is released once, and each waiter that gets it passes it" +
	" on: how many are served in a second, from the first release to the return of the last waiter. A" +
	" future is polled by one goroutine, and no goroutine is woken; poll tasks run on as many workers" +
	" as there are processors. Medians over the rounds, and of the quotients inside the rounds. The" +
	" memory of each is in the tables of memory."

// WakeTable has a line for each kind of waiter, semaphore and number.
func WakeTable(rs []*WakeResult, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "A million waiters", Note: wakeNote,
		Head: []string{
			"waiter",
			"semaphore",
			"n",
			"wakes per second",
			"ns per wake",
			"min–max",
			"farad ÷ it",
			"rate, farad ÷ it",
		}, Left: 2,
	}
	for _, w := range rs {
		if len(w.NsPerWake) == 0 {
			continue
		}
		ratio, rate := "", ""
		i := slices.IndexFunc(
			rs,
			func(o *WakeResult) bool { return o.Line() == w.Line() && o.Impl == measure.NameFarad },
		)
		if i >= 0 && w.Impl != measure.NameFarad {
			ratio = measure.MedianAndSpread(measure.Ratios(rs[i].NsPerWake, w.NsPerWake))
			rate = sum.Entry(table.RateTo, WakeTargetFor(w.Line(), w.Impl), WakeRates(rs, w.Line(), w.Impl))
		}
		ns := measure.Median(w.NsPerWake)
		t.Add(w.Waiter, w.Impl, fmt.Sprint(w.Waiters), fmt.Sprintf("%.0f", 1e9/ns),
			fmt.Sprintf("%.1f", ns), measure.Spread("%.1f", w.NsPerWake), ratio, rate)
	}
	return t
}
