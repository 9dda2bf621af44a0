package contract

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
)

// A hook is between a process and its client. Transactions and watches pass it.
type hook struct {
	clientv3.KV
	clientv3.Watcher
	txn     atomic.Pointer[func(ctx context.Context) error] // before each, if there is one; an error ends it
	watch   atomic.Pointer[func(ctx context.Context)]
	running atomic.Int64
	txns    atomic.Int64 // that were begun
}

// hooked joins a process whose end the test sees to, with a hook.
func (w *world) hooked(opts ...fleet.Option) (*fleet.Fleet, *hook) {
	c := w.newClient()
	h := &hook{KV: c.KV, Watcher: c.Watcher}
	c.KV, c.Watcher = h, h
	f, err := fleet.New(w.ctx, c, "test", opts...)
	require.NoError(w, err)
	return f, h
}

func (h *hook) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	h.running.Add(1)
	defer h.running.Add(-1)
	if do := h.watch.Load(); do != nil {
		(*do)(ctx)
	}
	return h.Watcher.Watch(ctx, key, opts...)
}

func (h *hook) Txn(ctx context.Context) clientv3.Txn {
	return &hookedTxn{h.KV.Txn(ctx), h, ctx}
}

// Close is both interfaces'.
func (h *hook) Close() error { return h.Watcher.Close() }

type hookedTxn struct {
	txn  clientv3.Txn
	hook *hook
	ctx  context.Context
}

func (t *hookedTxn) If(cs ...clientv3.Cmp) clientv3.Txn {
	t.txn = t.txn.If(cs...)
	return t
}

func (t *hookedTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.txn = t.txn.Then(ops...)
	return t
}

func (t *hookedTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.txn = t.txn.Else(ops...)
	return t
}

func (t *hookedTxn) Commit() (*clientv3.TxnResponse, error) {
	t.hook.running.Add(1)
	defer t.hook.running.Add(-1)
	t.hook.txns.Add(1)
	if do := t.hook.txn.Load(); do != nil {
		if err := (*do)(t.ctx); err != nil {
			return nil, err
		}
	}
	return t.txn.Commit()
}

// late returns a while after ctx is done.
func late(ctx context.Context) error {
	<-ctx.Done()
	time.Sleep(100 * time.Millisecond)
	return ctx.Err()
}
