package array

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

func TestTheSimulationIsDeterministic(t *testing.T) {
	rs := Plan(measure.Everything)
	if want := len(hashes) * len(semaphoreNames) * len(HashSizes); len(rs) != want {
		t.Fatalf("%d results, want %d", len(rs), want)
	}
	if !slices.Equal(rs, Plan(measure.Everything)) {
		t.Error("it gives other figures the second time")
	}
}

// Every post wakes its own waiter exactly once. All futile wakes are in that waiter's slot. The
// running count of waiters per slot agrees with the slots.
func TestTheSimulationAddsUp(t *testing.T) {
	for _, h := range hashes {
		for _, n := range semaphoreNames {
			for _, slots := range HashSizes {
				r := HashResult{Hash: h.name, Semaphore: n.name, Slots: slots}
				m := newHashSim(h.hash, n.of, slots)
				m.run(&r)
				var granted uint64
				for _, g := range m.grant {
					granted += g
				}
				if r.Posts != simPosts || granted != simPosts {
					t.Errorf("%s: %d posts have woken %d and granted %d", r, simPosts, r.Posts, granted)
				}
				waiting, shared := map[simWaiter]bool{}, 0
				for at, ws := range m.slots {
					for _, w := range ws {
						waiting[w] = true
						if m.slot(w) != at || w.ticket < m.grant[w.semaphore] ||
							w.ticket >= m.grant[w.semaphore]+simTickets {
							t.Fatalf("%s: %v waits in slot %d", r, w, at)
						}
					}
					if len(ws) > 1 {
						shared += len(ws)
					}
				}
				if len(waiting) != simWaiters || shared != m.shared {
					t.Errorf("%s: %d wait, %d of them share, counted as %d", r, len(waiting), shared, m.shared)
				}
				if r.Shared > simPosts*simWaiters || r.SameLine > simPosts ||
					r.Lines > simPosts*slots*slotBytes/lineBytes/2 {
					t.Errorf("%s: more than can be: %+v", r, r)
				}
			}
		}
	}
}

// Each post of a real semaphore wakes one waiter, which has been granted. A futile wake would be
// counted as an additional one.
func TestOurWakesAreCounted(t *testing.T) {
	for _, r := range Plan(func(s string) bool { return strings.Contains(s, "(ours)") }) {
		if !slices.Contains(OurVariants, r.Name()) {
			if r.Woken != 0 {
				t.Errorf("%s: %d wakes of real semaphores, who have numbers", r, r.Woken)
			}
			continue
		}
		if r.Woken != simPosts || r.InVain != 0 || r.FutileWakes() != 0 {
			t.Errorf("%s: %d woken, %d of them in vain, by %d posts", r, r.Woken, r.InVain, simPosts)
		}
	}
	if r := (HashResult{Woken: 12, InVain: 2}); r.FutileWakes() != 0.2 {
		t.Errorf("2 of 12 in vain: %v for each that is not", r.FutileWakes())
	}
}

// At random, with four slots for each waiter, 22 % of them would share one. Semaphores at a
// distance of 17 lines collide besides, when their tickets are 64 apart.
func TestAHashThatKnowsNothingPlacesAtRandom(t *testing.T) {
	rs := Plan(func(s string) bool { return strings.HasSuffix(s, "/Mix32A/address/4096") })
	if len(rs) != 1 {
		t.Fatalf("%d results", len(rs))
	}
	if share := float64(rs[0].Shared) / simPosts / simWaiters; share < 0.18 || share > 0.3 {
		t.Errorf("%s: %.2f", rs[0], share)
	}
}

func TestVariantTableHasALineForEach(t *testing.T) {
	tab := Table(Plan(measure.Everything), new(table.Tally))
	if len(tab.Rows) != len(hashes)*len(semaphoreNames) {
		t.Fatalf("%d lines", len(tab.Rows))
	}
	for _, row := range tab.Rows {
		if len(row) != len(tab.Head) || slices.Contains(row, "") {
			t.Errorf("a hole in %v", row)
		}
	}
	if len(Table(nil, new(table.Tally)).Rows) != 0 {
		t.Error("lines without results")
	}
}

func TestSemaphoresOnChainsRun(t *testing.T) {
	for _, n := range []int{1, 8, 64} {
		w := chainsbench(n)
		for _, im := range w.Impls {
			s, err := locks.Measure(
				w.Goroutines,
				im,
				measure.Timing{Window: 3 * time.Millisecond, Warmup: time.Millisecond, Limit: 10 * time.Second},
			)
			if err != nil || s.NsPerOp <= 0 {
				t.Errorf("%s/%s: %v, %v ns/op", w.Name, im.Name, err, s.NsPerOp)
			}
		}
	}
}
