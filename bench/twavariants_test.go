package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func everything(string) bool { return true }

func TestTheSimulationIsDeterministic(t *testing.T) {
	rs := planVariants(everything)
	if want := len(marchHashes) * len(marchNames) * len(marchSizes); len(rs) != want {
		t.Fatalf("%d results, want %d", len(rs), want)
	}
	if !slices.Equal(rs, planVariants(everything)) {
		t.Error("it gives other figures the second time")
	}
}

// Every post wakes the one that it is for, exactly once; all that are woken in vain were in its
// slot; and the running count of those who share is that of who is there.
func TestTheSimulationAddsUp(t *testing.T) {
	for _, h := range marchHashes {
		for _, n := range marchNames {
			for _, slots := range marchSizes {
				r := marchResult{Hash: h.name, Semaphore: n.name, Slots: slots}
				m := newMarch(h.hash, n.of, slots)
				m.run(&r)
				var granted uint64
				for _, g := range m.grant {
					granted += g
				}
				if r.Posts != marchPosts || granted != marchPosts {
					t.Errorf("%s: %d posts have woken %d and granted %d", r, marchPosts, r.Posts, granted)
				}
				waiting, shared := map[marcher]bool{}, 0
				for at, ws := range m.slots {
					for _, w := range ws {
						waiting[w] = true
						if m.slot(w) != at || w.ticket < m.grant[w.semaphore] ||
							w.ticket >= m.grant[w.semaphore]+marchTickets {
							t.Fatalf("%s: %v waits in slot %d", r, w, at)
						}
					}
					if len(ws) > 1 {
						shared += len(ws)
					}
				}
				if len(waiting) != marchWaiters || shared != m.shared {
					t.Errorf("%s: %d wait, %d of them share, counted as %d", r, len(waiting), shared, m.shared)
				}
				if r.Shared > marchPosts*marchWaiters || r.SameLine > marchPosts ||
					r.Lines > marchPosts*slots*slotBytes/lineBytes/2 {
					t.Errorf("%s: more than can be: %+v", r, r)
				}
			}
		}
	}
}

// Each post of a real semaphore wakes one, and that one has been granted: so a wake in vain would
// be counted as one too many.
func TestOurWakesAreCounted(t *testing.T) {
	for _, r := range planVariants(func(s string) bool { return strings.Contains(s, "(ours)") }) {
		if !slices.Contains(ourVariants, r.name()) {
			if r.Woken != 0 {
				t.Errorf("%s: %d wakes of real semaphores, who have numbers", r, r.Woken)
			}
			continue
		}
		if r.Woken != marchPosts || r.InVain != 0 || r.futileWakes() != 0 {
			t.Errorf("%s: %d woken, %d of them in vain, by %d posts", r, r.Woken, r.InVain, marchPosts)
		}
	}
	if r := (marchResult{Woken: 12, InVain: 2}); r.futileWakes() != 0.2 {
		t.Errorf("2 of 12 in vain: %v for each that is not", r.futileWakes())
	}
}

// At random, with four slots for each waiter, 22 % of them would share one. Semaphores at a
// distance of 17 lines collide besides, when their tickets are 64 apart.
func TestAHashThatKnowsNothingPlacesAtRandom(t *testing.T) {
	rs := planVariants(func(s string) bool { return strings.HasSuffix(s, "/Mix32A/address/4096") })
	if len(rs) != 1 {
		t.Fatalf("%d results", len(rs))
	}
	if share := float64(rs[0].Shared) / marchPosts / marchWaiters; share < 0.18 || share > 0.3 {
		t.Errorf("%s: %.2f", rs[0], share)
	}
}

func TestVariantTableHasALineForEach(t *testing.T) {
	tab := variantTable(planVariants(everything), new(tally))
	if len(tab.rows) != len(marchHashes)*len(marchNames) {
		t.Fatalf("%d lines", len(tab.rows))
	}
	for _, row := range tab.rows {
		if len(row) != len(tab.head) || slices.Contains(row, "") {
			t.Errorf("a hole in %v", row)
		}
	}
	if len(variantTable(nil, new(tally)).rows) != 0 {
		t.Error("lines without results")
	}
}

func TestSemaphoresOnChainsRun(t *testing.T) {
	for _, n := range []int{1, 8, 64} {
		w := chainsbench(n)
		for _, im := range w.impls {
			s, err := measureLock(
				w.goroutines,
				im,
				timing{window: 3 * time.Millisecond, warmup: time.Millisecond, limit: 10 * time.Second},
			)
			if err != nil || s.NsPerOp <= 0 {
				t.Errorf("%s/%s: %v, %v ns/op", w.name, im.name, err, s.NsPerOp)
			}
		}
	}
}
