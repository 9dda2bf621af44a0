package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/farad-go/farad/fleet"
)

// Members are three servers of one etcd, which etcd's client reaches by gRPC, without a network.
// They serve what a membership without locks asks for.
type members struct {
	*memory
	all [3]*server
}

// A server is one of the members.
type server struct {
	pb.UnimplementedKVServer
	pb.UnimplementedLeaseServer
	memory   *memory
	listener *bufconn.Listener
	grpc     *grpc.Server

	mu       sync.Mutex
	awake    chan struct{} // closed while it does not hang
	renewals int
	streams  int
	refuses  error // renewals, if there is one
}

func (b *bubble) members() *members {
	m := &members{memory: b.memory}
	for i := range m.all {
		s := &server{memory: b.memory, awake: make(chan struct{})}
		close(s.awake)
		s.serve()
		m.all[i] = s
	}
	return m
}

// serve starts the server, for the first time or again.
func (s *server) serve() {
	l := bufconn.Listen(1 << 16)
	s.grpc = grpc.NewServer()
	pb.RegisterKVServer(s.grpc, s)
	pb.RegisterLeaseServer(s.grpc, s)
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	running := s.grpc
	go func() { _ = running.Serve(hanging{l, s}) }()
}

func (m *members) close() {
	for _, s := range m.all {
		s.resume()
		s.grpc.Stop()
	}
}

// client returns a client of the members, which has them take turns.
func (m *members) client(b *bubble) *clientv3.Client {
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"m0:1", "m1:1", "m2:1"}, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
			s := m.all[to[1]-'0']
			s.mu.Lock()
			l := s.listener
			s.mu.Unlock()
			return l.DialContext(ctx)
		})},
	})
	require.NoError(b, err)
	return c
}

// pause has the server hang: connections stay, and new ones are accepted, but it reads nothing.
func (s *server) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isClosed(s.awake) {
		s.awake = make(chan struct{})
	}
}

func (s *server) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !isClosed(s.awake) {
		close(s.awake)
	}
}

// Hanging makes connections of which the server reads nothing while it hangs.
type hanging struct {
	net.Listener
	server *server
}

func (l hanging) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return hangingConn{c, l.server}, err
}

type hangingConn struct {
	net.Conn
	server *server
}

func (c hangingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.server.mu.Lock()
	awake := c.server.awake
	c.server.mu.Unlock()
	<-awake
	return n, err
}

func (s *server) Range(_ context.Context, r *pb.RangeRequest) (*pb.RangeResponse, error) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return &pb.RangeResponse{Header: s.memory.header(), Kvs: s.memory.find(string(r.Key), r.RangeEnd)}, nil
}

func (s *server) Put(_ context.Context, r *pb.PutRequest) (*pb.PutResponse, error) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.rev++
	return &pb.PutResponse{Header: s.memory.header()}, s.memory.put(string(r.Key), string(r.Value))
}

func (s *server) LeaseGrant(_ context.Context, r *pb.LeaseGrantRequest) (*pb.LeaseGrantResponse, error) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	return &pb.LeaseGrantResponse{Header: s.memory.header(), ID: int64(s.memory.grant(r.TTL)), TTL: r.TTL}, nil
}

func (s *server) LeaseRevoke(_ context.Context, r *pb.LeaseRevokeRequest) (*pb.LeaseRevokeResponse, error) {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	s.memory.revoke(clientv3.LeaseID(r.ID))
	return &pb.LeaseRevokeResponse{Header: s.memory.header()}, nil
}

