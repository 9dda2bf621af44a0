package fleettest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// A Test is one of the tests.
type Test struct {
	Name  string
	Run   func(ctx context.Context, s *storetest.Servers) error // nil, or what is wrong
	Needs func(s *storetest.Servers) bool                       // nil: nothing
	Alone bool                                                  // it changes what all tests of a program share
}

// patience is for how long a test may take. Nothing that is right takes that long.
const patience = 5 * time.Minute

// Run runs all tests, each with servers or a namespace of its own. Those that need not be alone run
// at a time. The test t should be alone.
func Run(t *testing.T, open func(t *testing.T) *storetest.Servers) {
	t.Helper()
	for _, test := range Tests() {
		t.Run(test.Name, func(t *testing.T) {
			if !test.Alone {
				t.Parallel()
			}
			s := open(t)
			if test.Needs != nil && !test.Needs(s) {
				t.Skip("these servers cannot be made to do that")
			}
			if err := test.Run(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
}

// Tests returns the tests.
func Tests() (all []Test) {
	for _, test := range slices.Concat(locks, semaphores, keys, elections, losses, endings) {
		all = append(all, named(test))
	}
	for _, test := range []func(w *world){
		conservation, acquireAllocatesNothing, anExpiredSessionAsksForNothing, locksAtRestCostNothing, observedAll,
	} {
		alone := named(test)
		alone.Alone = true
		all = append(all, alone)
	}
	needs := func(test func(w *world), needs func(s *storetest.Servers) bool) {
		t := named(test)
		t.Needs = needs
		all = append(all, t)
	}
	needs(theWatchIsCompacted, func(s *storetest.Servers) bool { return s.Forget != nil })
	needs(whoWaitsIsServedWithoutSpace, func(s *storetest.Servers) bool { return s.Fill != nil })
	needs(aSizeThatIsDeleted, func(s *storetest.Servers) bool { return s.DeleteSize != nil })
	needs(aSizeOfAKeyThatIsDeleted, func(s *storetest.Servers) bool { return s.DeleteSize != nil })
	return all
}

// named returns a test that has the name of a function.
func named(test func(w *world)) Test {
	// The frames of a stack have addresses of returns, which are behind a call.
	frame, _ := runtime.CallersFrames([]uintptr{reflect.ValueOf(test).Pointer() + 1}).Next()
	name := frame.Function[strings.LastIndexByte(frame.Function, '.')+1:]
	return Test{Name: strings.ToUpper(name[:1]) + name[1:], Run: with(test)}
}

// A world is what a test works with: servers, and an operator's way to them.
type world struct {
	*storetest.Servers
	ctx      context.Context
	operator store.Store

	mu     sync.Mutex
	faults []error
	ends   []func() // the last one first
}

// with returns a test as others call it.
func with(test func(w *world)) func(ctx context.Context, s *storetest.Servers) error {
	return func(ctx context.Context, s *storetest.Servers) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		w := &world{Servers: s, ctx: ctx, operator: s.Connect()}
		w.guard(func() { test(w) })
		for len(w.ends) > 0 {
			end := w.ends[len(w.ends)-1]
			w.ends = w.ends[:len(w.ends)-1]
			w.guard(end)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		return errors.Join(w.faults...)
	}
}

// guard has do run in a goroutine, which fatal may end.
func (w *world) guard(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

// join makes one more process of the fleet, which leaves when the test ends.
func (w *world) join(opts ...fleet.Option) *fleet.Fleet {
	f, _ := w.disturbed(opts...)
	return f
}

// apart joins a process whose end the test sees to.
func (w *world) apart(opts ...fleet.Option) *fleet.Fleet {
	f, _ := w.wired(opts...)
	return f
}

func (w *world) closeWithin(f *fleet.Fleet, d time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), d)
	defer cancel()
	return f.Close(ctx)
}

func (w *world) semaphore(f *fleet.Fleet, size int64) *fleet.Semaphore {
	s, err := f.Semaphore(w.ctx, "s", size)
	w.noError(err)
	return s
}

func (w *world) keyed(f *fleet.Fleet, size int64) *fleet.Keyed {
	k, err := f.Keyed(w.ctx, "s", size)
	w.noError(err)
	return k
}

// ofKey acquires n permits of a key.
func ofKey(k *fleet.Keyed, key string, n int64) acquirer {
	return func(ctx context.Context) (*fleet.Permit, error) { return k.Acquire(ctx, key, n) }
}

// key acquires n permits of a key.
func (w *world) key(k *fleet.Keyed, key string, n int64) *fleet.Permit {
	p, err := k.Acquire(w.ctx, key, n)
	w.noError(err)
	return p
}

// noKey ends the test unless an acquire of n permits of a key ends with an error.
func (w *world) noKey(k *fleet.Keyed, key string, n int64, why error, what ...any) {
	p, err := k.Acquire(w.ctx, key, n)
	w.errorIs(err, why, what...)
	w.check(p == nil, "an error comes without a permit")
}

// An outcome is what comes of an acquire: a permit or an error.
type outcome struct {
	*fleet.Permit
	err error
}

// asks has a goroutine acquire n permits of a key, and returns what comes of it.
func (w *world) asks(k *fleet.Keyed, key string, n int64) <-chan outcome {
	got := make(chan outcome, 1)
	go func() {
		p, err := k.Acquire(w.ctx, key, n)
		got <- outcome{p, err}
	}()
	return got
}

// given waits for the permit that a goroutine acquires.
func (w *world) given(got <-chan outcome, what ...any) *fleet.Permit {
	o := receive(w, got)
	w.noError(o.err, what...)
	return o.Permit
}

func (w *world) election(f *fleet.Fleet) *fleet.Election {
	e, err := f.Election(w.ctx, "s")
	w.noError(err)
	return e
}

// state returns a line, as an operator reads it.
func (w *world) state(kind, name string) store.State {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), patience)
	defer cancel()
	st, err := w.operator.Line(kind, name).Read(ctx)
	w.noError(err)
	return st
}

// entries returns how many entries the line s of a kind has.
func (w *world) entries(kind string) int { return len(w.state(kind, "s").Entries) }

// unused reports whether the store has nothing of keys.
func (w *world) unused(keys ...string) bool {
	for _, key := range keys {
		if st := w.state("keyed", "s/"+key); len(st.Entries) > 0 || st.SizeMod > 0 {
			return false
		}
	}
	return true
}

// write has an operator write entries of a lease.
func (w *world) write(kind string, lease int64, ops ...store.Op) {
	on, s := w.operator.Line(kind, "s"), store.Session{Lease: lease}
	_, epoch, err := on.Commit(w.ctx, s, 0, &store.Txn{}) // says which epoch it is
	w.noError(err)
	for some := range slices.Chunk(ops, store.MostOps) {
		_, now, err := on.Commit(w.ctx, s, epoch, &store.Txn{Ops: some})
		w.noError(err)
		w.equal(epoch, now)
	}
}

// deleteEntries has an operator delete all entries of the line s of a kind.
func (w *world) deleteEntries(kind string) {
	st := w.state(kind, "s")
	for _, e := range st.Entries {
		w.write(kind, e.Lease, store.Op{Key: e.Key, Mod: e.Mod})
	}
}

// revoke ends a permit's lease behind the back of its process.
func (w *world) revoke(p interface{ Token() fence.Token }) {
	w.noError(w.operator.Revoke(w.ctx, p.Token().Lease))
}

// lost waits until a permit is lost.
func (w *world) lost(p *fleet.Permit) {
	select {
	case <-p.Lost():
	case <-w.ctx.Done():
		w.fatal("it is not lost")
	}
}

// receive waits for what a goroutine of the test sends.
func receive[T any](w *world, from <-chan T) (v T) {
	select {
	case v = <-from:
	case <-w.ctx.Done():
		w.fatal("waited in vain")
	}
	return v
}

// waits waits until a request of a process waits for a line.
func (w *world) waits(f *fleet.Fleet, line string) {
	w.eventually(func() bool {
		all, err := f.Status(w.ctx)
		w.noError(err)
		return slices.ContainsFunc(all, func(s fleet.Status) bool { return s.Name == line && s.Waiting > 0 })
	}, "a request waits")
}

// eventually waits for what the network brings.
func (w *world) eventually(is func() bool, what string) {
	for !is() {
		w.check(w.ctx.Err() == nil, "in vain: "+what)
		time.Sleep(time.Millisecond)
	}
}

// failed reports whether something is wrong.
func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.faults) > 0
}

// Errorf notes what is wrong. The test goes on.
func (w *world) Errorf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, fmt.Errorf(format, args...))
}
