package etcd

import (
	"context"
	"errors"
	"io"
	"reflect"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/farad-go/farad/fleet/store"
)

// A lane is a way by the client, which asks the servers in turn. Several renewals on lanes ask
// several servers.
type lane struct{ lease clientv3.Lease }

func (l lane) Renew(ctx context.Context, lease int64) (lasts time.Duration, rev int64, err error) {
	r, err := l.lease.KeepAliveOnce(ctx, clientv3.LeaseID(lease))
	if err != nil {
		return 0, 0, marked(err)
	}
	return lasting(r.TTL, r.GetRevision())
}

// lasting returns what an answer says of a lease.
func lasting(ttl, rev int64) (lasts time.Duration, _ int64, err error) {
	if ttl <= 0 {
		return 0, 0, marked(rpctypes.ErrLeaseNotFound)
	}
	return time.Duration(ttl) * time.Second, rev, nil
}

func (lane) Prepare() {}
func (lane) Close()   {}

// A road is a way to one server by a connection of its own, with the client's settings. Its stream
// stays from one renewal to the next: a client with a password logs in for each stream.
type road struct {
	client   *clientv3.Client
	endpoint string
	conn     *grpc.ClientConn
	stream   pb.Lease_LeaseKeepAliveClient // nil: none
	end      context.CancelFunc            // ends the stream
}

func (r *road) Renew(ctx context.Context, lease int64) (lasts time.Duration, rev int64, err error) {
	old := r.stream != nil
	ttl, rev, err := r.exchange(ctx, lease)
	if err != nil && old && ctx.Err() == nil { // its login has ended, or its server
		ttl, rev, err = r.exchange(ctx, lease)
	}
	if err != nil {
		return 0, 0, marked(clientv3.ContextError(ctx, err))
	}
	return lasting(ttl, rev)
}

func (r *road) exchange(ctx context.Context, lease int64) (ttl, rev int64, err error) {
	if err := r.client.Ctx().Err(); err != nil {
		return 0, 0, err // the client is closed
	}
	streaming := ctx
	if r.stream == nil {
		streaming, r.end = context.WithCancel(context.WithoutCancel(ctx))
	}
	attached := context.AfterFunc(ctx, r.end)
	defer func() {
		if !attached() || err != nil { // a late answer must not count as one to the next renewal
			r.endStream()
		}
	}()
	if r.stream == nil {
		if err := r.connect(); err != nil {
			return 0, 0, err
		}
		r.stream, err = pb.NewLeaseClient(r.conn).LeaseKeepAlive(streaming, grpc.WaitForReady(true))
		if err != nil {
			return 0, 0, err
		}
	}
	if err := r.stream.Send(&pb.LeaseKeepAliveRequest{ID: lease}); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, err
	}
	answer, err := r.stream.Recv() // which also says why Send has found the end of the stream
	if err != nil {
		return 0, 0, err
	}
	return answer.GetTTL(), answer.GetHeader().GetRevision(), nil
}

func (r *road) endStream() {
	r.end()
	r.stream, r.end = nil, nil
}

func (r *road) connect() (err error) {
	if r.conn == nil {
		r.conn, err = r.client.Dial(r.endpoint)
	}
	return err
}

func (r *road) Prepare() {
	if r.connect() == nil {
		r.conn.Connect()
	}
}

func (r *road) Close() {
	if r.stream != nil {
		r.endStream()
	}
	if r.conn != nil {
		_ = r.conn.Close()
	}
}

const (
	// leastRoads is how many roads there are, also if there are fewer endpoints: one may stand for
	// several servers.
	leastRoads = 3

	// lanes is how many renewals are under way at once by the client. A third of them may ask a
	// server that hangs.
	lanes = 16
)

// plainLease is the type of the Lease that a client has unless its owner puts something before it.
var plainLease = reflect.TypeOf(clientv3.NewLeaseFromLeaseClient(nil, nil, 0))

// Ways names a way for each endpoint that the client has now, or lanes: if its owner has put
// something before its Lease, that is what is asked.
func (e *etcd) Ways() (names []string) {
	endpoints := e.client.Endpoints()
	if len(endpoints) == 0 || reflect.TypeOf(e.client.Lease) != plainLease {
		return make([]string, lanes)
	}
	for i := range max(leastRoads, len(endpoints)) {
		names = append(names, endpoints[i%len(endpoints)])
	}
	return names
}

// Way returns the road to an endpoint, or a lane if that is empty.
func (e *etcd) Way(endpoint string) store.Way {
	if endpoint == "" {
		return lane{e.client.Lease}
	}
	return &road{client: e.client, endpoint: endpoint}
}
