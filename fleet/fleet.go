package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
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

	// ErrLost means that this process could not renew its lease in time, or that somebody has
	// deleted what it had. Its permits must not be relied on.
	ErrLost = errors.New("farad: the fleet's permits are lost")
)

// The defaults of the options.
const (
	DefaultTTL    = 5 * time.Second
	DefaultTenure = 20 * time.Millisecond
)

// maxTTL is far below the point at which a sum of times overflows.
const maxTTL = 365 * 24 * time.Hour

// An Option changes how New joins a fleet.
type Option func(*Fleet)

// WithTTL sets for how long the store keeps this process's permits without hearing from it, in
// whole seconds. It is how long others wait for the permits of a process that died. After 4/5 of it
// without a renewal the process itself considers its permits lost. A store may keep them for
// longer. WithTTL panics if ttl is less than a second, or more than 365 days.
func WithTTL(ttl time.Duration) Option {
	if ttl < time.Second || ttl > maxTTL {
		panic("fleet: WithTTL(" + ttl.String() + "): at least a second, and at most 365 days")
	}
	return func(f *Fleet) { f.ttl = (ttl + time.Second - 1).Truncate(time.Second) }
}

// WithTenure sets for how long this process keeps a block of permits that others wait for, and
// hands it on to its own goroutines. A longer tenure means fewer round trips, and longer waits for
// the others. With 0 a block is used once. With the longest duration it is kept for as long as this
// process uses it. In a line of many processes it gets longer: by a factor of blocks that are held,
// times processes that wait, ÷ 80. WithTenure panics if tenure is negative.
func WithTenure(tenure time.Duration) Option {
	if tenure < 0 {
		panic("fleet: negative tenure")
	}
	return func(f *Fleet) { f.tenure = tenure }
}

// WithName sets the name by which others know this process: of a leader the address at which it can
// be reached, say. Without it that is host and process number. Nothing depends on names: two
// processes may have the same.
func WithName(name string) Option { return func(f *Fleet) { f.name = name } }

// A Fleet is this process's membership in a fleet: one lease for all of its permits.
//
// If the lease cannot be renewed in time all permits that the process holds are lost, and a new
// lease is asked for. Requests that wait go on waiting, and are granted under the new one.
type Fleet struct {
	store       store.Store
	ttl, tenure time.Duration
	name        string // "": host and process number
	patience    *patience
	writes      *patience // of transactions: how long an answer takes

	session atomic.Pointer[session] // the newest
	ctx     context.Context         // of all goroutines of the membership
	stop    context.CancelFunc
	kept    chan struct{} // closed when the goroutine that renews the lease has ended
	feed    *feed         // of all lines
	turns   chan struct{} // has one for each request of a line that is under way

	abandoned sync.Once // a Close gave up: a goroutine has to close Lost in time

	numbers atomic.Int64 // of entries; none is used twice
	age     atomic.Int64 // how often the servers have gone back to an older revision

	names atomic.Pointer[map[int64]string] // of processes, by their leases, as they were last asked for

	mu      sync.Mutex
	drivers map[string]*driver // the newest of each line
	keyed   map[string]*Keyed  // that are open
	earlier []*driver          // that are closed and not done, of lines that were opened again
	closing bool
}

// New joins the fleet whose processes share a store, as that of fleet/etcd or fleet/postgres. New
// waits for the first lease, until ctx is done. It fails at once if the store answers, but takes
// more than a third of the TTL for it: such a lease could not be kept. The store must stay usable
// until Close has returned.
func New(ctx context.Context, s store.Store, opts ...Option) (*Fleet, error) {
	if s == nil {
		panic("fleet: New without a store")
	}
	f := &Fleet{
		store: s, ttl: DefaultTTL, tenure: DefaultTenure,
		kept: make(chan struct{}), turns: make(chan struct{}, mostRequests), drivers: make(map[string]*driver),
		keyed: make(map[string]*Keyed),
	}
	for _, opt := range opts {
		if opt == nil {
			panic("fleet: nil option")
		}
		opt(f)
	}
	f.patience, f.writes = newPatience(f.ttl), newPatience(f.ttl)
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.feed = newFeed(f, s)
	if err := f.join(ctx); err != nil {
		f.stop()
		return nil, err
	}
	go f.keep()
	go f.feed.run(f.ctx)
	return f, nil
}

