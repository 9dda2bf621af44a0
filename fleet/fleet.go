package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/store"
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
	membership

	kept chan struct{} // closed when the goroutine that renews the lease has ended
	feed *feed         // of all lines

	abandoned sync.Once // a Close gave up: a goroutine has to close Lost in time

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
		membership: membership{
			store: s, ttl: DefaultTTL, tenure: DefaultTenure, turns: make(chan struct{}, mostRequests),
		},
		kept: make(chan struct{}), drivers: make(map[string]*driver), keyed: make(map[string]*Keyed),
	}
	f.lines = f
	for _, opt := range opts {
		if opt == nil {
			panic("fleet: nil option")
		}
		opt(f)
	}
	f.patience, f.writes = newPatience(f.ttl), newPatience(f.ttl)
	f.ctx, f.stop = context.WithCancel(context.Background())
	f.feed = newFeed(&f.membership, s)
	first, err := f.join(ctx)
	if err != nil {
		f.stop()
		return nil, err
	}
	f.session.Store(first)
	go f.keep()
	go f.feed.run(f.ctx)
	return f, nil
}

// enter makes s the session of the membership.
func (f *Fleet) enter(s *session) {
	f.session.Store(s)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.drivers {
		d.in.wake()
	}
}

// keep renews the lease, and gets another one when it is lost.
func (f *Fleet) keep() {
	defer close(f.kept)
	for f.ctx.Err() == nil {
		s := f.session.Load()
		r := newRenewer(&f.membership, f.feed, s)
		r.keep()
		if f.ctx.Err() == nil {
			f.lost(s)
		}
		r.close()
		for f.ctx.Err() == nil {
			ctx, cancel := context.WithTimeout(f.ctx, 3*f.patience.limit())
			next, err := f.join(ctx)
			cancel()
			if err == nil {
				f.enter(next)
				break
			}
			for _, d := range f.running() {
				d.in.refuse(denial{err, false})
			}
			pause(f.ctx, f.retryAfter(err))
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

// lose implements [lines].
func (f *Fleet) lose(s *session) {
	for _, d := range f.running() { // without f.mu: turn wakes waiters
		d.turn(func(t *tenancy) bool { return t.session.Load() == s })
	}
}

// beginAgain implements [lines].
func (f *Fleet) beginAgain() {
	f.feed.beginAgain()
	for _, d := range f.running() {
		d.in.wake()
	}
}

// running returns the drivers.
func (f *Fleet) running() []*driver {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append(slices.Collect(maps.Values(f.drivers)), f.earlier...)
}

// open returns the driver of a line, which it starts if need be.
func (f *Fleet) open(ctx context.Context, kind, name string, size int64) (*driver, error) {
	if name == "" {
		return nil, errors.New("fleet: a " + kind + " needs a name")
	}
	if d, err := f.opened(kind, name); d != nil || err != nil {
		return d, err
	}
	r := newRemote(&f.membership, kind, name)
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
	err = f.patience.ask(ctx, func(ctx context.Context) (err error) {
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
	d := newDriver(&f.membership, kind, name, size, r, first)
	d.feed, d.registry, d.prev, d.age = f.feed, f, prev, age
	d.in.run = newLoop(d).run
	d.observable = kinds[kind]
	d.observable.Join(d)
	f.drivers[kind+"/"+name] = d
	f.feed.join(&d.in, known{age, first.Rev}) // and d looks for the first time
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
			o.in.wake()
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

// Status returns what this process knows of the lines that it has opened, by name: who holds, who
// waits, and since when. It asks the server for the names of the processes, and nothing else.
func (f *Fleet) Status(ctx context.Context) ([]Status, error) {
	names, err := f.members(ctx)
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, d := range f.running() {
		if isClosed(d.done) {
			continue
		}
		st := d.status()
		for i := range st.Blocks {
			st.Blocks[i].Process = names[st.Blocks[i].Lease]
		}
		i := slices.IndexFunc(all, func(o Status) bool { return o.Name == st.Name })
		if i >= 0 { // opened again; the newest comes first
			all[i].add(&st)
			continue
		}
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// awaitEnd waits until all goroutines of the membership have ended, once Close asked them to: after
// Close nothing of it uses the store. A store ends a call soon after its context. If it does not,
// awaitEnd gives up after a time.
func (f *Fleet) awaitEnd(all []*driver) {
	late, cancel := context.WithTimeout(context.Background(), f.ttl)
	defer cancel()
	ends := []<-chan struct{}{f.kept, f.feed.done}
	for _, d := range all {
		d.in.wake()
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
	err := f.patience.ask(ctx, func(ctx context.Context) error { return f.store.Revoke(ctx, s.lease) })
	if errors.Is(err, store.ErrEnded) {
		err = nil
	}
	return err
}
