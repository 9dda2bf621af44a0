package contract

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/etcd"
)

// A meter counts what a client asks the server for.
type meter struct {
	requests atomic.Int64 // messages, as the server counts them
	reads    atomic.Int64 // of those, ranges
	streams  atomic.Int64 // that are open, as those of watches are
}

func (m *meter) unary(
	ctx context.Context,
	method string,
	req, reply any,
	cc *grpc.ClientConn,
	do grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	m.requests.Add(1)
	if method == "/etcdserverpb.KV/Range" {
		m.reads.Add(1)
	}
	return do(ctx, method, req, reply, cc, opts...)
}

func (m *meter) stream(
	ctx context.Context,
	desc *grpc.StreamDesc,
	cc *grpc.ClientConn,
	method string,
	do grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := do(ctx, desc, cc, method, opts...)
	if err == nil {
		m.streams.Add(1)
		context.AfterFunc(s.Context(), func() { m.streams.Add(-1) })
	}
	return &metered{s, m}, err
}

type metered struct {
	grpc.ClientStream
	m *meter
}

func (s *metered) SendMsg(msg any) error {
	s.m.requests.Add(1)
	return s.ClientStream.SendMsg(msg)
}

// metered joins a process whose requests are counted.
func (w *world) metered(opts ...fleet.Option) (*fleet.Fleet, *meter) {
	m := &meter{}
	c, err := clientv3.New(clientv3.Config{
		Endpoints: w.server.Endpoints(), Logger: zap.NewNop(), DialOptions: []grpc.DialOption{
			grpc.WithChainUnaryInterceptor(m.unary), grpc.WithChainStreamInterceptor(m.stream),
		},
	})
	require.NoError(w, err)
	w.Cleanup(func() { c.Close() })
	f, err := fleet.New(w.ctx, etcd.New(c, "test"), opts...)
	require.NoError(w, err)
	w.Cleanup(func() { require.NoError(w, w.closeWithin(f, 20*time.Second)) })
	return f, m
}

// use opens n mutexes of f, and locks and unlocks each.
func (w *world) use(f *fleet.Fleet, n int) {
	for i := range n {
		m, err := f.Mutex(w.ctx, fmt.Sprint("m", i))
		require.NoError(w, err)
		require.NoError(w, m.LockTimeout(10*time.Second), "mutex %d", i)
		m.Unlock()
	}
}

// A process that is at rest costs the server the same, however many locks it has used.
func TestLocksAtRestCostNothing(t *testing.T) {
	w := newWorldAlone(t)
	const locks, ttl = 100, 2 * time.Second
	f, m := w.metered(fleet.WithTTL(ttl))
	w.use(f, 1)
	streams, goroutines := m.streams.Load(), runtime.NumGoroutine()
	w.use(f, locks)
	require.LessOrEqual(t, m.streams.Load(), streams+1, "a renewal may be under way")
	w.eventually(func() bool { return runtime.NumGoroutine() <= goroutines+locks/10 }, "goroutines that do nothing")

	// Three renewals a TTL, and a sign of life. On a busy machine some are repeated.
	before := m.requests.Load()
	time.Sleep(ttl)
	require.Less(t, m.requests.Load()-before, int64(locks/5), "requests of a process at rest")
}

// A server, or a proxy, that allows a connection 100 streams limits no locks.
func TestManyLocksOverFewStreams(t *testing.T) {
	w := newWorld(t, func(c *embed.Config) { c.MaxConcurrentStreams = 100 })
	const locks, ttl = 300, time.Minute
	a, _ := w.metered(fleet.WithTTL(ttl))
	b, _ := w.metered(fleet.WithTTL(ttl))
	w.use(a, locks)
	w.use(b, locks) // a has them, and has to see that b wants them
	done := make(chan error, locks)
	for i := range locks { // all at a time
		go func() {
			m, err := a.Mutex(w.ctx, fmt.Sprint("m", i))
			if err == nil {
				if err = m.LockContext(w.ctx); err == nil {
					m.Unlock()
				}
			}
			done <- err
		}()
	}
	for range locks {
		require.NoError(t, <-done)
	}
}

// Who is refused because the size has fallen asks the server first, but not each by itself.
func TestManyWhoAreTooLargeReadOnce(t *testing.T) {
	w := newWorld(t)
	const waiters = 1000
	f, m := w.metered()
	s := w.semaphore(f, 5)
	require.NoError(t, s.Acquire(w.ctx, 5))
	done := make(chan error, waiters)
	for range waiters {
		go func() { done <- s.Acquire(w.ctx, 4) }()
	}
	w.eventually(func() bool { return s.Waiting() == waiters }, "they wait")
	before := m.reads.Load()
	require.NoError(t, s.Resize(w.ctx, 3))
	for range waiters {
		require.ErrorIs(t, <-done, fleet.ErrTooLarge)
	}
	require.LessOrEqual(t, m.reads.Load()-before, int64(waiters/20), "reads of the line")
	s.Release(5)
}
