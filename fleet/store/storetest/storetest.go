package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/fleet/store"
)

// Servers are those of a store under test, with a namespace that nobody else uses.
type Servers struct {
	// Connect returns the store as another process reaches it. The goroutine of the test calls it.
	Connect func() store.Store

	// TTL is what the tests ask for: the shortest that is granted as it is. Some wait for its end.
	TTL time.Duration

	// What follows makes the servers do what some stores cannot be made to do. Tests that need one
	// that is nil are skipped.

	// Forget has the servers forget what has changed until now.
	Forget func() error

	// Fill has the servers be without space. What it returns gives them space again.
	Fill func() (drain func() error, err error)

	// DeleteSize has an operator delete the size of a line, as if nobody had written it.
	DeleteSize func(kind, name string) error

	// Forbid has the servers refuse a process to write. What it returns has them allow it again.
	Forbid func(s store.Store) (allow func() error, err error)
}

// A Test is one of the tests.
type Test struct {
	Promise int // its number in package store
	Name    string
	Run     func(ctx context.Context, s *Servers) error // nil, or what is wrong
	Needs   func(s *Servers) bool                       // nil: nothing
}

// patience is for how long a test may take. Nothing that is right takes that long.
const patience = 2 * time.Minute

// Run runs all tests, each with servers or a namespace of its own.
func Run(t *testing.T, open func(t *testing.T) *Servers) {
	t.Helper()
	for _, test := range Tests() {
		t.Run(strings.ReplaceAll(test.Name, " ", "_"), func(t *testing.T) {
			s := open(t)
			if test.Needs != nil && !test.Needs(s) {
				t.Skip("these servers cannot be made to do that")
			}
			if err := test.Run(t.Context(), s); err != nil {
				t.Errorf("promise %d: %v", test.Promise, err)
			}
		})
	}
}

// Tests returns the tests.
func Tests() []Test {
	return []Test{
		{1, "revisions are one sequence", with(revisions), nil},
		{2, "a line is its size and its entries", with(lines), nil},
		{2, "the size is written by who knows it", with(sizes), nil},
		{2, "any names are two lines", with(names), nil},
		{3, "a transaction is all or nothing", with(guards), nil},
		{3, "of two writes one comes first", with(races), nil},
		{4, "a read knows what was answered", with(reads), nil},
		{5, "a lease ends with all that it has", with(revoked), nil},
		{5, "a lease lasts from its renewal on", with(expired), nil},
		{5, "sessions can be listed", with(sessions), nil},
		{6, "an epoch ends what was sent before", with(epochs), nil},
		{7, "nothing is carried out later", with(once), nil},
		{8, "a watch yields all in order", with(watches), nil},
		{8, "a watch shows that it works", with(signs), nil},
		{8, "a watch says what it cannot", with(forgets), func(s *Servers) bool { return s.Forget != nil }},
		{9, "a refusal does nothing", with(refusals), func(s *Servers) bool { return s.Forbid != nil }},
		{10, "deletes need no space", with(space), func(s *Servers) bool { return s.Fill != nil }},
	}
}

// A lab is what a test works with.
type lab struct {
	*Servers
	ctx context.Context
	store.Store
	leases []int64
	used   int64
	stays  sync.WaitGroup
}

// next returns a number of an entry that was not used yet.
func (l *lab) next() int64 {
	l.used++
	return l.used
}

// A fault ends a test.
type fault struct{ error }

// with returns a test as others call it.
func with(test func(l *lab)) func(ctx context.Context, s *Servers) error {
	return func(ctx context.Context, s *Servers) (err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		l := &lab{Servers: s, ctx: ctx, Store: s.Connect()}
		defer func() {
			for _, lease := range l.leases {
				_ = l.Revoke(l.ctx, lease)
			}
			cancel()
			l.stays.Wait()
		}()
		return guarded(func() { test(l) })
	}
}

// guarded returns the fault in which do ends.
func guarded(do func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fault:
			err = r.error
		default:
			panic(r)
		}
	}()
	do()
	return nil
}

