package fleet

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/farad-go/farad/fleet/internal/clock"
)

// Renewals, which keep permits alive, have ways of their own to the servers. So neither a server
// that hangs nor other requests of the process delay them.
//
// A renewal is due a third of the TTL after the last one was sent. It is asked for on the way that
// has answered last. If no answer comes within two round trips it is asked for on the next way as
// well, and so on, until one answers. None is given up before the session is over. So a session
// lasts while any server answers within 7/15 of the TTL, and the servers may be as far away.

// A path is a way to the servers. It is used for one renewal at a time.
type path interface {
	// renew renews a lease and returns for how long, and which revision the server has.
	renew(ctx context.Context, lease clientv3.LeaseID) (ttl, rev int64, err error)

	// prepare has the next renewal find a connection.
	prepare()

	close()
}

// A lane is a way by the client, which asks the servers in turn. Several renewals on lanes ask
// several servers.
type lane struct{ lease clientv3.Lease }

func (l lane) renew(ctx context.Context, lease clientv3.LeaseID) (ttl, rev int64, err error) {
	r, err := l.lease.KeepAliveOnce(ctx, lease)
	if err != nil {
		return 0, 0, err
	}
	return r.TTL, r.GetRevision(), nil
}

func (lane) prepare() {}
func (lane) close()   {}

// A road is a way to one server by a connection of its own, with the client's settings. Its stream
// stays from one renewal to the next: a client with a password logs in for each stream.
type road struct {
	client   *clientv3.Client
	endpoint string
	conn     *grpc.ClientConn
	stream   pb.Lease_LeaseKeepAliveClient // nil: none
	end      context.CancelFunc            // ends the stream
}

func (r *road) renew(ctx context.Context, lease clientv3.LeaseID) (ttl, rev int64, err error) {
	old := r.stream != nil
	ttl, rev, err = r.exchange(ctx, lease)
	if err != nil && old && ctx.Err() == nil { // its login has ended, or its server
		ttl, rev, err = r.exchange(ctx, lease)
	}
	return ttl, rev, clientv3.ContextError(ctx, err)
}

