package etcd

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// A memory is an etcd in memory, for bubbles: it has revisions, leases that end, transactions and
// watches, as far as a fleet uses them.
type memory struct {
	mu      sync.Mutex
	rev     int64
	kvs     map[string]*mvccpb.KeyValue
	history []*clientv3.Event
	leases  map[clientv3.LeaseID]*leased
	nextID  clientv3.LeaseID
	changed chan struct{} // closed at each change
}

// firstID is less than that of any lease.
const firstID = 100

// remembered is for how many events a watch may be late.
const remembered = 1 << 12

type leased struct {
	ttl  time.Duration
	ends *time.Timer
}

func newMemory() *memory {
	return &memory{
		rev: 1, kvs: map[string]*mvccpb.KeyValue{}, leases: map[clientv3.LeaseID]*leased{},
		nextID: firstID, changed: make(chan struct{}),
	}
}

// close ends what the bubble would wait for.
func (e *memory) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, l := range e.leases {
		l.ends.Stop()
	}
}

// A connection is how one process reaches an memory. The hooks are called for each request before
// it is sent; an error is the answer.
type connection struct {
	*memory
	trip time.Duration // a round trip

	mu    sync.Mutex
	hook  func(ctx context.Context, request string) error
	signs chan struct{}   // closed when the watches are asked for a sign of life
	known map[string]bool // streams of watches, and whether they hang
}

func (e *memory) connect(distance time.Duration) (*connection, *clientv3.Client) {
	c := &connection{
		memory: e,
		trip:   distance,
		signs:  make(chan struct{}),
		known:  map[string]bool{},
	}
	client := clientv3.NewCtxClient(context.Background())
	client.KV, client.Lease, client.Watcher = kv{c}, lease{c}, watcher{c}
	return c, client
}

// on has requests pass hook from now on.
func (c *connection) on(hook func(ctx context.Context, request string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hook = hook
}

// ask takes a request to the server, does it there, and brings the answer back.
func ask[R any](ctx context.Context, c *connection, name string, do func() (R, error)) (r R, err error) {
	c.mu.Lock()
	hook := c.hook
	c.mu.Unlock()
	if hook != nil {
		if err := hook(ctx, name); err != nil {
			return r, err
		}
	}
	if err := travel(ctx, c.trip/2); err != nil {
		return r, err
	}
	c.memory.mu.Lock()
	r, err = do()
	c.memory.mu.Unlock()
	if lost := travel(ctx, c.trip/2); lost != nil {
		var none R
		return none, lost
	}
	return r, err
}

func travel(ctx context.Context, d time.Duration) error {
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

func (e *memory) header() *etcdserverpb.ResponseHeader {
	return &etcdserverpb.ResponseHeader{Revision: e.rev}
}

// change has an event at the current revision. The lock is held.
func (e *memory) change(t mvccpb.Event_EventType, kv *mvccpb.KeyValue) {
	if len(e.history) >= 2*remembered {
		e.history = append([]*clientv3.Event(nil), e.history[remembered:]...)
	}
	e.history = append(e.history, &clientv3.Event{Type: t, Kv: kv})
	close(e.changed)
	e.changed = make(chan struct{})
}

// put writes a key. Those of processes end with, or have, their lease.
func (e *memory) put(key, value string) error {
	var id clientv3.LeaseID
	parts := strings.Split(key, "/")
	for _, i := range []int{len(parts) - 1, len(parts) - 2} {
		if n, err := strconv.ParseInt(parts[i], 16, 64); err == nil && len(parts[i]) == 16 &&
			(i == len(parts)-2 || parts[i-1] == "member") {
			id = clientv3.LeaseID(n)
		}
	}
	if id != 0 && e.leases[id] == nil {
		return rpctypes.ErrLeaseNotFound
	}
	kv := &mvccpb.KeyValue{
		Key: []byte(key), Value: []byte(value), CreateRevision: e.rev, ModRevision: e.rev, Lease: int64(id),
	}
	if old := e.kvs[key]; old != nil {
		kv.CreateRevision = old.CreateRevision
	}
	e.kvs[key] = kv
	e.change(mvccpb.Event_PUT, kv)
	return nil
}

func (e *memory) remove(key string) {
	if e.kvs[key] != nil {
		delete(e.kvs, key)
		e.change(mvccpb.Event_DELETE, &mvccpb.KeyValue{Key: []byte(key), ModRevision: e.rev})
	}
}

// grant makes a lease. The lock is held.
func (e *memory) grant(ttl int64) clientv3.LeaseID {
	e.nextID++
	id, lasts := e.nextID, time.Duration(ttl)*time.Second
	e.leases[id] = &leased{lasts, time.AfterFunc(lasts, func() { e.expire(id) })}
	return id
}

// extend renews a lease and returns for how long: 0 if there is none. The lock is held.
func (e *memory) extend(id clientv3.LeaseID) int64 {
	l := e.leases[id]
	if l == nil {
		return 0
	}
	l.ends.Reset(l.ttl)
	return int64(l.ttl / time.Second)
}

func (e *memory) expire(id clientv3.LeaseID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.revoke(id)
}

func (e *memory) revoke(id clientv3.LeaseID) {
	l := e.leases[id]
	if l == nil {
		return
	}
	l.ends.Stop()
	delete(e.leases, id)
	e.rev++
	for key, kv := range e.kvs {
		if kv.Lease == int64(id) {
			e.remove(key)
		}
	}
}

func (e *memory) find(key string, end []byte) (all []*mvccpb.KeyValue) {
	for k, kv := range e.kvs {
		if k == key || len(end) > 0 && k >= key && k < string(end) {
			all = append(all, kv)
		}
	}
	slices.SortFunc(all, func(a, b *mvccpb.KeyValue) int { return cmp.Compare(string(a.Key), string(b.Key)) })
	return all
}

// entries returns how many entries there are.
func (e *memory) entries() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for k := range e.kvs {
		if strings.Contains(k, "/q/") {
			n++
		}
	}
	return n
}

type kv struct{ c *connection }

func (k kv) Put(ctx context.Context, key, val string, _ ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	return ask(ctx, k.c, "put", func() (*clientv3.PutResponse, error) {
		k.c.rev++
		err := k.c.put(key, val)
		return &clientv3.PutResponse{Header: k.c.header()}, err
	})
}

func (k kv) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	op := clientv3.OpGet(key, opts...)
	return ask(ctx, k.c, "get", func() (*clientv3.GetResponse, error) {
		return &clientv3.GetResponse{Header: k.c.header(), Kvs: k.c.find(key, op.RangeBytes())}, nil
	})
}

