package locks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// A cancel storm: very many goroutines want the only permit, and a part of them give up before it
// is their turn.

const (
	stormGoroutines = 1000
	// stormSteps are the steps of a PRNG while the permit is held. They take about a microsecond,
	// so that a turn of all takes a millisecond or more.
	stormSteps      = 400
	stormImpatience = 50 * time.Microsecond // of attempts that are to give up
	stormPatience   = 10 * time.Second      // of the others, which set their timers, too
)

// The names of semaphores that only storms have.
const (
	NameChannelTimer     = "channel, timer"
	nameContext          = "farad, context"
	nameContextTWA       = "farad, twa, context"
	nameContextCapacitor = "farad, capacitor, context"
)

// An attempt is an acquire of one permit by goroutine number g that gives up after a time.
type attempt func(g int, patience time.Duration) error

// byContext gives up as all can: with a context that ends.
func byContext(s peers.Locker) attempt {
	return func(_ int, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		return s.Acquire(ctx, 1)
	}
}

// byTimeout gives up as ours can without a context.
func byTimeout(s interface {
	AcquireTimeout(d time.Duration, n int64) error
},
) attempt {
	return func(_ int, patience time.Duration) error { return s.AcquireTimeout(patience, 1) }
}

// byTimer is a select between a channel and a timer, which each goroutine keeps: the least with
// which a channel is given up.
func byTimer(c peers.Channel, goroutines int) attempt {
	timers := make([]*time.Timer, goroutines)
	for i := range timers {
		timers[i] = time.NewTimer(time.Hour)
		timers[i].Stop()
	}
	return func(g int, patience time.Duration) error {
		t := timers[g]
		t.Reset(patience)
		defer t.Stop()
		select {
		case c <- struct{}{}:
			return nil
		case <-t.C:
			return context.DeadlineExceeded
		}
	}
}

// stormers are whose permit is wanted, and how it is given up.
var stormers = []struct {
	name   string
	create func() (peers.TryLocker, attempt)
}{
	{measure.NameFarad, func() (peers.TryLocker, attempt) { s := semaphore.New(1); return s, byTimeout(s) }},
	{nameContext, func() (peers.TryLocker, attempt) { s := semaphore.New(1); return s, byContext(s) }},
	{peers.NameArray, func() (peers.TryLocker, attempt) {
		s := semaphore.New(1, semaphore.WithWaitingArray(nil))
		return s, byTimeout(s)
	}},
	{peers.NameTWA, func() (peers.TryLocker, attempt) { s := twa.New(1); return s, byTimeout(s) }},
	{nameContextTWA, func() (peers.TryLocker, attempt) { s := twa.New(1); return s, byContext(s) }},
	{peers.NameCapacitor, func() (peers.TryLocker, attempt) {
		s := semaphore.New(1, semaphore.WithCapacitor(1, 256))
		return s, byTimeout(s)
	}},
	{nameContextCapacitor, func() (peers.TryLocker, attempt) {
		s := semaphore.New(1, semaphore.WithCapacitor(1, 256))
		return s, byContext(s)
	}},
	{peers.NameXSync, func() (peers.TryLocker, attempt) { s := xsemaphore.NewWeighted(1); return s, byContext(s) }},
	{peers.NameChannel, func() (peers.TryLocker, attempt) { c := make(peers.Channel, 1); return c, byContext(c) }},
	{
		NameChannelTimer,
		func() (peers.TryLocker, attempt) { c := make(peers.Channel, 1); return c, byTimer(c, stormGoroutines) },
	},
}

// A storm is one measurement, and what it counts.
type storm struct {
	percent           uint64 // of the attempts are to time out; of 100 the permit is never free
	s                 peers.TryLocker
	attempts, expired atomic.Int64
}

