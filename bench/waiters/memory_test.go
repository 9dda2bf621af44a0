package waiters

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// hoarder allocates a known amount for each waiter.
type hoarder struct{ peers.Channel }

var hoard = 1024 // a variable: a constant size would be had on the stack

func (h hoarder) Acquire(ctx context.Context, n int64) error {
	note := make([]byte, hoard)
	err := h.Channel.Acquire(ctx, n)
	note[0]++
	return err
}

func TestGoroutineHeapSeesWhatAWaiterAllocates(t *testing.T) {
	const n = 2000
	bare, err := bareHeap(n, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	im := peers.Maker{Make: func(p int64) peers.Locker { return &hoarder{make(peers.Channel, p)} }}
	bytes, err := goroutineHeap(im, measure.Background, n, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(bytes-bare-float64(hoard)) > 64 {
		t.Errorf("%.0f bytes per waiter beyond a bare receive, want about %d", bytes-bare, hoard)
	}
}

func TestCancelGoroutinesOfXSync(t *testing.T) {
	for _, im := range peers.Lockers() {
		if im.Name == peers.NameChannel {
			continue
		}
		if ns, err := cancelGoroutines(im, 1000, 5*time.Second); err != nil || ns <= 0 {
			t.Errorf("%s: %v ns, %v", im.Name, ns, err)
		}
	}
}

func TestCancelFutures(t *testing.T) {
	if ns, err := cancelFutures(1000, 0); err != nil || ns <= 0 {
		t.Errorf("%v ns, %v", ns, err)
	}
}

func TestCancelPlanPicks(t *testing.T) {
	rs := PlanCancel(func(name string) bool { return strings.HasPrefix(name, "cancel/future/farad/") })
	if len(rs) != len(cancelSizes) {
		t.Errorf("%d measurements, want %d", len(rs), len(cancelSizes))
	}
}
