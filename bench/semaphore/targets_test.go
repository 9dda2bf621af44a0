package semaphore

import (
	"slices"
	"testing"

	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

func TestEveryTargetAppliesToSomething(t *testing.T) {
	for _, tg := range Targets {
		for _, name := range tg.Workloads {
			if !slices.ContainsFunc(workloads, func(w Workload) bool { return w.Name == name }) {
				t.Errorf("target for an unknown workload %q", name)
			}
		}
		if (tg.Metric == table.RatioTo) != (tg.Peer != "") || tg.Peer != "" && !slices.Contains(PeerNames, tg.Peer) {
			t.Errorf("%s has the peer %q", tg.Metric, tg.Peer)
		}
	}
}

func TestPeersOfTargetsTakePart(t *testing.T) {
	for _, c := range Cells() {
		for _, peer := range PeerNames {
			if TargetFor(c, table.RatioTo, peer) == nil {
				continue
			}
			i := slices.IndexFunc(Implementations, func(im Implementation) bool { return im.Name == peer })
			if peer == peers.NameMinimal && !peers.HasMinimalLock {
				continue
			}
			if im := Implementations[i]; im.serves != nil && !im.serves(c.Workload) {
				t.Errorf("%s has a target beside %s, which does not serve it", c, peer)
			}
		}
	}
}

func TestTargetsOfTheIssue(t *testing.T) {
	for _, c := range []struct {
		cell  string
		m     table.Metric
		peer  string
		bound float64 // 0: none
	}{
		{"uncontended/background", table.RatioTo, peers.NameFloor, 1.25},
		{"uncontended/own", table.RatioTo, peers.NameXSync, 0.65},
		{"uncontended/background", table.RatioTo, peers.NameChannel, 0},
		{"uncontended/shared", table.RatioTo, peers.NameChannel, 0.35},
		{"contended-8x1/background", table.RatioTo, peers.NameXSync, 0.4},
		{"contended-64x1/background", table.RatioTo, peers.NameXSync, 0.4},
		{"contended-8x1/background", table.RatioTo, peers.NameChannel, 0.75},
		{"contended-64x1/background", table.RatioTo, peers.NameChannel, 0.9},
		{"contended-64x1/background", table.RatioTo, peers.NameFifomu, 0.6},
		{"contended-8x1/background", table.RatioTo, peers.NameMinimal, 1.35},
		{"contended-8x1/own", table.RatioTo, peers.NameMinimal, 0},
		{"contended-64x1/background", table.MinFairness, "", 0.9},
		{"contended-8x1/own", table.RatioTo, peers.NameXSync, 0.65},
		{"contended-8x1/shared", table.RatioTo, peers.NameChannel, 0.55},
		{"contended-64x1/own", table.RatioTo, peers.NameChannel, 0.75},
		{"yield-held-64x2/background", table.RatioTo, peers.NameXSync, 1},
		{"contended-8x1/shared", table.MinFairness, "", 0},
		{"contended-1000x1/background", table.RatioTo, peers.NameXSync, 0},
		{"yield-held-1000x2/own", table.RatioTo, peers.NameXSync, 0.9},
		{"yield-held-8x2/background", table.RatioTo, peers.NameChannel, 0.9},
		{"yield-held-64x2/shared", table.RatioTo, peers.NameRing, 1.5},
		{"contended-1000x1/own", table.Allocations, "", 0.01},
	} {
		i := slices.IndexFunc(Cells(), func(k Cell) bool { return k.String() == c.cell })
		if i < 0 {
			t.Fatalf("no cell %s", c.cell)
		}
		bound := 0.0
		if tg := TargetFor(Cells()[i], c.m, c.peer); tg != nil {
			bound = tg.Bound
		}
		if bound != c.bound {
			t.Errorf("%s, %s %s: bound %v, want %v", c.cell, c.m, c.peer, bound, c.bound)
		}
	}
}
