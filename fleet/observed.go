package fleet

import (
	"context"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/observe/hook"
	"github.com/farad-go/farad/waiter"
)

// The record of a line is the driver's: it outlives losses, as the
// waits do. It knows what this process's goroutines hold and wait for, and asks the mirror for the
// rest. Another process may end a wait, so a wait is never part of a deadlock that is reported.
//
// Invariants:
//
//  1. All tenancies of a driver have the bit O, or none has. (TestObservedAcrossALoss)
//  2. A hold is recorded after its permits were taken, and its end before they are given back.
//     (TestObservedHoldsAreHeld)
//  3. A snapshot asks no server, and waits for no driver. (TestObservedWithoutAServer)

// kinds has what package observe knows of each kind of lines.
var kinds = map[string]hook.Kind[driver]{
	kindSemaphore: register(kindSemaphore, "fleet.Semaphore", false),
	kindMutex:     register(kindMutex, "fleet.Mutex", true),
	kindRWMutex:   register(kindRWMutex, "fleet.RWMutex", true),
	kindElection:  register(kindElection, "fleet.Election", true),
	kindKeyed:     register(kindKeyed, "fleet.Keyed", false),
}

func register(kind, name string, owned bool) hook.Kind[driver] {
	return hook.Register(hook.Type[driver]{
		Name: name, Owned: owned,
		Observe:    (*driver).observe,
		IsObserved: func(d *driver) bool { return d.current.Load().IsObserved() },
		Numbers:    (*driver).numbers,
		Inside: func(x any) (d *driver, ok bool) {
			l, ok := x.(interface{ observable() (string, *driver) })
			if !ok {
				return nil, false
			}
			its, d := l.observable()
			return d, its == kind
		},
		NameOf: func(d *driver) string { return d.name },
		Fleet:  (*driver).elsewhere,
	})
}

// observe sets or clears the bit O of all tenancies, now and later.
func (d *driver) observe(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.observed = on
	for _, t := range d.old {
		t.Observe(on)
	}
	d.current.Load().Observe(on)
}

func (d *driver) numbers() hook.Numbers {
	all, _ := d.tenancies()
	held := int64(0)
	for _, t := range all {
		held += t.Held()
	}
	t, size := all[len(all)-1], d.size.Load()
	given := t.Given()
	return hook.Numbers{Size: size, Free: given - held, Elsewhere: size - given, Waiting: t.Waiting()}
}

// maxBlocks is how many blocks of a line are shown.
const maxBlocks = 1 << 8

// elsewhere returns what the process knows of the line. Names that it does not know yet it has the
// driver ask for.
func (d *driver) elsewhere() *hook.Fleet {
	st := d.status()
	r := &hook.Fleet{Losses: uint64(st.Losses), Refused: st.Refused}
	if st.Back != nil {
		r.Back = st.Back.From - st.Back.Now
	}
	names := map[int64]string{}
	if known := d.fleet.names.Load(); known != nil {
		names = *known
	}
	if isClosed(d.done) {
		return r // what was known last is not so any more
	}
	r.More = max(len(st.Blocks)-maxBlocks, 0)
	for _, b := range st.Blocks[:len(st.Blocks)-r.More] {
		if b.Process = names[b.Lease]; b.Process == "" {
			d.in.post(func(in *inbox) { in.strangers = true })
		}
		r.Blocks = append(r.Blocks, hook.Block(b))
	}
	return r
}

// requested is a request for n permits. A reader shares the whole line with others.
func (d *driver) requested(n int64) hook.Request {
	return hook.Request{N: n, Shared: d.remote.size == line.Everyone && n == reader}
}

// acquireObserved is acquireUntil of a line with a record.
//
//go:noinline
func (d *driver) acquireObserved(
	ctx context.Context, end time.Time, l waiter.Limit, r hook.Record, n int64,
) (t *tenancy, err error) {
	if t := d.current.Load(); t.TryObserved(n) {
		t, err = unlessDone(ctx, t, n)
		if err != nil {
			r.AtOnce(d.requested(n), err)
			return nil, err
		}
		r.Tried(d.requested(n), true)
		return t, nil
	}
	err = r.Await(d.requested(n), l, func(l waiter.Limit) (err error) {
		t, err = d.acquireUntil(ctx, end, l, n)
		return err
	})
	return t, err
}

// tryObserved is try of an observed line, for callers that do not go on to wait.
//
//go:noinline
func (d *driver) tryObserved(r hook.Record, n int64) *tenancy {
	t := d.current.Load()
	if !t.TryObserved(n) {
		t = nil
	}
	r.Tried(d.requested(n), t != nil)
	return t
}

// tried records how a try has ended: with n permits of t, without any, or with an error.
func (d *driver) tried(t *tenancy, n int64, err error) {
	r, ok := d.observable.Of(d)
	switch {
	case !ok || n == 0:
	case err != nil:
		r.AtOnce(d.requested(n), err)
	default:
		r.Tried(d.requested(n), t != nil)
	}
}
