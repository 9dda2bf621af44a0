package waiters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

// cancelled is how many of the waiters one measurement cancels: many enough for the clock, few
// enough that the queue keeps its length.
const cancelled = 256

// cancelSizes are the lengths of the queue: if cancelling is O(1), what remains between them is the
// cache.
var cancelSizes = []int{1_000, 100_000}

// A CancelResult is the cost of cancelling waiters in the middle of a queue.
type CancelResult struct {
	Waiter      string    `json:"waiter"`
	Impl        string    `json:"implementation"`
	Waiters     int       `json:"waiters"`
	NsPerCancel []float64 `json:"ns_per_cancel"` // a round each

	measure func(n int, limit time.Duration) (float64, error)
}

func (r *CancelResult) String() string {
	return fmt.Sprintf("cancel/%s/%s/%d", r.Waiter, r.Impl, r.Waiters)
}

// PlanCancel returns the measurements that match picks. Only we have futures; goroutines that wait
// with a context of their own are compared with x/sync. The queue of a channel is the runtime's,
// and not what is in question here.
func PlanCancel(match func(string) bool) []*CancelResult {
	var all []*CancelResult
	for _, n := range cancelSizes {
		all = append(
			all,
			&CancelResult{Waiter: "future", Impl: measure.NameFarad, Waiters: n, measure: cancelFutures},
		)
	}
	for _, im := range peers.Lockers() {
		if im.Name == peers.NameChannel {
			continue
		}
		for _, n := range cancelSizes {
			all = append(all, &CancelResult{
				Waiter: "goroutine", Impl: im.Name, Waiters: n,
				measure: func(n int, limit time.Duration) (float64, error) { return cancelGoroutines(im, n, limit) },
			})
		}
	}
	return slices.DeleteFunc(all, func(r *CancelResult) bool { return !match(r.String()) })
}

// RunCancelRound measures each of rs once.
func RunCancelRound(rs []*CancelResult, limit time.Duration, measured func(string)) error {
	for _, r := range rs {
		ns, err := r.measure(r.Waiters, limit)
		if err != nil {
			return fmt.Errorf("%s: %w", r, err)
		}
		r.NsPerCancel = append(r.NsPerCancel, ns)
		measured(r.String())
	}
	return nil
}

// cancelFutures lets n futures wait and times the Release of those in the middle of the queue.
func cancelFutures(n int, _ time.Duration) (float64, error) {
	s, futures := waitingFutures(n)
	middle := futures[(n-cancelled)/2:][:cancelled]
	start := time.Now()
	for i := range middle {
		middle[i].Release()
	}
	ns := float64(time.Since(start).Nanoseconds()) / cancelled
	if w := s.Waiting(); w != n-cancelled {
		return 0, fmt.Errorf("%d of %d wait after %d were cancelled", w, n, cancelled)
	}

	for i := range futures {
		futures[i].Release()
	}
	s.Release(1)
	if w, free := s.Waiting(), s.Available(); w != 0 || free != 1 {
		return 0, fmt.Errorf("%d wait and %d of 1 permits are free after all were cancelled", w, free)
	}
	return ns, nil
}

// cancelGoroutines lets n goroutines wait, each with a context of its own, and times the cancelling
// of about the middle ones (the scheduler decides who queues first) until all of those have
// returned: the wake-up and the switch are in it.
func cancelGoroutines(im peers.Maker, n int, limit time.Duration) (float64, error) {
	l := im.Make(1)
	if err := l.Acquire(context.Background(), 1); err != nil {
		return 0, err
	}
	ctxs, cancels := measure.Own.Contexts(n)
	first := (n - cancelled) / 2
	isMiddle := func(i int) bool { return i >= first && i < first+cancelled }
	var back sync.WaitGroup
	back.Add(cancelled)
	errs := make([]error, n)
	c, err := measure.Gather(n, limit, func(i int) {
		if errs[i] = l.Acquire(ctxs[i], 1); errs[i] == nil {
			l.Release(1)
		}
		if isMiddle(i) {
			back.Done()
		}
	})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	for _, cancel := range cancels[first:][:cancelled] {
		cancel()
	}
	if !measure.Within(limit, &back) {
		return 0, measure.ErrStuck
	}
	ns := float64(time.Since(start).Nanoseconds()) / cancelled

	l.Release(1)
	if !measure.Within(limit, &c.WG) {
		return 0, measure.ErrStuck
	}
	for i, cancel := range cancels {
		cancel()
		var want error
		if isMiddle(i) {
			want = context.Canceled
		}
		if !errors.Is(errs[i], want) {
			return 0, fmt.Errorf("waiter %d returned %v, not %v", i, errs[i], want)
		}
	}
	return ns, nil
}

const (
	cancelNote = "Waiters in the middle of a queue are cancelled. A goroutine's figure ends when the goroutine" +
		" has returned, a future's when its Release has. What grows with the queue here is cache misses or" +
		" work."
)

// CancelTable has a line for each kind of waiter, semaphore and length of the queue.
func CancelTable(rs []*CancelResult) *table.Table {
	t := &table.Table{
		Title: "Cancel one of n waiters",
		Note:  cancelNote,
		Head:  []string{"waiter", "implementation", "n", "ns per cancel", "min–max"},
		Left:  2,
	}
	for _, c := range rs {
		t.Add(c.Waiter, c.Impl, fmt.Sprint(c.Waiters),
			fmt.Sprintf("%.0f", measure.Median(c.NsPerCancel)), measure.Spread("%.0f", c.NsPerCancel))
	}
	return t
}