func (r *road) exchange(ctx context.Context, lease clientv3.LeaseID) (ttl, rev int64, err error) {
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
	if err := r.stream.Send(&pb.LeaseKeepAliveRequest{ID: int64(lease)}); err != nil && !errors.Is(err, io.EOF) {
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

func (r *road) prepare() {
	if r.connect() == nil {
		r.conn.Connect()
	}
}

func (r *road) close() {
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

// pathsOf returns ways to the servers of a client. If its owner has put something before its Lease,
// that is what is asked.
func pathsOf(client *clientv3.Client, endpoints []string) (all []path) {
	if len(endpoints) == 0 || reflect.TypeOf(client.Lease) != plainLease {
		for range lanes {
			all = append(all, lane{client.Lease})
		}
		return all
	}
	for i := range max(leastRoads, len(endpoints)) {
		all = append(all, &road{client: client, endpoint: endpoints[i%len(endpoints)]})
	}
	return all
}

// A way is a path, and whether a renewal is under way on it.
type way struct {
	path
	busy bool
}

// A renewal is what a request to renew has brought.
type renewal struct {
	way  *way
	sent clock.Instant
	ttl  int64
	rev  int64 // that the server has
	err  error
}

// A renewer renews the lease of one session. Only the goroutine that keeps the session uses it.
type renewer struct {
	fleet     *Fleet
	session   *session
	endpoints []string
	ways      []*way
	first     int           // the way that has answered last
	next      int           // the way that is asked next
	trip      time.Duration // how long an answer takes on a way; 0: not known

	last     int64 // when the renewal was sent that succeeded last, on the monotonic clock
	due      int64 // when to send the next one
	answered bool  // since it was due

	ctx      context.Context //nolint:containedctx // of the requests
	stop     context.CancelFunc
	requests sync.WaitGroup
	renewals chan renewal
}

func newRenewer(f *Fleet, s *session) *renewer {
	r := &renewer{
		fleet: f, session: s, trip: f.patience.roundTrip(), answered: true, last: s.began,
		renewals: make(chan renewal),
	}
	r.due = r.last + int64(f.ttl/3)
	r.ctx, r.stop = context.WithCancel(f.ctx)
	r.follow()
	return r
}

// follow has ways to the endpoints that the client has now.
func (r *renewer) follow() {
	endpoints := r.fleet.client.Endpoints()
	if r.ways != nil && slices.Equal(endpoints, r.endpoints) {
		return
	}
	for _, w := range r.ways {
		if !w.busy {
			w.close()
		}
	}
	r.endpoints, r.ways = endpoints, nil
	for _, p := range pathsOf(r.fleet.client, endpoints) {
		r.ways = append(r.ways, &way{path: p})
	}
	r.first = rand.IntN(len(r.ways))
	r.next = r.first
	r.ways[r.first].prepare()
}

// keep renews the session until it is over, or the membership ends. A timer stands still while the
// machine is suspended, and does not follow the wall clock. So the clocks are looked at often,
// whatever is under way: holders that only wait for Lost learn of the loss here.
func (r *renewer) keep() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for r.session.valid() {
		now := clock.Now().Mono
		if now >= r.due {
			r.ask()
			r.due = now + int64(r.patience())
		}
		timer.Reset(min(r.fleet.look(), time.Duration(r.due-now)))
		select {
		case <-timer.C:
		case got := <-r.renewals:
			if !r.took(got) {
				return
			}
		case <-r.session.lost:
			return
		case <-r.ctx.Done():
			return
		}
	}
}

// patience is for how long the answer of a way is waited for before the next way is asked as well.
func (r *renewer) patience() time.Duration {
	most := min(r.fleet.ttl/10, time.Second)
	if r.trip == 0 {
		return most
	}
	return min(most, max(50*time.Millisecond, 2*r.trip))
}

// ask asks for a renewal on the next way on which none is under way.
func (r *renewer) ask() {
	r.answered = false
	r.follow()
	for range r.ways {
		w := r.ways[r.next%len(r.ways)]
		r.next++
		if w.busy {
			continue
		}
		w.busy = true
		sent := clock.Now()
		r.requests.Go(func() {
			ctx, cancel := context.WithTimeout(r.ctx, r.session.left())
			defer cancel()
			ttl, rev, err := w.renew(ctx, r.session.lease)
			select {
			case r.renewals <- renewal{w, sent, ttl, rev, err}:
			case <-r.ctx.Done():
			}
		})
		return
	}
}

// took takes what a request has brought, and reports whether the session goes on.
func (r *renewer) took(got renewal) bool {
	got.way.busy = false
	i := slices.Index(r.ways, got.way)
	if i < 0 {
		got.way.close()
	}
	now := clock.Now().Mono
	switch {
	case errors.Is(got.err, rpctypes.ErrLeaseNotFound), got.err == nil && got.ttl <= 0:
		return false
	case got.err == nil:
		if !r.session.renew(got.sent, min(r.fleet.ttl, time.Duration(got.ttl)*time.Second)) {
			return false
		}
		if !r.answered && i >= 0 {
			r.first, r.trip = i, smooth(r.trip, time.Duration(now-got.sent.Mono))
		}
		r.answered = true
		r.fleet.feed.heard(got.rev)
		r.last = max(r.last, got.sent.Mono)
		r.due = r.last + int64(r.fleet.ttl/3)
		r.next = r.first
	case got.sent.Mono < r.last: // another way has answered since
	case isRefusal(got.err): // somebody may put that right before the session is over
		r.due = now + int64(r.fleet.ttl/10)
	default:
		r.due = min(r.due, now+int64(retryAfter(got.err, 0)))
	}
	return true
}

// close ends all requests.
func (r *renewer) close() {
	r.stop()
	r.requests.Wait()
	for _, w := range r.ways {
		w.close()
	}
}
