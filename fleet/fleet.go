package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/internal/line"
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

// WithTTL sets for how long etcd keeps this process's permits without hearing from it, in whole
// seconds. It is how long others wait for the permits of a process that died. After 4/5 of it
// without a renewal the process itself considers its permits lost. etcd grants no less than one and
// a half election timeouts: 2 s if that is 1 s. WithTTL panics if ttl is less than a second, or
// more than 365 days.
func WithTTL(ttl time.Duration) Option {
	if ttl < time.Second || ttl > maxTTL {
		panic("fleet: WithTTL(" + ttl.String() + "): at least a second, and at most 365 days")
	}
	return func(f *Fleet) { f.ttl = (ttl + time.Second - 1).Truncate(time.Second) }
}

// WithTenure sets for how long this process keeps a block of permits that others wait for, and
// hands it on to its own goroutines. A longer tenure means fewer round trips, and longer waits for
// the others. With 0 a block is used once. With the longest duration it is kept for as long as this
// process uses it. WithTenure panics if tenure is negative.
func WithTenure(tenure time.Duration) Option {
	if tenure < 0 {
		panic("fleet: negative tenure")
	}
	return func(f *Fleet) { f.tenure = tenure }
}

// A Fleet is this process's membership in a fleet: one lease for all of its permits.
//
// If the lease cannot be renewed in time all permits that the process holds are lost, and a new
// lease is asked for. Requests that wait go on waiting, and are granted under the new one.
type Fleet struct {
	client      *clientv3.Client
	namespace   string
	ttl, tenure time.Duration

	session atomic.Pointer[session] // the newest
	ctx     context.Context         // of all goroutines of the membership
	stop    context.CancelFunc
	kept    chan struct{} // closed when the goroutine that renews the lease has ended
	feed    *feed         // of all lines
	turns   chan struct{} // has one for each request of a line that is under way

	names atomic.Pointer[map[int64]string] // of processes, by their leases, as they were last asked for

	mu      sync.Mutex
	drivers map[string]*driver
	closing bool
}

// New joins the fleet that uses namespace. All keys begin with the namespace and a slash. New waits
// for the first lease, until ctx is done. The client remains the caller's: its endpoints,
// authentication and TLS are used as they are. It must stay open until Close has returned.
func New(ctx context.Context, client *clientv3.Client, namespace string, opts ...Option) (*Fleet, error) {
	namespace = strings.TrimRight(namespace, "/")
	if client == nil || namespace == "" {
		panic("fleet: New without a client or a namespace")
	}
	f := &Fleet{
		client: client, namespace: namespace, ttl: DefaultTTL, tenure: DefaultTenure,
		kept: make(chan struct{}), turns: make(chan struct{}, mostRequests), drivers: make(map[string]*driver),
	}
	for _, opt := range opts {
		if opt == nil {
			panic("fleet: nil option")
		}
		opt(f)
	}
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.feed = newFeed(client, namespace, f.ttl, f.answerWithin())
	if err := f.join(ctx); err != nil {
		f.stop()
		return nil, err
	}
	go f.keep()
	go f.feed.run(f.ctx)
	return f, nil
}

// A member is what others may know of a process: the value of <namespace>/member/<lease>.
type member struct {
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Since time.Time `json:"since"`
}

// answerWithin is for how long the answer of a server is waited for. The client asks another one
// the next time. A server that hangs must not delay us until the lease ends.
func (f *Fleet) answerWithin() time.Duration { return f.ttl / 4 }

// ask makes a request, and makes it again while no server answers in time, until ctx is done. So
// what follows it does not depend on which server it happens to meet: the client asks them in turn,
// and who begins again from the start may meet the same one at the same point for ever.
func (f *Fleet) ask(ctx context.Context, request func(context.Context) error) error {
	for {
		once, cancel := context.WithTimeout(ctx, f.answerWithin())
		err := request(once)
		late := once.Err() != nil
		cancel()
		if err == nil || !late || ctx.Err() != nil {
			return err
		}
	}
}

// join gets a lease.
func (f *Fleet) join(ctx context.Context) error {
	var sent clock.Instant
	var r *clientv3.LeaseGrantResponse
	err := f.ask(ctx, func(ctx context.Context) (err error) {
		sent = clock.Now()
		r, err = f.client.Grant(ctx, int64(f.ttl/time.Second))
		return err
	})
	if err != nil {
		return fmt.Errorf("fleet: join %s: %w", f.namespace, err)
	}
	host, _ := os.Hostname()
	who, err := json.Marshal(member{host, os.Getpid(), time.Now().UTC()})
	if err != nil {
		return err
	}
	key := f.namespace + "/member/" + fmt.Sprintf("%016x", uint64(r.ID))
	err = f.ask(ctx, func(ctx context.Context) error {
		_, err := f.client.Put(ctx, key, string(who), clientv3.WithLease(r.ID))
		return err
	})
	if err != nil {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.answerWithin())
		defer cancel()
		_, _ = f.client.Revoke(after, r.ID) // otherwise leases pile up while this goes on
		return fmt.Errorf("fleet: join %s: put %s: %w", f.namespace, key, err)
	}
	f.session.Store(newSession(r.ID, sent, min(f.ttl, time.Duration(r.TTL)*time.Second)))
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.drivers {
		d.wake()
	}
	return nil
}