// check ends the test unless something is right.
func (l *lab) check(right bool, format string, args ...any) {
	if !right {
		panic(fault{fmt.Errorf(format, args...)})
	}
}

// done ends the test if a request has failed.
func (l *lab) done(err error, request string) { l.check(err == nil, "%s: %v", request, err) }

// fails ends the test unless an error is one of the store's.
func (l *lab) fails(err, with error, request string) {
	l.check(errors.Is(err, with), "%s: %v, and not: %v", request, err, with)
}

// until waits for something, at most for as long as a test may take.
func (l *lab) until(is func() bool, what string) {
	for !is() {
		l.check(l.ctx.Err() == nil, "in vain: %s", what)
		l.pause(5 * time.Millisecond)
	}
}

func (l *lab) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-l.ctx.Done():
	}
}

// together runs do for each number up to n at a time.
func (l *lab) together(n int, do func(i int)) {
	ends := make(chan error)
	for i := range n {
		go func() { ends <- guarded(func() { do(i) }) }()
	}
	var faults []error
	for range n {
		faults = append(faults, <-ends)
	}
	l.done(errors.Join(faults...), "of several processes")
}

// A member is a session of a process.
type member struct {
	store.Session
	store.Store
	lab   *lab
	epoch int64
}

// join makes a process with a session that lasts until the test has ended. Its TTL is so long that
// a busy machine does not end it.
func (l *lab) join(who string) *member {
	m := l.begin(who, max(l.TTL, patience/2))
	l.stays.Go(func() {
		for l.ctx.Err() == nil {
			if _, _, err := m.Renew(l.ctx, m.Lease); errors.Is(err, store.ErrEnded) {
				return
			}
			l.pause(l.TTL / 4)
		}
	})
	return m
}

// begin makes a process with a session that is not renewed.
func (l *lab) begin(who string, ttl time.Duration) *member {
	m, err := l.tryBegin(who, ttl)
	l.done(err, "begin")
	return m
}

// tryBegin is begin, for a lease that may have ended before.
func (l *lab) tryBegin(who string, ttl time.Duration) (*member, error) {
	s := l.Connect()
	lease, lasts, err := s.Grant(l.ctx, ttl)
	l.done(err, "grant")
	l.leases = append(l.leases, lease)
	l.check(lease > 0, "lease %d", lease)
	l.check(lasts >= ttl, "a lease lasts %v, and %v was asked for", lasts, ttl)
	m := &member{Session: store.Session{Lease: lease, Who: who}, Store: s, lab: l}
	m.epoch, err = s.Begin(l.ctx, m.Session)
	return m, err
}

// key names an entry of m.
func (m *member) key(seq int64) store.Key { return store.Key{Lease: m.Lease, Seq: seq} }

// put is an operation on an entry of m.
func (m *member) put(seq, mod, weight int64) store.Op {
	return store.Op{Key: m.key(seq), Mod: mod, Weight: weight}
}

// commit commits a transaction, and knows the epoch that it returns.
func (m *member) commit(on store.Line, t *store.Txn) store.State {
	st, epoch, err := on.Commit(m.lab.ctx, m.Session, m.epoch, t)
	m.lab.done(err, "commit")
	m.lab.check(epoch == m.epoch, "the epoch is %d, and nobody has raised it above %d", epoch, m.epoch)
	return st
}

// puts commits operations.
func (m *member) puts(on store.Line, ops ...store.Op) store.State {
	return m.commit(on, &store.Txn{Ops: ops})
}

// read reads a line.
func (l *lab) read(on store.Line) store.State {
	st, err := on.Read(l.ctx)
	l.done(err, "read")
	return st
}

// find returns an entry, an empty one if there is none.
func find(st *store.State, k store.Key) (e store.Entry) {
	if i := slices.IndexFunc(st.Entries, func(e store.Entry) bool { return e.Key == k }); i >= 0 {
		e = st.Entries[i]
	}
	return e
}

// same reports whether two states show the same line.
func same(a, b *store.State) bool {
	return a.Size == b.Size && a.SizeMod == b.SizeMod && slices.Equal(a.Entries, b.Entries)
}
