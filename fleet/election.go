package fleet

import (
	"context"
	"iter"

	"github.com/farad-go/farad/fleet/fence"
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
//		term.Resign()
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

// Campaign waits until the caller leads, until ctx is done, or until e is closed. With an error
// there is no term. While the fleet's servers cannot be reached, Campaign waits. If they refuse
// this process what it needs, Campaign returns their error.
func (e *Election) Campaign(ctx context.Context) (*Term, error) {
	p, err := e.d.acquirePermit(ctx, 1)
	if err != nil {
		return nil, err
	}
	t := &Term{p: p}
	t.ctx, t.end = context.WithCancel(p.Context())
	return t, nil
}

// A Term is the time for which a candidate leads: until it resigns, or loses what it has. Several
// goroutines may call its methods at a time.
type Term struct {
	p   *Permit
	ctx context.Context //nolint:containedctx // of who works in the term
	end context.CancelFunc
}

// Token returns what a resource must be shown so that it can refuse this leader once another one
// has come. The tokens of an election grow with every term.
func (t *Term) Token() fence.Token { return t.p.Token() }

// Context returns a context that ends with the term. After a loss that is by a fifth of the TTL
// before another candidate can lead, so that there is time to stop, and the cause is ErrLost.
func (t *Term) Context() context.Context { return t.ctx }

// Valid reports whether the term lasts and can be relied on at this moment. It looks at the clocks.
func (t *Term) Valid() bool { return t.p.Valid() }

// Resign ends the term, and its context, and has the next candidate lead. What works in the term
// must have stopped before. A second Resign does nothing. A term that was lost must be resigned as
// well: the process waits for that before it forgets it.
func (t *Term) Resign() {
	t.end()
	t.p.Release()
}

// A Leader is the process that leads. Without one it is the zero value.
type Leader struct {
	Process string // the name of the process (WithName), "" if the store does not say
	Lease   int64  // that of the tokens of its terms
	Own     bool   // it is this process
}

// Observe yields who leads, as far as this process knows, and then each other process that does.
// Between two leaders there may be a time without one. A caller that is late gets the newest. The
// sequence ends when ctx is done or e is closed.
//
// It is news, and no proof: a leader that was lost is the leader for others until its lease ends.
// The watch of the process brings it; the store is asked once for each leader whose name is not
// known yet.
func (e *Election) Observe(ctx context.Context) iter.Seq[Leader] {
	return func(yield func(Leader) bool) {
		d := e.d
		last, first := Leader{}, true
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
// lasts until it is resigned.
func (e *Election) Close() { e.d.close() }

// leader returns who leads, and a channel that is closed when the line is another.
func (d *driver) leader() (l Leader, changed <-chan struct{}) {
	own := int64(0)
	if s := d.fleet.session.Load(); s != nil {
		own = s.lease
	}
	d.seen.Lock()
	defer d.seen.Unlock()
	for e, holds := range d.state.Holding {
		if holds {
			l = Leader{Lease: e.Lease, Own: e.Lease == own}
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