// stormbench is a storm in which percent of the attempts time out.
func stormbench(percent uint64) Bench {
	w := Bench{Name: fmt.Sprintf("%s%d-%d", stormPrefix, percent, stormGoroutines), Goroutines: stormGoroutines}
	for _, of := range stormers {
		st := &storm{percent: percent}
		w.Impls = append(w.Impls, Impl{Name: of.name, storm: st, Make: func() Loop {
			s, try := of.create()
			return st.loop(s, try)
		}})
	}
	return w
}

// loop begins a storm on s. An operation is an attempt.
func (st *storm) loop(s peers.TryLocker, try attempt) Loop {
	st.s = s
	st.attempts.Store(0)
	st.expired.Store(0)
	if st.percent == 100 && !s.TryAcquire(1) {
		panic("bench: a new semaphore has no permit")
	}
	shared := uint64(1)
	return func(_ context.Context, g, n int, x uint64) (uint64, error) {
		expired := 0
		for range n {
			patience := stormPatience
			if x = measure.Xorshift(x); x>>8%100 < st.percent {
				patience = stormImpatience
			}
			switch err := try(g, patience); {
			case errors.Is(err, context.DeadlineExceeded):
				expired++
				continue
			case err != nil:
				return x, err
			}
			for range stormSteps {
				shared = measure.Xorshift(shared)
			}
			s.Release(1)
		}
		st.attempts.Add(int64(n))
		st.expired.Add(int64(expired))
		return x, nil
	}
}

// outcome returns which part of the attempts timed out. It is an error if the only permit is not
// there when all have left, or if there are more: a storm that loses permits is not quick.
func (st *storm) outcome() (float64, error) {
	if st.percent == 100 {
		if st.expired.Load() < st.attempts.Load() {
			return 0, errors.New("a goroutine got a permit that was taken")
		}
		st.s.Release(1)
	}
	if err := peers.HasPermits(st.s, 1); err != nil {
		return 0, err
	}
	return float64(st.expired.Load()) / float64(max(1, st.attempts.Load())), nil
}

const stormNote = "1,000 goroutines want the only permit again and again, and hold it for a microsecond. A" +
	" percentage of the attempts, which is in the name, gives up after 50 µs, long before its turn;" +
	" with 100 the permit is never free. The other attempts have a time limit, too, which is never" +
	" reached. Time and allocations of the whole process are per attempt; the last column is the part" +
	" of the attempts that timed out. farad is Semaphore.AcquireTimeout. The lines with context," +
	" x/sync and channel make a context.WithTimeout for each attempt, and channel, timer keeps a" +
	" timer for each goroutine. With a capacitor a running goroutine may take the permit before those" +
	" that wait, so fewer time out. When all have left, exactly one permit must be free. Medians over" +
	" the rounds, and of the quotients inside the rounds."

// StormTable has a line for each semaphore.
func StormTable(rs Results, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Cancel storms", Note: stormNote,
		Head: []string{"workload", "semaphore", "ns/attempt", "farad ÷ it", "allocs/attempt", "timed out"}, Left: 2,
	}
	for _, l := range rs {
		if !strings.HasPrefix(l.Workload, stormPrefix) {
			continue
		}
		for _, im := range l.Impls {
			theirs := l.Samples.Column(im.Name, NsPerOp)
			if len(theirs) == 0 {
				continue
			}
			ratio := sum.Entry(table.RatioTo, TargetFor(l.Workload, table.RatioTo, im.Name),
				l.Samples.Beside(im.Name, NsPerOp))
			var bound *table.Target
			if im.Name == measure.NameFarad {
				bound = TargetFor(l.Workload, table.Allocations, "")
			}
			t.Add(
				l.Workload,
				im.Name,
				fmt.Sprintf("%.1f", measure.Median(theirs)),
				ratio,
				sum.Entry(table.Allocations, bound, l.Samples.Column(im.Name, AllocsPerOp)),
				fmt.Sprintf(
					"%.1f %%",
					100*measure.Median(l.Samples.Column(im.Name, func(s Sample) float64 { return s.TimedOut })),
				),
			)
		}
	}
	return t
}