// keep renews the lease, and gets another one when it is lost.
func (f *Fleet) keep() {
	defer close(f.kept)
	for f.ctx.Err() == nil {
		s := f.session.Load()
		for s.valid() && f.ctx.Err() == nil {
			f.renew(s)
		}
		if f.ctx.Err() != nil {
			return
		}
		f.lost(s)
		for f.ctx.Err() == nil {
			ctx, cancel := context.WithTimeout(f.ctx, 3*f.answerWithin())
			err := f.join(ctx)
			cancel()
			if err == nil {
				break
			}
			for _, d := range f.running() {
				d.tellRefusal(err)
			}
			pause(f.ctx, retryAfter(err, f.answerWithin()))
		}
	}
}

// renew waits until a renewal of s is due, and tries until one succeeds or s is lost.
func (f *Fleet) renew(s *session) {
	// A timer stands still while the machine is suspended, and does not follow the wall clock. So
	// the clocks are looked at often: it is here that holders who only wait for Lost are told.
	look := time.NewTicker(f.ttl / 20)
	defer look.Stop()
	for due := clock.Now().Mono + int64(f.ttl/3); s.valid() && clock.Now().Mono < due; {
		select {
		case <-look.C:
		case <-s.lost:
			return
		case <-f.ctx.Done():
			return
		}
	}
	for s.valid() && f.ctx.Err() == nil {
		sent := clock.Now()
		ctx, cancel := context.WithTimeout(f.ctx, min(s.left(), f.ttl/6))
		r, err := f.client.KeepAliveOnce(ctx, s.lease)
		cancel()
		switch {
		case err == nil && r.TTL > 0:
			s.renew(sent, min(f.ttl, time.Duration(r.TTL)*time.Second))
			f.feed.heard(r.GetRevision())
			return
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			f.lost(s)
		default:
			pause(f.ctx, min(retryAfter(err, f.answerWithin()), s.left()))
		}
	}
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
	return slices.Collect(maps.Values(f.drivers))
}

// open returns the driver of a line, which it starts if need be.
func (f *Fleet) open(ctx context.Context, kind, name string, size int64) (*driver, error) {
	if name == "" {
		return nil, errors.New("fleet: a " + kind + " needs a name")
	}
	switch d, err := f.opened(kind, name); {
	case err != nil:
		return nil, err
	case d == nil:
	case !isClosed(d.returned):
		return d, nil
	default: // it only waits for what may be applied late; another driver can do that
		d.quit()
		<-d.done
	}
	st := newStore(f.client, f.namespace, kind, name, f.answerWithin(), f.turns)
	var first line.State
	err := f.ask(ctx, func(ctx context.Context) (err error) {
		first, err = st.create(ctx, size)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fleet: %s %s: %w", kind, strconv.Quote(name), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return nil, ErrClosed
	}
	if d := f.drivers[kind+"/"+name]; d != nil && !isClosed(d.done) {
		return d, nil
	}
	d := newDriver(f, kind, name, st, first)
	f.drivers[kind+"/"+name] = d
	f.feed.join(d, first.Rev) // and d looks for the first time
	return d, nil
}

// ended is told that a driver has ended.
func (f *Fleet) ended(d *driver) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if k := d.kind + "/" + d.name; f.drivers[k] == d && !f.closing { // Close asks how it has ended
		delete(f.drivers, k)
	}
}

// opened returns the driver of a line if it runs. One that is being closed keeps its name until
// everything is returned.
func (f *Fleet) opened(kind, name string) (*driver, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing {
		return nil, ErrClosed
	}
	return f.drivers[kind+"/"+name], nil
}

// awaitEnd waits until all goroutines of the membership have ended, once they were told to: after
// Close nothing of it uses the client. The client ends a call soon after its context. If it does
// not, awaitEnd gives up after a time.
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
// Close waits for the loss. If etcd refuses this process to return what nobody holds, Close returns
// its error, and the lease returns it.
func (f *Fleet) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closing = true
	all := slices.Collect(maps.Values(f.drivers))
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
		time.AfterFunc(s.left(), func() { f.lost(s) })
		select {
		case <-s.lost:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.lost(s)
	err := f.ask(ctx, func(ctx context.Context) error {
		_, err := f.client.Revoke(ctx, s.lease)
		return err
	})
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		err = nil
	}
	return err
}
