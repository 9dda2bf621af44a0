package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/store"
)

// etcd is the store of one namespace.
type etcd struct {
	source
	namespace string
}

// New returns the store that has the keys that begin with the namespace and a slash. It panics if
// there is no client or no namespace.
//
// The client remains the caller's: its endpoints, authentication and TLS are used as they are. It
// must stay open until the fleet's Close has returned. For renewals there are further connections,
// to single members. If the client's Lease is not etcd's own, that is asked instead.
func New(client *clientv3.Client, namespace string) store.Store {
	namespace = strings.TrimRight(namespace, "/")
	if client == nil || namespace == "" {
		panic("etcd: New without a client or a namespace")
	}
	space := namespace + "/"
	return &etcd{source{client, space, space}, namespace}
}

func (e *etcd) String() string { return e.namespace + " in etcd" }

func (e *etcd) Line(kind, name string) store.Line {
	id := kind + "/" + url.PathEscape(name)
	return &line{source{e.client, e.space, e.space + id + "/"}, e, id}
}

// Grant rounds a part of a second up.
func (e *etcd) Grant(ctx context.Context, ttl time.Duration) (lease int64, lasts time.Duration, err error) {
	r, err := e.client.Grant(ctx, int64((ttl+time.Second-1)/time.Second))
	if err != nil {
		return 0, 0, marked(err)
	}
	return int64(r.ID), time.Duration(r.TTL) * time.Second, nil
}

// sessionKey is a key whose last change is the epoch of a session.
func (e *etcd) sessionKey(lease int64) string {
	return fmt.Sprintf("%smember/%016x", e.space, uint64(lease))
}

func (e *etcd) Begin(ctx context.Context, s store.Session) (epoch int64, err error) {
	key := e.sessionKey(s.Lease)
	r, err := e.client.Put(ctx, key, s.Who, onLease(s))
	if err != nil {
		return 0, fmt.Errorf("put %s: %w", key, marked(err)) // a role may lack this key
	}
	return r.Header.GetRevision(), nil
}

func onLease(s store.Session) clientv3.OpOption {
	return clientv3.WithLease(clientv3.LeaseID(s.Lease))
}

// Renew goes by the client.
func (e *etcd) Renew(ctx context.Context, lease int64) (lasts time.Duration, rev int64, err error) {
	return lane{e.client.Lease}.Renew(ctx, lease)
}

func (e *etcd) Revoke(ctx context.Context, lease int64) error {
	_, err := e.client.Revoke(ctx, clientv3.LeaseID(lease))
	return marked(err)
}

func (e *etcd) Sessions(ctx context.Context) (all []store.Session, err error) {
	r, err := e.client.Get(ctx, e.space+"member/", clientv3.WithPrefix())
	if err != nil {
		return nil, marked(err)
	}
	for _, kv := range r.Kvs {
		all = append(all, store.Session{Lease: kv.Lease, Who: string(kv.Value)})
	}
	return all, nil
}

// marks are the errors that say something to a fleet.
var marks = []struct{ err, is error }{
	{rpctypes.ErrLeaseNotFound, store.ErrEnded},
	{rpctypes.ErrNoSpace, store.ErrNoSpace},
	{rpctypes.ErrCompacted, store.ErrCompacted},
	{rpctypes.ErrPermissionDenied, store.ErrRefused},
	{rpctypes.ErrUserEmpty, store.ErrRefused},
	{rpctypes.ErrAuthFailed, store.ErrRefused},
}

// marked returns an error of etcd as a fleet knows it.
func marked(err error) error {
	for _, m := range marks {
		if errors.Is(err, m.err) {
			return store.Mark(err, m.is)
		}
	}
	return err
}
