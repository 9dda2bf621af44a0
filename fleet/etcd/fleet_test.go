package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/fleettest"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// A bubble is a fleet in virtual time, on an etcd in memory.
type bubble struct {
	*testing.T
	*memory
	ctx context.Context
}

// inBubble runs test in virtual time.
func inBubble(t *testing.T, test func(b *bubble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{t, newMemory(), t.Context()}
		defer b.close()
		test(b)
	})
}

// join has a process join by way of a connection.
func (b *bubble) join(distance time.Duration) (*fleet.Fleet, *connection) {
	b.Helper()
	c, client := b.connect(distance)
	f, err := fleet.New(b.ctx, New(client, "test"))
	require.NoError(b, err)
	return f, c
}

// leave closes a membership, of which nothing is held.
func (b *bubble) leave(f *fleet.Fleet) {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), time.Hour)
	defer cancel()
	require.NoError(b, f.Close(ctx))
}

func (b *bubble) mutex(f *fleet.Fleet) *fleet.Mutex {
	b.Helper()
	m, err := f.Mutex(b.ctx, "m")
	require.NoError(b, err)
	return m
}

func (b *bubble) locked(f *fleet.Fleet) *fleet.Permit {
	b.Helper()
	p, err := b.mutex(f).Lock(b.ctx)
	require.NoError(b, err)
	return p
}

// lock locks m within a time.
func (b *bubble) lock(m *fleet.Mutex, within time.Duration) (*fleet.Permit, error) {
	ctx, cancel := context.WithTimeout(b.ctx, within)
	defer cancel()
	return m.Lock(ctx)
}

// asks has a goroutine lock f's mutex, within a time, and returns what comes of it.
func (b *bubble) asks(f *fleet.Fleet, within time.Duration) <-chan outcome {
	b.Helper()
	m, got := b.mutex(f), make(chan outcome, 1)
	go func() {
		p, err := b.lock(m, within)
		got <- outcome{p, err}
	}()
	return got
}

// An outcome is what comes of a lock: a permit or an error.
type outcome struct {
	*fleet.Permit
	err error
}

// lasting returns how many leases there are.
func (b *bubble) lasting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.leases)
}

// goesOn fails unless so many processes still have the leases with which they have joined. One that
// has lost its own asks for another at once.
func (b *bubble) goesOn(processes int) {
	b.Helper()
	time.Sleep(time.Second)
	b.mu.Lock()
	defer b.mu.Unlock()
	require.EqualValues(b, processes, b.nextID-firstID, "leases were asked for again")
	require.Len(b, b.leases, processes)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A stream that hangs is left for another. The client would give a watch with the same metadata the
// same stream, and events would come by reading at most.
func TestAStreamThatHangsIsLeft(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(time.Millisecond)
		g, c := b.join(time.Millisecond)
		handOver := func(after time.Duration) time.Duration {
			p := b.locked(f)
			got := b.asks(g, time.Minute)
			time.Sleep(after)
			p.Release()
			began := time.Now()
			q := <-got
			require.NoError(b, q.err)
			q.Release()
			return time.Since(began)
		}
		for range 3 {
			c.hangStreams()
			require.Less(b, handOver(time.Second), 30*time.Second)
			for i := range time.Duration(10) {
				require.Less(b, handOver(time.Second+i*170*time.Millisecond), 100*time.Millisecond)
			}
		}
		b.leave(f)
		b.leave(g)
	})
}

