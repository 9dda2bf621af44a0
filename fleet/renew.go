package fleet

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/store"
)

// Renewals, which keep permits alive, have ways of their own to the servers. So neither a server
// that hangs nor other requests of the process delay them.
//
// A renewal is due a third of the TTL after the last one was sent. It is asked for on the way that
// has answered last. If no answer comes within two round trips it is asked for on the next way as
// well, and so on, until one answers. None is given up before the session is over. So a session
// lasts while any server answers within 7/15 of the TTL, and the servers may be as far away.

// A way is one to the servers, and whether a renewal is under way on it.
type way struct {
	store.Way
	busy bool
}

// A renewal is what a request to renew has brought.
type renewal struct {
	way   *way
	sent  clock.Instant
	lasts time.Duration
	rev   int64 // that the server has
	err   error
}

// A renewer renews the lease of one session. Only the goroutine that keeps the session uses it.
type renewer struct {
	fleet   *membership
	feed    *feed // is passed the revisions of answers
	session *session
	names   []string // of the ways
	ways    []*way
	first   int           // the way that has answered last
	next    int           // the way that is asked next
	trip    time.Duration // how long an answer takes on a way; 0: not known

	last     int64 // when the renewal was sent that succeeded last, on the monotonic clock
	due      int64 // when to send the next one
	answered bool  // since it was due

	ctx      context.Context //nolint:containedctx // of the requests
	stop     context.CancelFunc
	requests sync.WaitGroup
	renewals chan renewal
}

func newRenewer(f *membership, fd *feed, s *session) *renewer {
	r := &renewer{
		fleet: f, feed: fd, session: s, trip: f.patience.roundTrip(), answered: true, last: s.began,
		renewals: make(chan renewal),
	}
	r.due = r.last + int64(f.ttl/3)
	r.ctx, r.stop = context.WithCancel(f.ctx)
	r.follow()
	return r
}

// follow has the ways that there are now.
func (r *renewer) follow() {
	names := r.fleet.store.Ways()
	if r.ways != nil && slices.Equal(names, r.names) {
		return
	}
	for _, w := range r.ways {
		if !w.busy {
			w.Close()
		}
	}
	r.names, r.ways = names, nil
	for _, name := range names {
		r.ways = append(r.ways, &way{Way: r.fleet.store.Way(name)})
	}
	r.first = rand.IntN(len(r.ways))
	r.next = r.first
	r.ways[r.first].Prepare()
}

// keep renews the session until it is over, or the membership ends. A timer stands still while the
// machine is suspended, and does not follow the wall clock. So the clocks are looked at often,
// whatever is under way: holders that only wait for Lost learn of the loss here.
func (r *renewer) keep() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.session.valid() {
		now := clock.Now().Mono
		if now >= r.due {
			r.ask()
			r.due = now + int64(r.patience())
		}
		timer.Reset(min(r.fleet.look(), time.Duration(r.due-now)))
		select {
		case <-timer.C:
		case got := <-r.renewals:
			if !r.took(got) {
				return
			}
		case <-r.session.lost:
			return
		case <-r.ctx.Done():
			return
		}
	}
}

// patience is for how long the answer of a way is waited for before the next way is asked as well.
func (r *renewer) patience() time.Duration {
	most := min(r.fleet.ttl/10, time.Second)
	if r.trip == 0 {
		return most
	}
	return min(most, max(50*time.Millisecond, 2*r.trip))
}

// ask asks for a renewal on the next way on which none is under way.
func (r *renewer) ask() {
	r.answered = false
	r.follow()
	for range r.ways {
		w := r.ways[r.next%len(r.ways)]
		r.next++
		if w.busy {
			continue
		}
		w.busy = true
		sent := clock.Now()
		r.requests.Go(func() {
			ctx, cancel := context.WithTimeout(r.ctx, r.session.left())
			defer cancel()
			lasts, rev, err := w.Renew(ctx, r.session.lease)
			select {
			case r.renewals <- renewal{w, sent, lasts, rev, err}:
			case <-r.ctx.Done():
			}
		})
		return
	}
}

// took takes what a request has brought, and reports whether the session goes on.
func (r *renewer) took(got renewal) bool {
	got.way.busy = false
	i := slices.Index(r.ways, got.way)
	if i < 0 {
		got.way.Close()
	}
	now := clock.Now().Mono
	switch {
	case errors.Is(got.err, store.ErrEnded):
		return false
	case got.err == nil:
		if !r.session.renew(got.sent, min(r.fleet.ttl, got.lasts)) {
			return false
		}
		if !r.answered && i >= 0 {
			r.first, r.trip = i, smooth(r.trip, time.Duration(now-got.sent.Mono))
		}
		r.answered = true
		r.feed.heard(got.rev)
		r.last = max(r.last, got.sent.Mono)
		r.due = r.last + int64(r.fleet.ttl/3)
		r.next = r.first
	case got.sent.Mono < r.last: // another way has answered since
	case isRefusal(got.err): // somebody may put that right before the session is over
		r.due = now + int64(r.fleet.ttl/10)
	default:
		r.due = min(r.due, now+int64(r.fleet.retryAfter(got.err)))
	}
	return true
}

// close ends all requests.
func (r *renewer) close() {
	r.stop()
	r.requests.Wait()
	for _, w := range r.ways {
		w.Close()
	}
}
