package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/waiter"
)

// The errors of an acquire, besides those of its context.
var (
	ErrClosed   = waiter.ErrClosed   // the semaphore, or the membership, has been closed
	ErrTooLarge = waiter.ErrTooLarge // the request is for more permits than the fleet has
	ErrPending  = waiter.ErrPending  // a future's request has no outcome yet

	// ErrBusy is what a try returns, as [Semaphore.TryAcquirePermit], if the permits are not free:
	// other goroutines, of this process or another, hold them or wait for them.
	ErrBusy = errors.New("farad: the fleet's permits are in use")

	// ErrLost means that this process could not renew its lease in time, or that somebody has
	// deleted what it had. Its permits must not be relied on.
	ErrLost = errors.New("farad: the fleet's permits are lost")
)

// A membership is what the parts of a [Fleet] share.
type membership struct {
	store       store.Store
	ttl, tenure time.Duration
	name        string // "": host and process number
	patience    *patience
	writes      *patience // of transactions: how long an answer takes

	session atomic.Pointer[session] // the newest
	ctx     context.Context         // of all goroutines of the membership
	stop    context.CancelFunc
	turns   chan struct{} // has one for each request of a line that is under way
	lines   lines         // that rely on the sessions

	numbers atomic.Int64 // of entries; none is used twice
	age     atomic.Int64 // how often the servers have gone back to an older revision

	names atomic.Pointer[map[int64]string] // of processes, by their leases, as they were last asked for
}

// Lines are all that a process has opened.
type lines interface {
	lose(s *session) // ends the tenancies that rely on s
	beginAgain()     // the servers have gone back
}

// A member is what others may know of a process: who has a session.
type member struct {
	Name  string    `json:"name,omitempty"` // as it calls itself
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// look is how often a wait for the end of a session looks at the clocks: often enough that after a
// suspend a holder has most of the margin left.
func (m *membership) look() time.Duration { return min(m.ttl/40, 250*time.Millisecond) }

// isRefusal reports whether the store has understood a request and says that this process must not
// make it. Nothing of the request was done, or will be.
func isRefusal(err error) bool { return errors.Is(err, store.ErrRefused) }

// askRefusedAfter is for how long nothing is asked after a refusal.
func (m *membership) askRefusedAfter() time.Duration { return min(m.ttl/4, 5*time.Second) }

// retryAfter is how long to wait after an error of the server before it is asked again.
func (m *membership) retryAfter(err error) time.Duration {
	if isRefusal(err) {
		return m.askRefusedAfter()
	}
	return 50 * time.Millisecond
}

// joinTries is how often a lease is asked for if the servers seem to be too far away. The first may
// have had to wait for the connection.
const joinTries = 3

// join gets a lease. It fails if the servers are so far away that the lease could not be kept. From
// servers that are near it asks for another one if that is over before it is ours.
func (m *membership) join(ctx context.Context) (*session, error) {
	nearest := time.Duration(math.MaxInt64)
	for try := 0; try < joinTries || nearest <= m.ttl/farthest; try++ {
		s, trip, err := m.grant(ctx)
		nearest = min(nearest, trip)
		switch {
		case errors.Is(err, store.ErrEnded):
		case err != nil:
			return nil, fmt.Errorf("fleet: join %s: %w", m.store, err)
		case s.valid() && nearest <= m.ttl/farthest:
			return s, nil
		default:
			m.giveUp(ctx, s.lease)
		}
	}
	return nil, fmt.Errorf("fleet: join %s: it answers after %v: "+
		"that is too long for a TTL of %v, which must be %d times as long",
		m.store, nearest.Round(time.Millisecond), m.ttl, farthest)
}

// farthest says how far away servers may be: a TTL must be as many round trips. A session lasts for
// 4/5 of the TTL, and is renewed after 1/3. So a renewal has 7/15 of it to come back.
const farthest = 3

// grant gets a lease and has others know whose it is. It returns how long an answer took.
func (m *membership) grant(ctx context.Context) (_ *session, trip time.Duration, err error) {
	var sent clock.Instant
	var lease int64
	var lasts time.Duration
	err = m.patience.ask(ctx, func(ctx context.Context) (err error) {
		sent = clock.Now()
		lease, lasts, err = m.store.Grant(ctx, m.ttl)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	trip = time.Duration(clock.Now().Mono - sent.Mono)
	s := newSession(lease, sent, min(m.ttl, lasts)) // no result: the renewal has it, too
	var renewal sync.WaitGroup
	if trip > m.ttl/10 { // a renewal that waited for the next answer might be too late
		renewal.Go(func() { m.renewAtOnce(ctx, s) })
	}
	defer renewal.Wait()
	host, _ := os.Hostname()
	who, err := json.Marshal(member{m.name, host, os.Getpid(), time.Now().UTC()})
	if err != nil {
		return nil, 0, err
	}
	s.who = string(who)
	err = m.patience.ask(ctx, func(ctx context.Context) error {
		sent = clock.Now()
		epoch, err := m.store.Begin(ctx, s.stored())
		s.reach(epoch)
		return err
	})
	if err != nil {
		m.giveUp(ctx, lease)
		return nil, trip, err
	}
	return s, min(trip, time.Duration(clock.Now().Mono-sent.Mono)), nil
}

// renewAtOnce renews s once, if that can be done in time.
func (m *membership) renewAtOnce(ctx context.Context, s *session) {
	ctx, cancel := context.WithTimeout(ctx, s.left())
	defer cancel()
	sent := clock.Now()
	if lasts, _, err := m.store.Renew(ctx, s.lease); err == nil {
		s.renew(sent, min(m.ttl, lasts))
	}
}

// giveUp ends a lease that nobody uses: otherwise leases pile up while requests for one fail.
func (m *membership) giveUp(ctx context.Context, lease int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), m.patience.limit())
	defer cancel()
	_ = m.store.Revoke(ctx, lease)
}

// members returns the processes of the fleet by their leases.
func (m *membership) members(ctx context.Context) (map[int64]string, error) {
	var all []store.Session
	err := m.patience.ask(ctx, func(ctx context.Context) (err error) {
		all, err = m.store.Sessions(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fleet: members: %w", err)
	}
	names := make(map[int64]string)
	for _, s := range all {
		var p member
		if json.Unmarshal([]byte(s.Who), &p) == nil {
			names[s.Lease] = cmp.Or(p.Name, fmt.Sprintf("%s/%d", p.Host, p.PID))
		}
	}
	m.names.Store(&names)
	return names, nil
}

// number returns the number of an entry.
func (m *membership) number() int64 { return m.numbers.Add(1) }

// lost ends the session s and the tenancies that rely on it.
func (m *membership) lost(s *session) {
	s.lose()
	m.lines.lose(s)
}

// wentBack is called by a line that has noticed, once for each time that the servers go back. All
// lines begin anew.
func (m *membership) wentBack(age int64) {
	if !m.age.CompareAndSwap(age, age+1) {
		return // another line has noticed
	}
	m.lost(m.session.Load())
	m.lines.beginAgain()
}