func (s *server) LeaseKeepAlive(stream pb.Lease_LeaseKeepAliveServer) error {
	s.mu.Lock()
	s.streams++
	s.mu.Unlock()
	for {
		r, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		s.mu.Lock()
		s.renewals++
		refuses := s.refuses
		s.mu.Unlock()
		if refuses != nil {
			return refuses
		}
		s.memory.mu.Lock()
		ttl := s.memory.extend(clientv3.LeaseID(r.ID))
		s.memory.mu.Unlock()
		answer := &pb.LeaseKeepAliveResponse{Header: &pb.ResponseHeader{}, ID: r.ID, TTL: ttl}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
}

// While one of three members hangs nobody loses anything, however long it hangs, and whatever else
// the processes ask for.
func TestNobodyLosesWhileAMemberHangs(t *testing.T) {
	const hangs = 10 * time.Minute
	processes := 30
	if testing.Short() {
		processes = 6
	}
	inBubble(t, func(b *bubble) {
		m := b.members()
		defer m.close()
		var fleets []*fleet.Fleet
		for range processes {
			c := m.client(b)
			defer c.Close()
			f, err := fleet.New(b.ctx, New(c, "test"))
			require.NoError(b, err)
			defer b.leave(f)
			fleets = append(fleets, f)
		}
		time.Sleep(time.Minute)
		var others sync.WaitGroup
		stop := make(chan struct{})
		for i, f := range fleets {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			others.Go(func() {
				for !isClosed(stop) {
					time.Sleep(time.Duration(r.IntN(2000)) * time.Millisecond)
					_, err := f.Status(b.ctx)
					require.NoError(b, err)
				}
			})
		}
		for i := range 3 {
			m.all[i].pause()
			time.Sleep(hangs / 3)
			m.all[i].resume()
		}
		close(stop)
		others.Wait()
		b.goesOn(processes)
	})
}

// A renewal takes one message on a stream that stays, to a member that is not everybody's.
func TestRenewalsHaveAWayOfTheirOwn(t *testing.T) {
	inBubble(t, func(b *bubble) {
		m := b.members()
		defer m.close()
		c := m.client(b)
		defer c.Close()
		used := map[int]bool{}
		for n := 0; n < 20 || len(used) < 3; n++ { // the first way is random
			require.Less(b, n, 200, "some members are never used")
			f, err := fleet.New(b.ctx, New(c, "test"), fleet.WithTTL(6*time.Second))
			require.NoError(b, err)
			for _, s := range m.all {
				s.mu.Lock()
				s.renewals, s.streams = 0, 0
				s.mu.Unlock()
			}
			time.Sleep(time.Minute)
			streams, renewals := 0, 0
			for i, s := range m.all {
				s.mu.Lock()
				if s.renewals > 0 {
					used[i] = true
				}
				streams, renewals = streams+s.streams, renewals+s.renewals
				s.mu.Unlock()
			}
			require.Equal(b, 1, streams)
			require.InDelta(b, 30, renewals, 1)
			b.leave(f)
		}
	})
}

// What a stream was opened with may end: a login, or the member. The renewal then takes another.
func TestAStreamThatEndsIsReplaced(t *testing.T) {
	inBubble(t, func(b *bubble) {
		m := b.members()
		defer m.close()
		c := m.client(b)
		defer c.Close()
		f, err := fleet.New(b.ctx, New(c, "test"))
		require.NoError(b, err)
		for _, err := range []error{
			rpctypes.ErrGRPCInvalidAuthToken, rpctypes.ErrGRPCPermissionDenied, rpctypes.ErrGRPCNoLeader,
		} {
			for i := range m.all {
				m.all[i].mu.Lock()
				m.all[i].refuses = err
				m.all[i].mu.Unlock()
				time.Sleep(fleet.DefaultTTL)
				m.all[i].mu.Lock()
				m.all[i].refuses = nil
				m.all[i].mu.Unlock()
			}
		}
		for _, s := range m.all { // each member is started again
			s.grpc.Stop()
			s.serve()
			time.Sleep(2 * fleet.DefaultTTL)
		}
		b.goesOn(1)
		b.leave(f)
	})
}

// Who closes the client without closing the membership keeps no lease alive.
func TestAClosedClientRenewsNothing(t *testing.T) {
	inBubble(t, func(b *bubble) {
		m := b.members()
		defer m.close()
		c := m.client(b)
		f, err := fleet.New(b.ctx, New(c, "test"))
		require.NoError(b, err)
		require.NoError(b, c.Close())
		time.Sleep(fleet.DefaultTTL + time.Second)
		require.Zero(b, b.lasting())
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		defer cancel()
		require.Error(b, f.Close(ctx))
	})
}

// The endpoints of a client may change while it is used.
func TestEndpointsThatChange(t *testing.T) {
	inBubble(t, func(b *bubble) {
		m := b.members()
		defer m.close()
		c := m.client(b)
		defer c.Close()
		f, err := fleet.New(b.ctx, New(c, "test"))
		require.NoError(b, err)
		for i := range 9 {
			m.all[(i+2)%3].pause() // a member that is none any more
			// etcd's client dials without the lock of its endpoints: nobody may just be dialling.
			synctest.Wait()
			c.SetEndpoints(fmt.Sprintf("m%d:1", i%3), fmt.Sprintf("m%d:1", (i+1)%3))
			time.Sleep(fleet.DefaultTTL)
			m.all[(i+2)%3].resume()
		}
		b.goesOn(1)
		b.leave(f)
	})
}