// Any name is a name, and no two are the same lock, nor do they reach out of the namespace.
func TestNames(t *testing.T) {
	inBubble(t, func(b *bubble) {
		f, _ := b.join(0)
		names := []string{
			"a/b", "a%2Fb", "a", "b", "a\nb", "a\n", "a b", "a+b", "..", ".", "../m", "/", "//", "a/q/size", "size", "q",
			"\x00", "\xff\xfe", "ä", "a\u0308", strings.Repeat("x", 1000), "%", "%2F",
		}
		var held []*fleet.Permit
		for _, name := range names {
			m, err := f.Mutex(b.ctx, name)
			require.NoError(b, err)
			p, err := b.lock(m, time.Second)
			require.NoError(b, err, "%q is another lock", name)
			held = append(held, p)
		}
		require.Equal(b, len(names), b.entries())
		b.mu.Lock()
		for k := range b.kvs {
			if strings.Contains(k, "/q/") {
				require.Len(b, strings.Split(k, "/"), 6, "%q", k)
				require.True(b, strings.HasPrefix(k, "test/mutex/"))
			}
			require.NotContains(b, k, "\n")
		}
		b.mu.Unlock()
		for _, p := range held {
			p.Release()
		}
		b.leave(f)
	})
}

// The fleet keeps its contract in virtual time, too.
func TestContract(t *testing.T) {
	for _, test := range fleettest.Tests() {
		t.Run(test.Name, func(t *testing.T) {
			inBubble(t, func(b *bubble) {
				s := &storetest.Servers{
					Connect: func() store.Store {
						_, client := b.connect(time.Millisecond)
						return New(client, "test")
					},
					TTL: 2 * time.Second,
				}
				if test.Needs != nil && !test.Needs(s) {
					b.Skip("an etcd in memory cannot be made to do that")
				}
				if err := test.Run(b.ctx, s); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// What etcd says is what it means to a fleet, and stays what etcd has said.
func TestErrorsSayWhatTheyMean(t *testing.T) {
	for err, is := range map[error]error{
		rpctypes.ErrLeaseNotFound: store.ErrEnded, rpctypes.ErrNoSpace: store.ErrNoSpace,
		rpctypes.ErrPermissionDenied: store.ErrRefused, rpctypes.ErrUserEmpty: store.ErrRefused,
		rpctypes.ErrAuthFailed: store.ErrRefused, rpctypes.ErrCompacted: store.ErrCompacted,
	} {
		inBubble(t, func(b *bubble) {
			c, client := b.connect(0)
			c.on(func(context.Context, string) error { return err })
			s, o := New(client, "test"), store.Session{Lease: 1}
			l := s.Line("mutex", "m")
			for name, ask := range map[string]func() error{
				"grant":    func() error { _, _, err := s.Grant(b.ctx, time.Second); return err },
				"begin":    func() error { _, err := s.Begin(b.ctx, o); return err },
				"renew":    func() error { _, _, err := s.Renew(b.ctx, 1); return err },
				"way":      func() error { _, _, err := s.Way("").Renew(b.ctx, 1); return err },
				"revoke":   func() error { return s.Revoke(b.ctx, 1) },
				"sessions": func() error { _, err := s.Sessions(b.ctx); return err },
				"revision": func() error { _, err := s.Revision(b.ctx); return err },
				"read":     func() error { _, err := l.Read(b.ctx); return err },
				"probe":    func() error { _, err := l.Probe(b.ctx); return err },
				"commit":   func() error { _, _, err := l.Commit(b.ctx, o, 1, &store.Txn{}); return err },
				"fence":    func() error { _, _, err := l.Fence(b.ctx, o); return err },
				"size":     func() error { _, _, err := l.SetSize(b.ctx, 1, 0, true); return err },
			} {
				got := ask()
				require.ErrorIs(b, got, is, name)
				require.ErrorIs(b, got, err, name)
				require.ErrorContains(b, got, err.Error(), name)
			}
		})
	}
	other := errors.New("unavailable")
	require.Same(t, other, marked(other))
	require.NoError(t, marked(nil))
}

// answers is a Watcher whose watches get what is in it.
type answers struct {
	clientv3.Watcher
	all    []clientv3.WatchResponse
	prefix string
	from   int64
}

func (a *answers) Watch(_ context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	a.prefix, a.from = key, clientv3.OpGet(key, opts...).Rev()
	c := make(chan clientv3.WatchResponse, len(a.all))
	for _, r := range a.all {
		c <- r
	}
	close(c)
	return c
}

// A watch yields the changes of lines, each revision at once, and nothing else.
func TestAWatchYieldsChangesOfLines(t *testing.T) {
	put := func(key, value string, rev, lease int64) *clientv3.Event {
		return &clientv3.Event{Kv: &mvccpb.KeyValue{
			Key: []byte(key), Value: []byte(value), CreateRevision: rev, ModRevision: rev, Lease: lease,
		}}
	}
	const entry = "/q/0000000000000007/0000000000000001"
	at := func(rev int64, events ...*clientv3.Event) clientv3.WatchResponse {
		return clientv3.WatchResponse{Header: &etcdserverpb.ResponseHeader{Revision: rev}, Events: events}
	}
	a := &answers{all: []clientv3.WatchResponse{
		at(14,
			put("ns/mutex/a"+entry, "1", 12, 7), put("ns/member/0000000000000007", "{}", 12, 7),
			put("ns/mutex/b%2Fc"+entry, "2", 12, 7), put("ns/mutex/a/mutex/b"+entry, "1", 12, 7),
			put("ns/mutex/a/q/0000000000000008/0000000000000001", "1", 12, 7), put("ns/semaphore/s/size", "40\n", 13, 0),
			put("ns/mutex/a"+entry, "", 14, 0)),
		at(20),
		at(21, put("ns/other", "", 21, 0)),
		{Canceled: true, CompactRevision: 30, Header: &etcdserverpb.ResponseHeader{Revision: 31}},
	}}
	client := clientv3.NewCtxClient(t.Context())
	client.Watcher = a
	s := New(client, "ns")
	var got []store.Update
	keep := func(u store.Update) bool {
		u.Events = append([]store.Event(nil), u.Events...)
		got = append(got, u)
		return true
	}
	require.ErrorIs(t, s.Watch(t.Context(), 11, nil, keep), store.ErrCompacted)
	require.Equal(t, []any{"ns/", int64(12)}, []any{a.prefix, a.from})
	of := func(id string, lease, rev, weight int64) store.Event {
		c := store.Change{Key: store.Key{Lease: lease, Seq: 1}, Create: rev, Mod: rev, Weight: weight}
		return store.Event{Line: id, Change: c}
	}
	gone := of("mutex/a", 7, 14, 0)
	require.Equal(t, []store.Update{
		{Rev: 11}, // it has begun
		{Rev: 12, Events: []store.Event{
			of("mutex/a", 7, 12, 1), of("mutex/b%2Fc", 7, 12, 2), of("mutex/a", 8, 12, 0), // the last is not on its lease
		}},
		{Rev: 13, Events: []store.Event{{Line: "semaphore/s", Change: store.Change{Weight: 40}}}},
		{Rev: 14, Events: []store.Event{gone}},
		{Rev: 20},
		{Rev: 21},
	}, got)
	require.Equal(t, "mutex/b%2Fc", s.Line("mutex", "b/c").ID())

	a.all = a.all[:1]
	require.Error(t, s.Line("mutex", "a").Watch(t.Context(), 40, nil, keep), "it has ended")
	require.Equal(t, []any{"ns/mutex/a/", int64(41)}, []any{a.prefix, a.from})
	n := 0
	require.NoError(t, s.Watch(t.Context(), 11, nil, func(store.Update) bool { n++; return n < 3 }))
	require.Equal(t, 3, n)
}

// A store has a client and a namespace.
func TestNewNeedsAClientAndANamespace(t *testing.T) {
	require.Panics(t, func() { New(nil, "x") })
	client := clientv3.NewCtxClient(t.Context())
	require.Panics(t, func() { New(client, "") })
	require.Panics(t, func() { New(client, "/") })
	require.Equal(t, "x in etcd", New(client, "x/").String())
}
