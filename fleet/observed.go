package fleet

import (
	"context"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/waiting"
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

var observedLines = observed.Register(observed.About{Name: "fleet"}, (*driver).observe, (*driver).numbers)

var abouts = map[string]*observed.About{
	kindSemaphore: {Name: "fleet.Semaphore"},
	kindMutex:     {Name: "fleet.Mutex", Owned: true},
	kindRWMutex:   {Name: "fleet.RWMutex", Owned: true},
	kindElection:  {Name: "fleet.Election", Owned: true},
	kindKeyed:     {Name: "fleet.Keyed"},
}

func init() {
	observed.Within(func(lock any) any {
		if l, ok := lock.(interface{ observable() *driver }); ok {
			return l.observable()
		}
		return nil
	})
}

// About implements [observed.Shared].
func (d *driver) About() (*observed.About, string) { return abouts[d.kind], d.name }

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

func (d *driver) numbers() observed.Numbers {
	all, _ := d.tenancies(MaxPermits)
	held := int64(0)
	for _, t := range all {
		held += t.Held()
	}
	t, size := all[len(all)-1], d.size.Load()
	given := t.Given()
	return observed.Numbers{Size: size, Free: given - held, Elsewhere: size - given, Waiting: t.Waiting()}
}

// maxBlocks is how many blocks of a line are shown.
const maxBlocks = 1 << 8

// Elsewhere returns what the process knows of the line. Names that it does not know yet it has the
// driver ask for.
func (d *driver) Elsewhere() *observed.Fleet {
	st := d.status()
	r := &observed.Fleet{Losses: uint64(st.Losses), Refused: st.Refused}
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
		r.Blocks = append(r.Blocks, observed.Block(b))
	}
	return r
}

func (d *driver) mayBeObserved() bool { return observed.MayBe(d.current.Load().IsObserved()) }

// record returns the record of the line, nil if it is not observed.
func (d *driver) record() observed.Record {
	if d.current.Load().IsObserved() {
		return observed.Of(d)
	}
	return nil
}

// join is record, but the line joins if need be.
func (d *driver) join() observed.Record {
	return observedLines.Record(d, d.current.Load().IsObserved())
}

// requested is a request for n permits. A reader shares the whole line with others.
func (d *driver) requested(n int64) observed.Request {
	return observed.Request{N: n, Shared: d.remote.size == line.Everyone && n == reader}
}

// acquireObserved is acquireUntil.
//
//go:noinline
func (d *driver) acquireObserved(
	ctx context.Context, end time.Time, l waiting.Limit, n int64,
) (t *tenancy, err error) {
	r := d.join()
	if t := d.current.Load(); t.TryObserved(n) {
		r.Tried(d.requested(n), true)
		return t, nil
	}
	err = observed.Await(r, d.requested(n), l, func(l waiting.Limit) (err error) {
		t, err = d.acquireUntil(ctx, end, l, n)
		return err
	})
	return t, err
}

// tryObserved is try of an observed line, for callers that do not go on to wait.
//
//go:noinline
func (d *driver) tryObserved(n int64) *tenancy {
	t := d.current.Load()
	if !t.TryObserved(n) {
		t = nil
	}
	d.tried(t, n, nil)
	return t
}

// tried records how a try has ended: with n permits of t, without any, or with an error.
func (d *driver) tried(t *tenancy, n int64, err error) {
	if r := d.record(); r != nil && n > 0 {
		if err != nil {
			_ = r.AtOnce(d.requested(n), err)
		} else {
			r.Tried(d.requested(n), t != nil)
		}
	}
}
