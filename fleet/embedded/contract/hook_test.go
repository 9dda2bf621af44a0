package contract

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/etcd"
)

// An intervention is what happens in a transaction, before it is carried out. apply carries it out
// besides, at any time. With an error the transaction has ended.
type intervention = func(ctx context.Context, apply func(context.Context)) error

// A hook is between a process and its client. Transactions and watches pass it.
type hook struct {
	clientv3.KV
	clientv3.Watcher
	txn     atomic.Pointer[func(ctx context.Context) error] // before each, if there is one; an error ends it
	apart   atomic.Pointer[intervention]                    // in each, if there is one
	get     atomic.Pointer[error]                           // how each read ends, if there is one
	deaf    atomic.Bool                                     // watches end at once
	watch   atomic.Pointer[func(ctx context.Context)]
	running atomic.Int64
	txns    atomic.Int64 // that were begun
}

// hooked joins a process whose end the test sees to, with a hook.
func (w *world) hooked(opts ...fleet.Option) (*fleet.Fleet, *hook) {
	c := w.newClient()
	h := &hook{KV: c.KV, Watcher: c.Watcher}
	c.KV, c.Watcher = h, h
	f, err := fleet.New(w.ctx, etcd.New(c, "test"), opts...)
	require.NoError(w, err)
	return f, h
}

func (h *hook) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	h.running.Add(1)
	defer h.running.Add(-1)
	if do := h.watch.Load(); do != nil {
		(*do)(ctx)
	}
	if h.deaf.Load() {
		over := make(chan clientv3.WatchResponse)
		close(over)
		return over
	}
	return h.Watcher.Watch(ctx, key, opts...)
}

func (h *hook) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if err := h.get.Load(); err != nil && (key == "test/" || strings.HasPrefix(key, "test/semaphore/")) {
		return nil, *err
	}
	return h.KV.Get(ctx, key, opts...)
}

func (h *hook) Txn(ctx context.Context) clientv3.Txn {
	return &hookedTxn{hook: h, ctx: ctx}
}

// Close is both interfaces'.
func (h *hook) Close() error { return h.Watcher.Close() }

type hookedTxn struct {
	hook   *hook
	ctx    context.Context
	guards []clientv3.Cmp
	yes    []clientv3.Op
	no     []clientv3.Op
}

func (t *hookedTxn) If(cs ...clientv3.Cmp) clientv3.Txn {
	t.guards = cs
	return t
}

func (t *hookedTxn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.yes = ops
	return t
}

func (t *hookedTxn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.no = ops
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
	if do := t.hook.apart.Load(); do != nil {
		if err := (*do)(t.ctx, func(ctx context.Context) { _, _ = t.commit(ctx) }); err != nil {
			return nil, err
		}
	}
	return t.commit(t.ctx)
}

func (t *hookedTxn) commit(ctx context.Context) (*clientv3.TxnResponse, error) {
	return t.hook.KV.Txn(ctx).If(t.guards...).Then(t.yes...).Else(t.no...).Commit()
}

// late returns a while after ctx is done.
func late(ctx context.Context) error {
	<-ctx.Done()
	time.Sleep(100 * time.Millisecond)
	return ctx.Err()
}
