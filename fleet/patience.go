package fleet

import (
	"context"
	"sync"
	"time"
)

// A patience is for how long the answer to a request is waited for. The client sends requests to
// the servers in turn, and one that hangs must not keep us for long. But a server that is far away
// or busy must not be given up before it can have answered: what is asked again and again is never
// done then. So the limit is some of the times that answers take, and doubles while none comes.
type patience struct {
	least time.Duration
	whole *patience // what learns how long answers of all lines take, for new ones; nil: none

	mu    sync.Mutex
	trip  time.Duration // what an answer takes, lately; 0: there was none
	late  uint          // how often none came, in a row
	since time.Time     // of the last change of late
}

const (
	// leastPatience is a hundred times what servers nearby need, and half of what users notice.
	leastPatience = 500 * time.Millisecond

	tripsOfPatience = 4 // the limit, in round trips
	mostDoublings   = 3
)

// newPatience returns the patience of a membership with a TTL.
func newPatience(ttl time.Duration) *patience {
	return &patience{least: min(leastPatience, ttl/4)}
}

// limit returns for how long the answer to the next request is waited for.
func (p *patience) limit() time.Duration {
	least := time.Duration(0)
	if p.whole != nil {
		least = max(p.whole.least, tripsOfPatience*p.whole.roundTrip())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.least, tripsOfPatience*p.trip, least) << p.late
}

// roundTrip returns how long an answer takes, 0 if that is not known.
func (p *patience) roundTrip() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trip
}

// smooth returns how long answers take, from what was known, 0 if nothing was, and one more.
func smooth(known, took time.Duration) time.Duration {
	if known == 0 {
		return took
	}
	return known + (took-known)/4
}

// answered notes an answer to a request that was sent at a time.
func (p *patience) answered(sent time.Time) {
	took := max(1, time.Since(sent))
	if p.whole != nil {
		p.whole.learn(took)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trip = smooth(p.trip, took)
	p.late, p.since = 0, time.Now()
}

// learn notes how long an answer took.
func (p *patience) learn(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trip = smooth(p.trip, took)
}

// unanswered notes that no answer came. Of requests that were under way together only one counts:
// it may be one server that all of them asked.
func (p *patience) unanswered(sent time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.late < mostDoublings && !sent.Before(p.since) {
		p.late, p.since = p.late+1, time.Now()
	}
}

// once makes a request and gives it up after the limit. It reports whether that is why it failed.
func (p *patience) once(ctx context.Context, request func(context.Context) error) (late bool, err error) {
	sent, limit := time.Now(), p.limit()
	limited, cancel := context.WithDeadline(ctx, sent.Add(limit))
	defer cancel()
	err = request(limited)
	switch {
	case err == nil:
		p.answered(sent)
	case ctx.Err() == nil && time.Since(sent) >= limit: // a dial may notice that before the context does
		p.unanswered(sent)
		return true, err
	}
	return false, err
}

// ask makes a request, and makes it again while no server answers in time, until ctx is done. So
// what follows does not depend on which server is asked: the client asks them in turn, and a
// sequence that begins anew may ask the same one at the same point for ever.
func (p *patience) ask(ctx context.Context, request func(context.Context) error) error {
	for {
		late, err := p.once(ctx, request)
		if !late {
			return err
		}
	}
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