func (k kv) Delete(ctx context.Context, key string, _ ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	return ask(ctx, k.c, "delete", func() (*clientv3.DeleteResponse, error) {
		k.c.rev++
		k.c.remove(key)
		return &clientv3.DeleteResponse{Header: k.c.header()}, nil
	})
}

func (kv) Compact(context.Context, int64, ...clientv3.CompactOption) (*clientv3.CompactResponse, error) {
	return nil, rpctypes.ErrNotCapable
}

func (kv) Do(context.Context, clientv3.Op) (clientv3.OpResponse, error) {
	return clientv3.OpResponse{}, rpctypes.ErrNotCapable
}

func (kv) GetStream(context.Context, string, ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	return nil, rpctypes.ErrNotCapable
}

func (k kv) Txn(ctx context.Context) clientv3.Txn { return &txn{c: k.c, ctx: ctx} }

type txn struct {
	c     *connection
	ctx   context.Context
	guard []clientv3.Cmp
	ops   [2][]clientv3.Op
}

func (t *txn) If(cs ...clientv3.Cmp) clientv3.Txn {
	t.guard = append(t.guard, cs...)
	return t
}

func (t *txn) Then(ops ...clientv3.Op) clientv3.Txn {
	t.ops[0] = append(t.ops[0], ops...)
	return t
}

func (t *txn) Else(ops ...clientv3.Op) clientv3.Txn {
	t.ops[1] = append(t.ops[1], ops...)
	return t
}

func (t *txn) Commit() (*clientv3.TxnResponse, error) {
	return ask(t.ctx, t.c, "txn", func() (*clientv3.TxnResponse, error) {
		e, ops, ok := t.c.memory, t.ops[0], true
		for _, g := range t.guard {
			kv := e.kvs[string(g.KeyBytes())]
			switch c := g.GetCompare(); c.Target {
			case etcdserverpb.Compare_MOD:
				ok = ok && kv.GetModRevision() == c.GetModRevision()
			default:
				ok = ok && kv.GetCreateRevision() == c.GetCreateRevision()
			}
		}
		if !ok {
			ops = t.ops[1]
		}
		if slices.ContainsFunc(ops, func(op clientv3.Op) bool { return !op.IsGet() }) {
			e.rev++
		}
		r := &clientv3.TxnResponse{Header: e.header(), Succeeded: ok}
		for _, op := range ops {
			answer := &etcdserverpb.ResponseOp{}
			switch {
			case op.IsPut():
				if err := e.put(string(op.KeyBytes()), string(op.ValueBytes())); err != nil {
					return nil, err
				}
			case op.IsDelete():
				e.remove(string(op.KeyBytes()))
			default:
				answer.Response = &etcdserverpb.ResponseOp_ResponseRange{ResponseRange: &etcdserverpb.RangeResponse{
					Kvs: e.find(string(op.KeyBytes()), op.RangeBytes()),
				}}
			}
			r.Responses = append(r.Responses, answer)
		}
		return r, nil
	})
}