// A member is what others may know of a process: who has a session.
type member struct {
	Name  string    `json:"name,omitempty"` // as it calls itself
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// answerWithin is for how long the answer of a server is waited for.
func (f *Fleet) answerWithin() time.Duration { return f.patience.limit() }

// ask makes a request, and makes it again while no server answers in time, until ctx is done.
func (f *Fleet) ask(ctx context.Context, request func(context.Context) error) error {
	return f.patience.ask(ctx, request)
}

// look is how often a wait for the end of a session looks at the clocks: often enough that after a
// suspend a holder has most of the margin left.
func (f *Fleet) look() time.Duration { return min(f.ttl/40, 250*time.Millisecond) }

// askRefusedAfter is for how long nothing is asked after a refusal.
func (f *Fleet) askRefusedAfter() time.Duration { return askRefusedAfter(f.ttl) }

func askRefusedAfter(ttl time.Duration) time.Duration { return min(ttl/4, 5*time.Second) }

// joinTries is how often a lease is asked for that is over before it is ours, as one may be for
// which the connection had to be made first.
const joinTries = 3

// join gets a lease. It fails if the servers are so far away that the lease could not be kept.
func (f *Fleet) join(ctx context.Context) error {
	nearest := time.Duration(math.MaxInt64)
	for range joinTries {
		s, trip, err := f.grant(ctx)
		if err != nil {
			return fmt.Errorf("fleet: join %s: %w", f.store, err)
		}
		nearest = min(nearest, trip)
		if s.valid() && nearest <= f.ttl/farthest {
			f.enter(s)
			return nil
		}
		f.giveUp(ctx, s.lease)
	}
	return fmt.Errorf(
		"fleet: join %s: it answers after %v: that is too long for a TTL of %v, which must be %d times as long",
		f.store,
		nearest.Round(time.Millisecond),
		f.ttl,
		farthest,
	)
}

// farthest says how far away servers may be: a TTL must be as many round trips. A session lasts for
// 4/5 of the TTL, and is renewed after 1/3. So a renewal has 7/15 of it to come back.
const farthest = 3

// grant gets a lease and has others know whose it is. It returns how long an answer took.
func (f *Fleet) grant(ctx context.Context) (s *session, trip time.Duration, err error) {
	var sent clock.Instant
	var lease int64
	var lasts time.Duration
	err = f.ask(ctx, func(ctx context.Context) (err error) {
		sent = clock.Now()
		lease, lasts, err = f.store.Grant(ctx, f.ttl)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	trip = time.Duration(clock.Now().Mono - sent.Mono)
	s = newSession(lease, sent, min(f.ttl, lasts))
	var renewal sync.WaitGroup
	if trip > f.ttl/10 { // a renewal that waited for the next answer might be too late
		renewal.Go(func() { f.renewAtOnce(ctx, s) })
	}
	defer renewal.Wait()
	host, _ := os.Hostname()
	who, err := json.Marshal(member{f.name, host, os.Getpid(), time.Now().UTC()})
	if err != nil {
		return nil, 0, err
	}
	s.who = string(who)
	err = f.ask(ctx, func(ctx context.Context) error {
		sent = clock.Now()
		epoch, err := f.store.Begin(ctx, s.stored())
		s.reach(epoch)
		return err
	})
	if err != nil {
		f.giveUp(ctx, lease)
		return nil, 0, err
	}
	return s, min(trip, time.Duration(clock.Now().Mono-sent.Mono)), nil
}

// renewAtOnce renews s once, if that can be done in time.
func (f *Fleet) renewAtOnce(ctx context.Context, s *session) {
	ctx, cancel := context.WithTimeout(ctx, s.left())
	defer cancel()
	sent := clock.Now()
	if lasts, _, err := f.store.Renew(ctx, s.lease); err == nil {
		s.renew(sent, min(f.ttl, lasts))
	}
}

// giveUp ends a lease that nobody uses: otherwise leases pile up while requests for one fail.
func (f *Fleet) giveUp(ctx context.Context, lease int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.answerWithin())
	defer cancel()
	_ = f.store.Revoke(ctx, lease)
}

// enter makes s the session of the membership.
func (f *Fleet) enter(s *session) {
	f.session.Store(s)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.drivers {
		d.wake()
	}
}

// keep renews the lease, and gets another one when it is lost.
func (f *Fleet) keep() {
	defer close(f.kept)
	for f.ctx.Err() == nil {
		s := f.session.Load()
		r := newRenewer(f, s)
		r.keep()
		if f.ctx.Err() == nil {
			f.lost(s)
		}
		r.close()
		for f.ctx.Err() == nil {
			ctx, cancel := context.WithTimeout(f.ctx, 3*f.answerWithin())
			err := f.join(ctx)
			cancel()
			if err == nil {
				break
			}
			for _, d := range f.running() {
				d.tellRefusal(denial{err, false})
			}
			pause(f.ctx, retryAfter(err, f.askRefusedAfter()))
		}
	}
}

// awaitLoss ends s when its time has run out, once nobody renews it.
func (f *Fleet) awaitLoss(s *session) {
	look := time.NewTicker(f.look())
	defer look.Stop()
	for s.valid() {
		select {
		case <-look.C:
		case <-s.lost:
		}
	}
	f.lost(s)
}

// lost ends the session s and the tenancies that rely on it.
func (f *Fleet) lost(s *session) {
	s.lose()
	for _, d := range f.running() { // without f.mu: turn wakes waiters
		d.turn(func(t *tenancy) bool { return t.session.Load() == s })
	}
}

// running returns the drivers.
func (f *Fleet) running() []*driver {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(slices.Collect(maps.Values(f.drivers)), f.earlier...)
}

// number returns the number of an entry.
func (f *Fleet) number() int64 { return f.numbers.Add(1) }

// open returns the driver of a line, which it starts if need be.
func (f *Fleet) open(ctx context.Context, kind, name string, size int64) (*driver, error) {
	if name == "" {
		return nil, errors.New("fleet: a " + kind + " needs a name")
	}
	if d, err := f.opened(kind, name); d != nil || err != nil {
		return d, err
	}
	r := newRemote(f, kind, name)
	age := f.age.Load()
	first, err := f.first(ctx, r, kind, name, size)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.openLocked(kind, name, size, r, first, age)
}

// first makes a line with a size, unless there is one, and returns it.
func (f *Fleet) first(ctx context.Context, r *remote, kind, name string, size int64) (st store.State, err error) {
	err = f.ask(ctx, func(ctx context.Context) (err error) {
		st, err = r.create(ctx, size)
		return err
	})
	if err != nil {
		return st, fmt.Errorf("fleet: %s %s: %w", kind, strconv.Quote(name), err)
	}
	return st, nil
}

// openLocked returns the driver of a line that was read as first, when the servers had gone back
// age times.
func (f *Fleet) openLocked(
	kind, name string, size int64, r *remote, first store.State, age int64,
) (*driver, error) {
	if f.closing {
		return nil, ErrClosed
	}
	prev := f.drivers[kind+"/"+name]
	if prev != nil && !prev.closed.Load() {
		return prev, nil
	}
	if prev != nil {
		f.earlier = append(f.earlier, prev)
	}
	d := newDriver(f, kind, name, size, r, first)
	d.prev, d.age, d.loop.unread = prev, age, kind == kindKeyed
	f.drivers[kind+"/"+name] = d
	f.feed.join(d, known{age, first.Rev}) // and d looks for the first time
	return d, nil
}

// ended forgets a driver that is done.
func (f *Fleet) ended(d *driver) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing { // Close asks how it has ended
		return
	}
	if name := d.kind + "/" + d.name; f.drivers[name] == d {
		delete(f.drivers, name)
	}
	f.earlier = slices.DeleteFunc(f.earlier, func(e *driver) bool { return e == d })
}

// wakeNext wakes the driver that waits for d to ask for no more, if there is one.
func (f *Fleet) wakeNext(d *driver) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range append(slices.Clone(f.earlier), f.drivers[d.kind+"/"+d.name]) {
		if o != nil && o != d && o.kind == d.kind && o.name == d.name {
			o.wake()
		}
	}
}

