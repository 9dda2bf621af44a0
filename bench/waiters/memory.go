package waiters

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

const (
	// memoryFutures is a million, and a power of two, for a slice of futures to fill its pages to
	// the last byte.
	memoryFutures    = 1 << 20
	memoryGoroutines = 10_000
)

// Who waits.
const (
	WaiterFuture     = "future, unsafe.Sizeof"
	WaiterFutureHeap = "future, heap"
	WaiterGoroutine  = "goroutine"
	WaiterPollTask   = "poll task"
)

// WaiterWith is a goroutine with a context of this form.
func WaiterWith(f measure.Form) string { return WaiterGoroutine + ", context " + string(f) }

// A MemoryResult is what one waiter costs.
type MemoryResult struct {
	Waiter string  `json:"waiter"`
	Impl   string  `json:"implementation"`
	Bytes  float64 `json:"bytes"`

	Metric table.Metric `json:"-"`
}

// Form is the form of the contexts of waiting goroutines, empty for others.
func (m MemoryResult) Form() measure.Form {
	for _, f := range measure.AllForms {
		if m.Waiter == WaiterWith(f) {
			return f
		}
	}
	return ""
}

// RunMemory takes the measurements that match picks.
func RunMemory(match func(string) bool, limit time.Duration) ([]MemoryResult, error) {
	var rs []MemoryResult
	if match("memory/future/" + measure.NameFarad) {
		size := float64(unsafe.Sizeof(waiter.Future{}))
		rs = append(
			rs,
			MemoryResult{WaiterFuture, measure.NameFarad, size, table.FutureBytes},
			MemoryResult{
				WaiterFutureHeap,
				measure.NameFarad,
				math.Round(futureHeap(memoryFutures)),
				table.FutureBytes,
			},
		)
	}
	onArray := peers.Maker{Name: peers.NameArray, Make: func(permits int64) peers.Locker { return twa.New(permits) }}
	var bare float64
	for _, f := range measure.AllForms {
		for _, im := range append(peers.Lockers(), onArray) {
			waiter := WaiterWith(f)
			if !match(fmt.Sprintf("memory/goroutine/%s/%s", f, im.Name)) {
				continue
			}
			if bare == 0 {
				var err error
				if bare, err = bareHeap(memoryGoroutines, limit); err != nil {
					return nil, fmt.Errorf("memory: bare receive: %w", err)
				}
			}
			heap, err := goroutineHeap(im, f, memoryGoroutines, limit)
			if err != nil {
				return nil, fmt.Errorf("memory: %s, %s: %w", waiter, im.Name, err)
			}
			result := MemoryResult{waiter, im.Name, math.Round(heap - bare), table.GoroutineBytes}
			if im.Name == peers.NameArray {
				result.Metric = table.ArrayBytes
			}
			rs = append(rs, result)
		}
	}
	return rs, nil
}

// futureHeap returns the bytes per future when n of them wait.
func futureHeap(n int) float64 {
	before := measure.Heap()
	s, futures := waitingFutures(n)
	after := measure.Heap()
	for i := range futures {
		futures[i].Release()
	}
	s.Release(1)
	return (after - before) / float64(n)
}

// bareHeap returns the bytes per goroutine when n of them wait to receive from a channel: the
// closure, and what the runtime itself keeps for a waiter. The first crowd is only there to have
// its descriptors made, which the runtime keeps for ever and hands to the goroutines of all later
// crowds.
func bareHeap(n int, limit time.Duration) (float64, error) {
	var bytes float64
	for range 2 {
		c := make(chan struct{})
		var err error
		if bytes, err = measure.CrowdHeap(n, limit, func(int) { <-c }, func() { close(c) }); err != nil {
			return 0, err
		}
	}
	return bytes, nil
}

// goroutineHeap returns the bytes per goroutine when n of them wait to acquire. Their contexts
// exist already.
func goroutineHeap(im peers.Maker, f measure.Form, n int, limit time.Duration) (float64, error) {
	l := im.Make(1)
	if err := l.Acquire(context.Background(), 1); err != nil {
		return 0, err
	}
	ctxs, cancels := f.Contexts(n)
	bytes, err := measure.CrowdHeap(n, limit, func(i int) { peers.PassOn(ctxs[i], l) }, func() { l.Release(1) })
	for _, cancel := range cancels {
		cancel()
	}
	runtime.KeepAlive(ctxs) // was there before: it must not be what goes while the crowd comes
	return bytes, err
}

// LinkMemory finds what the lines that were read belong to.
func LinkMemory(rs []MemoryResult) {
	for i := range rs {
		m := &rs[i]
		switch {
		case strings.HasPrefix(m.Waiter, "future"):
			m.Metric = table.FutureBytes
		case m.Impl == peers.NameArray:
			m.Metric = table.ArrayBytes
		default:
			m.Metric = table.GoroutineBytes
		}
	}
}

// MemoryTargets are the targets of the memory of a waiter.
var MemoryTargets = []table.Target{
	{Metric: table.FutureBytes, Bound: 128},
	{Metric: table.GoroutineBytes, Forms: unselected, Bound: 128},
	{Metric: table.GoroutineBytes, Forms: selected, Bound: 336},
	{Metric: table.ArrayBytes, Forms: unselected, Bound: 208, AimBound: 128},
	{Metric: table.ArrayBytes, Forms: selected, Bound: 336},
	{Metric: table.TaskBytes, Bound: 200},
	{Metric: table.GoroutineTimes, Bound: 10},
}

// A wait with a context that is used once may select, and a select has two records.
var (
	unselected = []measure.Form{measure.Background, measure.Shared}
	selected   = []measure.Form{measure.Own}
)

// MemoryTargetFor returns the target for a metric of waiters with such contexts, nil if there is
// none.
func MemoryTargetFor(m table.Metric, f measure.Form) *table.Target {
	return table.Find(MemoryTargets, "", f, m, "")
}

const (
	memoryNote = "Live heap beyond that of as many goroutines in a bare channel receive. Stacks, and contexts" +
		" with their done channels, are not included. The runtime's record of a receive is 112 bytes; a" +
		" goroutine that parks without one needs that much more than the figure."
)

// MemoryTable has a line for each kind of waiter and semaphore.
func MemoryTable(rs []MemoryResult, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Memory of one waiter",
		Note:  memoryNote,
		Head:  []string{"waiter", "implementation", "bytes", "target"},
		Left:  2,
	}
	for _, m := range rs {
		var bound *table.Target
		if m.Impl == measure.NameFarad || m.Impl == peers.NameArray {
			bound = MemoryTargetFor(m.Metric, m.Form())
		}
		t.Add(m.Waiter, m.Impl, strconv.Itoa(int(math.Round(m.Bytes))), sum.Judge(bound, m.Bytes))
	}
	return t
}
