package order

import "maps"

// Tenants finds the lanes of tenants. A map of Go keeps its memory when its entries go, so one that
// has shrunk is replaced.
type tenants struct {
	lanes map[any]*lane
	peak  int // the most entries that the map has had
}

const minTenants = 64

func (ts *tenants) add(l *lane) {
	if ts.lanes == nil {
		ts.lanes = map[any]*lane{}
	}
	ts.lanes[l.tenant] = l
	ts.peak = max(ts.peak, len(ts.lanes))
}

func (ts *tenants) remove(l *lane) {
	delete(ts.lanes, l.tenant)
	size := len(ts.lanes)
	if ts.peak <= minTenants || size > ts.peak/4 {
		return
	}
	smaller := make(map[any]*lane, size)
	maps.Copy(smaller, ts.lanes)
	ts.lanes, ts.peak = smaller, size
}
