//go:build unix

package postgres_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/store"
)

// A network is between a process and the server. It can lose bytes without a word: neither side
// learns that its connection is of no use.
type network struct {
	to   string // the server's socket
	addr string
	all  sync.WaitGroup

	mu    sync.Mutex
	loses [2]bool // what connections lose: bytes to the server, and from it
	open  []*carried
	moved chan struct{} // has one after bytes were lost
	done  chan struct{} // closed at the end of the test
}

// A carried is a connection, and what it loses from now on.
type carried struct {
	ends  [2]net.Conn
	loses [2]bool
}

// newNetwork leads to the server, by the port that it returns.
func (w *world) newNetwork() *network {
	w.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(w, err)
	config := w.server.Config("worker")
	n := &network{
		to: config.Host + "/.s.PGSQL.5432", addr: l.Addr().String(),
		moved: make(chan struct{}, 1), done: make(chan struct{}),
	}
	n.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.all.Go(func() { n.carry(c) })
		}
	})
	w.Cleanup(func() {
		close(n.done)
		_ = l.Close()
		n.mu.Lock()
		for _, c := range n.open {
			c.close()
		}
		n.mu.Unlock()
		n.all.Wait()
	})
	return n
}

func (c *carried) close() { _, _ = c.ends[0].Close(), c.ends[1].Close() }

func (n *network) carry(client net.Conn) {
	server, err := net.Dial("unix", n.to)
	if err != nil {
		_ = client.Close()
		return
	}
	c := &carried{ends: [2]net.Conn{client, server}}
	n.mu.Lock()
	c.loses = n.loses
	n.open = append(n.open, c)
	n.mu.Unlock()
	select {
	case <-n.done: // the end of the test may not have seen it
		c.close()
	default:
	}
	var ways sync.WaitGroup
	for way := range c.ends {
		ways.Go(func() {
			defer c.close()
			b := make([]byte, 32<<10)
			for {
				k, err := c.ends[way].Read(b)
				n.mu.Lock()
				lost := c.loses[way]
				n.mu.Unlock()
				if lost {
					select {
					case n.moved <- struct{}{}:
					default:
					}
					if err != nil { // the other side does not learn of it
						<-n.done
						return
					}
					continue
				}
				if _, failed := c.ends[1-way].Write(b[:k]); failed != nil || err != nil {
					return
				}
			}
		})
	}
	ways.Wait()
}

// lose has all connections lose bytes from now on, and new ones too if they are meant.
func (n *network) lose(to, from, newOnes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.open {
		c.loses = [2]bool{to, from}
	}
	if newOnes {
		n.loses = [2]bool{to, from}
	}
}

// heal has new connections work. Those that have lost bytes never do.
func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.loses = [2]bool{}
}

// joinBy has a process join whose connections go by networks: those of requests, and the one that
// listens.
func (w *world) joinBy(requests, listens *network, ttl time.Duration) *fleet.Fleet {
	w.Helper()
	s := postgres.New(requests.config(w), w.ns, postgres.WithListen(listens.config(w)))
	f, err := fleet.New(w.ctx, s, fleet.WithTTL(ttl))
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(w, f.Close(ctx), "something is still held")
	})
	return f
}

func (n *network) config(w *world) *pgx.ConnConfig {
	c := w.server.Config("worker")
	c.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", n.addr)
	}
	return c
}

// A process whose network is cut without a word loses what it holds before others get it, and goes
// on when the network is back.
func TestTheNetworkIsCutWithoutAWord(t *testing.T) {
	w := onShared(t)
	n := w.newNetwork()
	f, g := w.joinBy(n, n, 2*time.Second), w.join()
	sf, sg := w.semaphore(f, 1), w.semaphore(g, 1)
	p := w.acquire(sf)
	n.lose(true, true, true)
	q := w.acquire(sg)
	require.False(t, p.Valid())
	<-p.Lost()
	p.Release()
	q.Release()
	n.heal()
	p = w.acquire(sf)
	require.Positive(t, p.Token().Compare(q.Token()))
	p.Release()
}

// Answers are lost, or requests, or both, of connections that stay open: nobody knows what was
// carried out. New connections work.
func TestConnectionsHang(t *testing.T) {
	w := onShared(t)
	networks := []*network{w.newNetwork(), w.newNetwork(), w.newNetwork()}
	var fs []*fleet.Fleet
	for _, n := range networks {
		fs = append(fs, w.joinBy(n, n, 2*time.Second))
	}
	w.work(fs, 2, func() {
		for i := range 9 {
			before := w.held()
			w.eventually(func() bool { return w.held() > before }, "permits are handed on")
			networks[i%3].lose(i%9/3 != 1, i%9/3 != 2, false)
		}
		w.goOn()
	})
}

// Only the connection that listens hangs. The process notices by its renewals that others wait.
func TestTheConnectionThatListensHangs(t *testing.T) {
	w := onShared(t)
	requests, listens := w.newNetwork(), w.newNetwork()
	f, g := w.joinBy(requests, listens, 2*time.Second), w.join()
	s := w.semaphore(f, 1)
	w.acquire(s).Release() // stays here
	listens.lose(true, true, false)
	w.acquire(w.semaphore(g, 1)).Release()
	w.acquire(s).Release()
}

// A watch ends soon after its context, although a renewal uses its connection, which hangs.
func TestAWatchEndsThoughARenewalHangs(t *testing.T) {
	w := onShared(t)
	n := w.newNetwork()
	s := postgres.New(w.server.Config("worker"), w.ns, postgres.WithListen(n.config(w)))
	lease, _, err := s.Grant(w.ctx, time.Hour)
	require.NoError(t, err)
	rev, err := s.Revision(w.ctx)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	began, ended, renewed := make(chan struct{}, 2), make(chan error), make(chan error)
	signs := make(chan struct{}, 1)
	go func() {
		ended <- s.Watch(ctx, rev, signs, func(store.Update) bool {
			began <- struct{}{}
			return true
		})
	}()
	<-began
	signs <- struct{}{}
	<-began
	n.lose(true, true, false)
	go func() {
		_, _, err := s.Way(s.Ways()[0]).Renew(w.ctx, lease)
		renewed <- err
	}()
	select {
	case <-n.moved: // the renewal is under way
	case <-w.ctx.Done():
		require.NoError(t, w.ctx.Err())
	}
	_, _, err = s.Way(s.Ways()[1]).Renew(w.ctx, lease)
	require.NoError(t, err, "the other way does not wait for it")
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.Error(t, <-renewed)
	require.NoError(t, w.ctx.Err(), "only the end of the test has ended them")
}
