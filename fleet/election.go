package fleet

import (
	"context"
	"iter"
)

// An Election has at most one of its candidates lead. Any goroutine of any process of the fleet is
// a candidate while it campaigns.
//
//	e, err := f.Election(ctx, "scheduler")
//	for {
//		term, err := e.Campaign(ctx)
//		if err != nil {
//			return err
//		}
//		schedule(fence.NewContext(term.Context(), term.Token())) // returns soon after its context
//		term.Release()
//	}
//
// It is a mutex of the fleet: candidates lead in the order in which their processes have asked, and
// what the package documentation says of permits is true of terms. A leader that was paused may
// still act after another one has begun: only a resource that checks the term's token refuses that.
type Election struct{ d *driver }

// Election returns the election of the fleet that has that name.
func (f *Fleet) Election(ctx context.Context, name string) (*Election, error) {
	d, err := f.open(ctx, kindElection, name, 1)
	if err != nil {
		return nil, err
	}
	return &Election{d}, nil
}

// Campaign waits until the caller leads, until ctx is done, or until e is closed. With an error the
// permit is nil. While the fleet's servers cannot be reached, Campaign waits. If they refuse this
// process what it needs, Campaign returns their error.
//
// The permit is the term: a Release resigns, and ends its Context. What works in the term must have
// stopped before.
func (e *Election) Campaign(ctx context.Context) (*Permit, error) {
	p, err := e.d.acquirePermit(ctx, 1)
	if err != nil {
		return nil, err
	}
	p.ctx, p.end = context.WithCancel(p.t.ctx)
	return p, nil
}

// Observe yields the block that leads, as far as this process knows, and then each other one that
// does. Between two leaders there may be a time without one: that is the zero Block. No block has
// its Tenure. A caller that is late gets the newest. The sequence ends when ctx is done or e is
// closed.
//
// It is news, and no proof: a leader that was lost is the leader for others until its lease ends.
// The watch of the process brings it; the store is asked once for each leader whose name is not
// known yet.
func (e *Election) Observe(ctx context.Context) iter.Seq[Block] {
	return func(yield func(Block) bool) {
		d := e.d
		last, first := Block{}, true
		for ctx.Err() == nil && !d.closed.Load() {
			l, changed := d.leader()
			if first || l.Lease != last.Lease {
				l.Process = d.fleet.nameOf(ctx, l.Lease)
				if ctx.Err() != nil || !yield(l) {
					return
				}
				last, first = l, false
			}
			select {
			case <-changed:
			case <-ctx.Done():
			case <-d.ended:
			case <-d.done:
				return
			}
		}
	}
}

func (e *Election) observable() (kind string, d *driver) {
	return kindElection, (*Semaphore)(e).behind()
}

// Close ends all campaigns and observations of this process, now and later, with ErrClosed. A term
// lasts until its permit is released.
func (e *Election) Close() { e.d.close() }

// leader returns the block that leads, without the name of its process, and a channel that is
// closed when the line is another.
func (d *driver) leader() (l Block, changed <-chan struct{}) {
	own := int64(0)
	if s := d.fleet.session.Load(); s != nil {
		own = s.lease
	}
	d.seen.Lock()
	defer d.seen.Unlock()
	for e, holds := range d.state.Holding {
		if holds {
			l = Block{
				Lease: e.Lease, Own: e.Lease == own, Permits: e.Weight, Holds: true,
				Since: d.sights[0].since,
			}
		}
		break
	}
	if d.changed == nil {
		d.changed = make(chan struct{})
	}
	return l, d.changed
}

// nameOf returns the name of a process. It asks the store if the process is not known yet.
func (m *membership) nameOf(ctx context.Context, lease int64) string {
	if lease == 0 {
		return ""
	}
	if known := m.names.Load(); known != nil && (*known)[lease] != "" {
		return (*known)[lease]
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	names, _ := m.members(ctx) // after an error nobody has said
	return names[lease]
}
