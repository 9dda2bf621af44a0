package fleet

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet/internal/share"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/observe/hook"
)

// lookEvery is how often the goroutines of a process can have the driver look. What they report
// between two looks is looked at together.
const lookEvery = 200 * time.Microsecond

// A driver runs the agents of one line over a store: one for the current tenancy, and while an
// earlier tenancy of the same session has something to return, one for that.
//
// Its goroutine, run of its loop, is the only one that calls the agents. There is one while the
// inbox has something, and none at rest. It commits one transaction at a time for each agent. A
// transaction whose answer is lost may have been applied or not, or may be applied later. So the
// driver reads the line before it goes on; the guards of the next one do the rest.
//
// A driver that is closed stays until everything is returned, and nothing that it has sent can be
// applied any more, or until its session is over. The line may be opened again before that: by
// another driver, whose agent has other numbers. Neither touches what the other one has made.
type driver struct {
	fleet    *membership
	feed     *feed    // set when the line is opened, as is
	registry registry // this
	kind     string
	name     string
	remote   *remote

	observable hook.Kind[driver] // set when the line is opened

	wanted   int64  // the size if the line has none
	released func() // called after a Permit's Release, for a Keyed; otherwise nil

	current atomic.Pointer[tenancy] // written under mu
	closed  atomic.Bool             // written under mu

	mu       sync.Mutex  // nothing is called under it but shares, and nobody is woken
	old      []*tenancy  // of which something is held; guarded by mu
	aged     atomic.Bool // there are some; set before the current tenancy is another
	observed bool        // the bit O of all tenancies; guarded by mu

	bell     share.Bell         // rung by goroutines of the process
	in       inbox              // what run is to look at
	reads    reads              // of the line
	prev     *driver            // that had the line before; nil: none
	ended    chan struct{}      // closed when the agents make no entries any more, after close
	returned chan struct{}      // closed when everything is returned, after close
	ctx      context.Context    //nolint:containedctx // of all that run starts
	stop     context.CancelFunc // ends run: wake has to be called
	done     chan struct{}      // closed when run has ended for good, and all that it has started

	refusal atomic.Pointer[error] // the last one; set before the requests that it ends look for it

	size   atomic.Int64 // as far as is known
	losses atomic.Int64

	mirror
}

// A registry has the drivers of a process.
type registry interface {
	wakeNext(d *driver) // d makes no entries any more: the driver that waits for that may
	ended(d *driver)    // d is done
}

func newDriver(f *membership, kind, name string, size int64, r *remote, first store.State) *driver {
	d := &driver{
		fleet: f, kind: kind, name: name, wanted: size, remote: r,
		ended: make(chan struct{}), returned: make(chan struct{}), done: make(chan struct{}),
	}
	d.ctx, d.stop = context.WithCancel(f.ctx)
	d.in.remote = r
	d.bell.Init(d.in.ring)
	d.size.Store(first.Size)
	d.learn(revision{rev: first.Rev, whole: &first})
	d.current.Store(newTenancy(f, &d.bell))
	return d
}

// turn ends the current tenancy if end says so, and begins another one.
func (d *driver) turn(end func(*tenancy) bool) {
	d.mu.Lock()
	t := d.current.Load()
	if !end(t) {
		d.mu.Unlock()
		return
	}
	next := newTenancy(d.fleet, &d.bell)
	next.Observe(d.observed)
	if d.closed.Load() {
		next.Close()
	}
	d.old = append(d.old, t)
	d.aged.Store(true)
	d.current.Store(next) // before the waiters of t look for it
	d.mu.Unlock()
	t.end() // wakes the waiters of t
	d.forget()
	if t.Had() { // otherwise nothing is lost: the lease of one that was just lost has ended
		d.losses.Add(1)
	}
	d.in.wake()
}

// close ends all requests, and has everything returned.
func (d *driver) close() {
	d.mu.Lock()
	d.closed.Store(true)
	t := d.current.Load() // one that follows it is closed
	d.mu.Unlock()
	t.Close()
	d.in.wake()
}

// forget drops the old tenancies of which nothing is held.
func (d *driver) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.old = slices.DeleteFunc(d.old, func(t *tenancy) bool { return t.Held() == 0 })
	d.aged.Store(len(d.old) > 0)
}

// read reads the line. The state is that of a time after the call. It is shared: nobody may change
// it. The driver learns it, too.
func (d *driver) read(ctx context.Context) (store.State, error) {
	r := d.reads.ask(d.readAll)
	if r == nil {
		return store.State{}, ErrClosed
	}
	select {
	case <-r.done:
		return r.state, r.err
	case <-ctx.Done():
		return store.State{}, ctx.Err()
	}
}

// readAll reads for as long as somebody asks.
func (d *driver) readAll() {
	for r := d.reads.take(); r != nil; r = d.reads.take() {
		d.seen.Lock()
		asked := d.known()
		d.seen.Unlock()
		r.state, r.err = d.remote.within(d.ctx, d.remote.reads, d.remote.read)
		if r.err == nil {
			d.in.deliver(revision{rev: r.state.Rev, whole: &r.state, asked: asked})
		}
		close(r.done)
	}
}

// isClosed reports whether c is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
