package order

// Tenants finds the lanes of tenants. A map of Go keeps its memory when its entries go. So when few
// are left of many, a new map takes over. Those of the old one move when they are looked for, and
// else stay until they are empty: to copy them at once would hold up all that wait for the lock.
type tenants struct {
	lanes map[any]*lane
	old   map[any]*lane // nil, or what is not in lanes yet
	peak  int           // the most entries that lanes has had
}

const minTenants = 64

// find returns the lane of a tenant, nil if it has none.
func (ts *tenants) find(tenant any) *lane {
	l := ts.lanes[tenant]
	if l == nil && ts.old != nil {
		if l = ts.old[tenant]; l != nil {
			ts.forget(tenant)
			ts.add(l)
		}
	}
	return l
}

func (ts *tenants) add(l *lane) {
	if ts.lanes == nil {
		ts.lanes = map[any]*lane{}
	}
	ts.lanes[l.tenant] = l
	ts.peak = max(ts.peak, len(ts.lanes))
}

// forget takes a tenant out of the old map.
func (ts *tenants) forget(tenant any) {
	delete(ts.old, tenant)
	if len(ts.old) == 0 {
		ts.old = nil
	}
}

func (ts *tenants) remove(l *lane) {
	delete(ts.lanes, l.tenant)
	if ts.old != nil {
		ts.forget(l.tenant)
	}
	if ts.old == nil && ts.peak > minTenants && len(ts.lanes) <= ts.peak/4 {
		if len(ts.lanes) > 0 {
			ts.old = ts.lanes
		}
		ts.lanes, ts.peak = nil, 0
	}
}