// opened returns the driver of a line if it is open.
func (f *Fleet) opened(kind, name string) (*driver, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return nil, ErrClosed
	}
	if d := f.drivers[kind+"/"+name]; d != nil && !d.closed.Load() {
		return d, nil
	}
	return nil, nil
}

// awaitEnd waits until all goroutines of the membership have ended, once Close asked them to: after
// Close nothing of it uses the store. A store ends a call soon after its context. If it does not,
// awaitEnd gives up after a time.
func (f *Fleet) awaitEnd(all []*driver) {
	late, cancel := context.WithTimeout(context.Background(), f.ttl)
	defer cancel()
	ends := []<-chan struct{}{f.kept, f.feed.done}
	for _, d := range all {
		d.wake()
		ends = append(ends, d.done)
	}
	for _, end := range ends {
		select {
		case <-end:
		case <-late.Done():
		}
	}
}

// Close closes everything that was opened by way of f, waits until all permits are released, and
// gives up the lease. If ctx is done before, Close returns its error and stops renewing the lease:
// what is still held is lost when its time has run out, and returned when the lease ends. A later
// Close waits for the loss. If the store refuses this process to return what nobody holds, Close
// returns its error, and the lease returns it.
func (f *Fleet) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closing = true
	all := append(slices.Collect(maps.Values(f.drivers)), f.earlier...)
	f.mu.Unlock()
	for _, d := range all {
		d.close()
	}
	gaveUp := false // here or in another Close
	for _, d := range all {
		select {
		case <-d.done:
		case <-d.returned:
		case <-ctx.Done():
		}
		gaveUp = gaveUp || !isClosed(d.returned)
	}
	f.stop()
	f.awaitEnd(all)
	s := f.session.Load()
	if gaveUp { // the holders still run: the lease must outlast the session
		f.abandoned.Do(func() { go f.awaitLoss(s) })
		select {
		case <-s.lost:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.lost(s)
	err := f.ask(ctx, func(ctx context.Context) error { return f.store.Revoke(ctx, s.lease) })
	if errors.Is(err, store.ErrEnded) {
		err = nil
	}
	return err
}
