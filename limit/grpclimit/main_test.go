package grpclimit_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/grpclimit"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// fixed returns a limiter of n permits whose limit does not change. At the end of the test all
// permits must be back.
func fixed(t *testing.T, n int64, opts ...semaphore.Option) *limit.Limiter {
	t.Helper()
	l := limit.New(semaphore.New(0, opts...), &limit.AIMD{Min: n, Max: n})
	t.Cleanup(func() {
		if !t.Failed() {
			requireAllBack(t, l)
		}
	})
	return l
}

// hold takes a permit.
func hold(t *testing.T, l *limit.Limiter) *limit.Permit {
	t.Helper()
	p, ok := l.TryAcquire(1)
	require.True(t, ok)
	return p
}

func requireAllBack(t *testing.T, l *limit.Limiter) {
	t.Helper()
	locktest.Eventually(t, "all permits are back", func() bool {
		return l.Semaphore().Available() == l.Limit() && l.InFlight() == 0 && l.Semaphore().Waiting() == 0
	})
}

// service is one whose handlers run until the test lets them go or their clients have gone.
type service struct {
	testgrpc.UnimplementedTestServiceServer
	entered chan string   // what a handler is called by
	leave   chan struct{} // closed when all may go
	left    chan error    // the error of the context
	fails   error         // what they return then
}

func newService() *service {
	return &service{entered: make(chan string, 100), leave: make(chan struct{}), left: make(chan error, 100)}
}

func (s *service) stay(ctx context.Context, name string) error {
	if name == "panic" {
		panic("by request")
	}
	if name == "free" {
		return nil
	}
	s.entered <- name
	select {
	case <-s.leave:
	case <-ctx.Done():
	}
	s.left <- ctx.Err()
	return s.fails
}

func (s *service) UnaryCall(ctx context.Context, in *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	return &testgrpc.SimpleResponse{Payload: in.GetPayload()}, s.stay(ctx, string(in.GetPayload().GetBody()))
}

func (s *service) StreamingInputCall(ss testgrpc.TestService_StreamingInputCallServer) error {
	for {
		_, err := ss.Recv()
		if err == io.EOF {
			return ss.SendAndClose(&testgrpc.StreamingInputCallResponse{})
		}
		if err != nil {
			return err
		}
	}
}

// StreamingOutputCall sends one message and stays, or as many as the client takes.
func (s *service) StreamingOutputCall(
	in *testgrpc.StreamingOutputCallRequest, ss testgrpc.TestService_StreamingOutputCallServer,
) error {
	name := string(in.GetPayload().GetBody())
	out := &testgrpc.StreamingOutputCallResponse{Payload: in.GetPayload()}
	if name == "endless" {
		out.Payload = &testgrpc.Payload{Body: make([]byte, 1<<16)}
		s.entered <- name
		for {
			if err := ss.Send(out); err != nil {
				s.left <- ss.Context().Err()
				return err
			}
		}
	}
	if name == "refuse" {
		return status.Error(codes.Aborted, name)
	}
	if err := ss.Send(out); err != nil {
		return err
	}
	return s.stay(ss.Context(), name)
}

func (s *service) FullDuplexCall(ss testgrpc.TestService_FullDuplexCallServer) error {
	for {
		in, err := ss.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			s.left <- ss.Context().Err()
			return err
		}
		if err := ss.Send(&testgrpc.StreamingOutputCallResponse{Payload: in.GetPayload()}); err != nil {
			return err
		}
	}
}

// serve starts a server on loopback, and returns its address.
func serve(t *testing.T, s testgrpc.TestServiceServer, opts ...grpc.ServerOption) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(opts...)
	testgrpc.RegisterTestServiceServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop() // waits for no handler, but ends their contexts
		require.NoError(t, <-served)
	})
	return listener.Addr().String()
}

// connect returns a connection of its own.
func connect(t *testing.T, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // a test may have closed it
	return conn
}

func dial(t *testing.T, address string, opts ...grpc.DialOption) testgrpc.TestServiceClient {
	t.Helper()
	return testgrpc.NewTestServiceClient(connect(t, address, opts...))
}

// onServer puts l around a server.
func onServer(l *limit.Limiter, opts ...grpclimit.Option) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(grpclimit.UnaryServerInterceptor(l, opts...)),
		grpc.ChainStreamInterceptor(grpclimit.StreamServerInterceptor(l, opts...)),
	}
}

// onClient puts l around a client.
func onClient(l *limit.Limiter, opts ...grpclimit.Option) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(grpclimit.UnaryClientInterceptor(l, opts...)),
		grpc.WithChainStreamInterceptor(grpclimit.StreamClientInterceptor(l, opts...)),
	}
}

func payload(name string) *testgrpc.Payload { return &testgrpc.Payload{Body: []byte(name)} }

func call(ctx context.Context, c testgrpc.TestServiceClient, name string, opts ...grpc.CallOption) error {
	_, err := c.UnaryCall(ctx, &testgrpc.SimpleRequest{Payload: payload(name)}, opts...)
	return err
}

// later does a call in a goroutine.
func later(ctx context.Context, c testgrpc.TestServiceClient, name string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call(ctx, c, name) }()
	return done
}

// output opens a stream from the server.
func output(
	ctx context.Context, t *testing.T, c testgrpc.TestServiceClient, name string,
) testgrpc.TestService_StreamingOutputCallClient {
	t.Helper()
	stream, err := c.StreamingOutputCall(ctx, &testgrpc.StreamingOutputCallRequest{Payload: payload(name)})
	require.NoError(t, err)
	return stream
}

// receive fails the test if nothing comes.
func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(locktest.Patience):
		require.FailNow(t, "nothing comes")
		panic("unreachable")
	}
}
