package memstore

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/store"
)

// A Store is how one process reaches a server. The zero value of its switches has no faults.
type Store struct {
	source
	server *Server

	mu      sync.Mutex
	trip    time.Duration // a round trip
	back    time.Duration // what an answer takes in addition
	hook    func(ctx context.Context, request string) error
	allowed func(line string) bool
	asked   map[string]int
	going   map[string]int
	watches int            // that were begun
	hung    int            // watches that began up to this one hang
	open    map[string]int // watches, by line; "": of all
	signs   int            // of life that watches were asked for
}

// Connect returns a way to the server, at a distance.
func (s *Server) Connect(trip time.Duration) *Store {
	c := &Store{
		server: s, trip: trip, asked: make(map[string]int), going: make(map[string]int),
		open: make(map[string]int), allowed: func(string) bool { return true },
	}
	c.source = source{store: c}
	return c
}

// On has requests pass hook from now on, before they are sent. An error is the answer. The requests
// are grant, begin, renew, revoke, sessions, read, txn, revision and watch.
func (c *Store) On(hook func(ctx context.Context, request string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hook = hook
}

// Hang is a hook: requests of that name have no answer.
func Hang(names ...string) func(context.Context, string) error {
	return func(ctx context.Context, request string) error {
		if slices.Contains(names, request) {
			<-ctx.Done()
		}
		return ctx.Err()
	}
}

// Refuse is a hook: requests of that name are refused.
func Refuse(names ...string) func(context.Context, string) error {
	return func(_ context.Context, request string) error {
		if slices.Contains(names, request) {
			return store.ErrRefused
		}
		return nil
	}
}

// Move has answers take trip and back from now on.
func (c *Store) Move(trip, back time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trip, c.back = trip, back
}

// Allow has the process see only some lines. That of all is "".
func (c *Store) Allow(allowed func(line string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.allowed = allowed
}

// HangWatches has the watches hang that there are now.
func (c *Store) HangWatches() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hung = c.watches
}

// Asked returns how often a request was made.
func (c *Store) Asked(request string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[request]
}

// Going returns how many requests of a name are under way.
func (c *Store) Going(request string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.going[request]
}

// Open returns how many watches there are of a line, or of all.
func (c *Store) Open(line string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open[line]
}

// Signs returns how often a watch was asked for a sign of life.
func (c *Store) Signs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.signs
}

// travel waits for d.
func travel(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (c *Store) distance() (trip, back time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trip, c.back
}

// admit counts a request and passes the hook. It reports whether the process may see the line.
func (c *Store) admit(ctx context.Context, request, line string) (allowed bool, err error) {
	c.mu.Lock()
	hook, allowed := c.hook, line == unseen || c.allowed(line)
	c.asked[request]++
	c.mu.Unlock()
	if hook != nil {
		if err := hook(ctx, request); err != nil {
			return false, err
		}
	}
	return allowed, nil
}

// unseen is the line of requests that show none.
const unseen = "none"

// ask takes a request to the server, does it there, and brings the answer back.
func (c *Store) ask(ctx context.Context, request, line string, do func() error) error {
	c.count(request, 1)
	defer c.count(request, -1)
	allowed, err := c.admit(ctx, request, line)
	if err != nil {
		return err
	}
	trip, back := c.distance()
	if err := travel(ctx, trip/2); err != nil {
		return err
	}
	if err = store.ErrRefused; allowed {
		c.server.mu.Lock()
		err = do()
		c.server.mu.Unlock()
	}
	if lost := travel(ctx, trip/2+back); lost != nil {
		return lost
	}
	return err
}

func (c *Store) count(request string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.going[request] += n
}

func (c *Store) String() string { return "memory" }

// Line returns a line.
func (c *Store) Line(kind, name string) store.Line {
	id := ID(kind, name)
	return &line{source: source{c, id}, server: c.server}
}

// Grant makes a lease.
func (c *Store) Grant(ctx context.Context, ttl time.Duration) (lease int64, lasts time.Duration, err error) {
	err = c.ask(ctx, "grant", unseen, func() error {
		lease = c.server.grant(ttl)
		return nil
	})
	return lease, ttl, err
}

// Begin makes a lease a session.
func (c *Store) Begin(ctx context.Context, s store.Session) (epoch int64, err error) {
	err = c.ask(ctx, "begin", unseen, func() (err error) {
		epoch, err = c.server.raise(s)
		return err
	})
	return epoch, err
}

// raise begins an epoch. The lock is held.
func (s *Server) raise(o store.Session) (epoch int64, err error) {
	l := s.leases[o.Lease]
	if l == nil {
		return 0, store.ErrEnded
	}
	s.change()
	l.who, l.epoch = o.Who, s.now.rev
	return l.epoch, nil
}

// Renew renews a lease.
func (c *Store) Renew(ctx context.Context, lease int64) (lasts time.Duration, rev int64, err error) {
	err = c.ask(ctx, "renew", unseen, func() error {
		l := c.server.leases[lease]
		if l == nil {
			return store.ErrEnded
		}
		l.ends.Reset(l.lasts)
		lasts, rev = l.lasts, c.server.now.rev
		return nil
	})
	return lasts, rev, err
}

// Revoke ends a lease.
func (c *Store) Revoke(ctx context.Context, lease int64) error {
	return c.ask(ctx, "revoke", unseen, func() error {
		if c.server.leases[lease] == nil {
			return store.ErrEnded
		}
		c.server.end(lease)
		return nil
	})
}

// Sessions returns the sessions.
func (c *Store) Sessions(ctx context.Context) (all []store.Session, err error) {
	err = c.ask(ctx, "sessions", unseen, func() error {
		for id, l := range c.server.leases {
			if l.epoch > 0 {
				all = append(all, store.Session{Lease: id, Who: l.who})
			}
		}
		return nil
	})
	return all, err
}

// Ways returns as many as etcd's client has without roads.
func (c *Store) Ways() []string { return make([]string, 16) }

// Way returns the one that there is.
func (c *Store) Way(string) store.Way { return way{c} }

type way struct{ store.Renewer }

func (way) Prepare() {}
func (way) Close()   {}
