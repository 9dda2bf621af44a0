package contract

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/etcd"
)

// A rota is between a process and its client, which asks three servers in turn. One of them hangs:
// each third request has no answer.
type rota struct {
	clientv3.KV
	clientv3.Lease
	asked atomic.Int64
	hangs atomic.Int64 // the server that does; -1: none
}

func (r *rota) ask(ctx context.Context) error {
	if r.asked.Add(1)%3 == r.hangs.Load() {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (r *rota) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	if err := r.ask(ctx); err != nil {
		return nil, err
	}
	return r.Lease.Grant(ctx, ttl)
}

func (r *rota) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	if err := r.ask(ctx); err != nil {
		return nil, err
	}
	return r.Lease.Revoke(ctx, id)
}

func (r *rota) KeepAliveOnce(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseKeepAliveResponse, error) {
	if err := r.ask(ctx); err != nil {
		return nil, err
	}
	return r.Lease.KeepAliveOnce(ctx, id)
}

func (r *rota) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	if err := r.ask(ctx); err != nil {
		return nil, err
	}
	return r.KV.Get(ctx, key, opts...)
}

func (r *rota) Put(ctx context.Context, key, val string, opts ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	if err := r.ask(ctx); err != nil {
		return nil, err
	}
	return r.KV.Put(ctx, key, val, opts...)
}

// A process joins, joins again after a loss, and leaves while one of three members hangs, whichever
// of its requests meets that member.
func TestJoinWhileAMemberHangs(t *testing.T) {
	w := newWorld(t)
	const ttl = 2 * time.Second
	for first := int64(-1); first < 3; first++ {
		t.Run(strconv.FormatInt(first, 10), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			c := w.newClient()
			r := &rota{KV: c.KV, Lease: c.Lease}
			c.KV, c.Lease = r, r
			r.hangs.Store(first)
			f, err := fleet.New(ctx, etcd.New(c, "test"), fleet.WithTTL(ttl))
			require.NoError(t, err)
			m, err := f.Mutex(ctx, "m"+strconv.FormatInt(first, 10))
			require.NoError(t, err)
			for hangs := range int64(3) {
				r.hangs.Store(hangs)
				p, err := m.LockPermit(ctx)
				require.NoError(t, err)
				_, err = w.client.Revoke(ctx, clientv3.LeaseID(p.Token().Lease))
				require.NoError(t, err)
				<-p.Lost()
				p.Release()
				require.NoError(t, m.LockTimeout(5*ttl), "server %d hangs", hangs)
				m.Unlock()
			}
			r.hangs.Store((r.asked.Load() + 1) % 3) // the next one
			_, err = f.Status(ctx)
			require.NoError(t, err)
			r.hangs.Store((r.asked.Load() + 1) % 3)
			require.NoError(t, f.Close(ctx))
		})
	}
}
