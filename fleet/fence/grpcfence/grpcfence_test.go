package grpcfence

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/farad-go/farad/fleet/fence"
)

var (
	old   = fence.Token{Rev: 10, Seq: 1, Lease: 1, Survivors: []int64{1}}
	young = fence.Token{Rev: 20, Seq: 1, Lease: 2, Survivors: []int64{2}}
)

// resource is a service with one unary call and one stream, each of which says which token it saw.
type resource struct {
	grpc_health_v1.UnimplementedHealthServer
	tokens chan fence.Token
}

func (s *resource) Check(
	ctx context.Context, _ *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	t, _ := fence.FromContext(ctx)
	s.tokens <- t
	return &grpc_health_v1.HealthCheckResponse{}, nil
}

// Watch sends one message, and another one after the eviction.
func (s *resource) Watch(_ *grpc_health_v1.HealthCheckRequest, ss grpc_health_v1.Health_WatchServer) error {
	t, _ := fence.FromContext(ss.Context())
	if err := ss.Send(&grpc_health_v1.HealthCheckResponse{}); err != nil {
		return err
	}
	s.tokens <- t
	<-ss.Context().Done()
	return ss.Send(&grpc_health_v1.HealthCheckResponse{})
}

// serve starts a server on loopback, and returns a client of it.
func serve(t *testing.T, gate *fence.Gate, options ...grpc.DialOption) (grpc_health_v1.HealthClient, *resource) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := grpc.NewServer(
		grpc.UnaryInterceptor(UnaryServerInterceptor(gate)),
		grpc.StreamInterceptor(StreamServerInterceptor(gate)),
	)
	s := &resource{tokens: make(chan fence.Token, 10)}
	grpc_health_v1.RegisterHealthServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient(listener.Addr().String(), options...)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		server.Stop()
		require.NoError(t, <-served)
	})
	return grpc_health_v1.NewHealthClient(conn), s
}

func withTokens() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithUnaryInterceptor(UnaryClientInterceptor), grpc.WithStreamInterceptor(StreamClientInterceptor),
	}
}

func TestTheTokenOfTheContextIsCheckedBeforeTheHandler(t *testing.T) {
	gate := fence.NewGate(1)
	client, s := serve(t, gate, withTokens()...)
	check := func(token fence.Token) codes.Code {
		_, err := client.Check(fence.NewContext(t.Context(), token), nil)
		return status.Code(err)
	}
	for range 2 { // the permits come back
		require.Equal(t, codes.OK, check(old))
		require.Equal(t, old, <-s.tokens)
	}
	require.Equal(t, codes.OK, check(young))
	require.Equal(t, young, <-s.tokens)
	require.Equal(t, codes.Aborted, check(old))
	require.NoError(t, gate.Begin(young, 1))
	require.Equal(t, codes.ResourceExhausted, check(young))
	require.Equal(t, codes.InvalidArgument, check(fence.Token{}))
	require.Empty(t, s.tokens)
}

func TestACallWithoutOneGoodTokenIsRefused(t *testing.T) {
	client, s := serve(t, fence.NewGate(1))
	with := func(values ...string) context.Context {
		ctx := t.Context()
		for _, value := range values {
			ctx = metadata.AppendToOutgoingContext(ctx, Key, value)
		}
		return ctx
	}
	for _, ctx := range []context.Context{
		with(), with(""), with("nonsense"), with(old.String(), young.String()), fence.NewContext(t.Context(), old),
	} {
		_, err := client.Check(ctx, nil)
		require.Equal(t, codes.InvalidArgument, status.Code(err))
		stream, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err))
	}
	require.Empty(t, s.tokens)
}

func TestAnEvictedStreamIsAborted(t *testing.T) {
	gate := fence.NewGate(1)
	client, s := serve(t, gate, withTokens()...)
	stream, err := client.Watch(fence.NewContext(t.Context(), old), &grpc_health_v1.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	require.Equal(t, old, <-s.tokens)
	_, err = client.Check(fence.NewContext(t.Context(), young), nil) // waits until the stream has ended
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.Aborted, status.Code(err))

	stream, err = client.Watch(fence.NewContext(t.Context(), fence.Token{}), &grpc_health_v1.HealthCheckRequest{})
	require.Nil(t, stream)
	require.Equal(t, codes.InvalidArgument, status.Code(err))
}

// received is a stream whose message arrives after the eviction.
type received struct{ grpc.ServerStream }

func (received) RecvMsg(any) error { return nil }

func TestAnEvictedStreamReceivesNoMore(t *testing.T) {
	gate := fence.NewGate(1)
	require.ErrorIs(t, gate.Do(t.Context(), old, 1, func(ctx context.Context) error {
		s := stream{received{}, ctx}
		require.NoError(t, s.RecvMsg(nil))
		require.NoError(t, gate.Check(young))
		<-ctx.Done()
		err := s.RecvMsg(nil)
		require.Equal(t, codes.Aborted, status.Code(err))
		return err
	}), fence.ErrStale)
}

func TestACallThatGivesUpHasItsOwnCode(t *testing.T) {
	require.Equal(t, codes.Canceled, status.Code(refused(context.Canceled)))
	require.Equal(t, codes.DeadlineExceeded, status.Code(refused(context.DeadlineExceeded)))
	require.Equal(t, codes.NotFound, status.Code(refused(status.Error(codes.NotFound, ""))))
	require.NoError(t, refused(nil))
}