type lease struct{ c *connection }

func (l lease) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	return ask(ctx, l.c, "grant", func() (*clientv3.LeaseGrantResponse, error) {
		id := l.c.grant(ttl)
		return &clientv3.LeaseGrantResponse{ResponseHeader: l.c.header(), ID: id, TTL: ttl}, nil
	})
}

func (l lease) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	return ask(ctx, l.c, "revoke", func() (*clientv3.LeaseRevokeResponse, error) {
		if l.c.leases[id] == nil {
			return nil, rpctypes.ErrLeaseNotFound
		}
		l.c.revoke(id)
		return &clientv3.LeaseRevokeResponse{Header: l.c.header()}, nil
	})
}

func (l lease) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	return ask(ctx, l.c, "renewal", func() (*clientv3.LeaseKeepAliveResponse, error) {
		ttl := l.c.extend(id)
		if ttl == 0 {
			return nil, rpctypes.ErrLeaseNotFound
		}
		return &clientv3.LeaseKeepAliveResponse{ResponseHeader: l.c.header(), ID: id, TTL: ttl}, nil
	})
}

func (lease) TimeToLive(
	context.Context,
	clientv3.LeaseID,
	...clientv3.LeaseOption,
) (*clientv3.LeaseTimeToLiveResponse, error) {
	return nil, rpctypes.ErrNotCapable
}

func (lease) Leases(context.Context) (*clientv3.LeaseLeasesResponse, error) {
	return nil, rpctypes.ErrNotCapable
}

func (lease) KeepAlive(context.Context, clientv3.LeaseID) (<-chan *clientv3.LeaseKeepAliveResponse, error) {
	return nil, rpctypes.ErrNotCapable
}

func (lease) Close() error { return nil }

// hangStreams has the streams hang on which there are watches now.
func (c *connection) hangStreams() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for stream := range c.known {
		c.known[stream] = true
	}
}

func (c *connection) hangs(stream string) (yes bool, signs chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	yes = c.known[stream]
	c.known[stream] = yes
	return yes, c.signs
}

type watcher struct{ c *connection }

// Watch sends events as they come, and signs of life when they are asked for. As with etcd's
// client, watches with the same metadata share a stream.
func (w watcher) Watch(ctx context.Context, key string, opts ...clientv3.OpOption) clientv3.WatchChan {
	op := clientv3.OpGet(key, opts...)
	out := make(chan clientv3.WatchResponse)
	_, err := ask(ctx, w.c, "watch", func() (struct{}, error) { return struct{}{}, nil })
	if err != nil {
		close(out)
		return out
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	stream := fmt.Sprint(md)
	_, signs := w.c.hangs(stream)
	go func() {
		defer close(out)
		e := w.c.memory
		for at := op.Rev(); ctx.Err() == nil; {
			e.mu.Lock()
			changed := e.changed
			r := clientv3.WatchResponse{Header: e.header()}
			i := len(e.history)
			for i > 0 && e.history[i-1].Kv.ModRevision >= at {
				i--
			}
			for _, ev := range e.history[i:] {
				if k := string(ev.Kv.Key); k >= key && k < string(op.RangeBytes()) {
					r.Events = append(r.Events, ev)
				}
			}
			at = e.rev + 1
			e.mu.Unlock()
			hangs, next := w.c.hangs(stream)
			if (len(r.Events) > 0 || next != signs) && !hangs {
				if travel(ctx, w.c.trip/2) != nil {
					return
				}
				select {
				case out <- r:
				case <-ctx.Done():
					return
				}
			}
			signs = next
			select {
			case <-changed:
			case <-signs:
			case <-ctx.Done():
			}
		}
	}()
	return out
}

func (w watcher) RequestProgress(ctx context.Context) error {
	_, err := ask(ctx, w.c, "progress", func() (struct{}, error) {
		w.c.mu.Lock()
		defer w.c.mu.Unlock()
		close(w.c.signs)
		w.c.signs = make(chan struct{})
		return struct{}{}, nil
	})
	return err
}

func (watcher) Close() error { return nil }
