// Package contract tests package fleet against a real etcd.
package contract

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/embedded"
	"github.com/farad-go/farad/fleet/etcd"
)

// patience is for what must happen. Nothing that is right takes that long, even on a busy machine.
const patience = 5 * time.Minute

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait most of the time: for servers, and for leases to end.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// A world is an etcd of one member, with a namespace of its own.
type world struct {
	*testing.T
	ctx    context.Context
	server *embedded.Server
	client *clientv3.Client // as an operator uses it
}

// newWorld starts the world of a test that runs beside others.
func newWorld(t *testing.T, options ...embedded.Option) *world {
	t.Parallel()
	return newWorldAlone(t, options...)
}

// newWorldAlone is for a test that looks at, or changes, what all tests share.
func newWorldAlone(t *testing.T, options ...embedded.Option) *world {
	s, err := embedded.Start("", options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	w := &world{t, ctx, s, nil}
	w.client = w.newClient()
	return w
}

func (w *world) newClient() *clientv3.Client {
	c, err := w.server.Client()
	require.NoError(w, err)
	w.Cleanup(func() { c.Close() })
	return c
}

// join makes one more process of the fleet.
func (w *world) join(opts ...fleet.Option) *fleet.Fleet {
	f, err := fleet.New(w.ctx, etcd.New(w.newClient(), "test"), opts...)
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		require.NoError(w, f.Close(ctx), "something is still held")
	})
	return f
}

func (w *world) semaphore(f *fleet.Fleet, size int64) *fleet.Semaphore {
	s, err := f.Semaphore(w.ctx, "s", size)
	require.NoError(w, err)
	return s
}

// eventually waits for what the network brings.
func (w *world) eventually(is func() bool, what string) {
	w.Helper()
	require.Eventually(w, is, patience, time.Millisecond, what)
}

// entries returns how many entries the line of a semaphore has.
func (w *world) entries(kind string) int {
	r, err := w.client.Get(w.ctx, "test/"+kind+"/s/q/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(w, err)
	return int(r.Count)
}
