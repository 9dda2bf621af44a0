package grpclimit_test

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/grpclimit"
)

// An interceptor behind ours may panic when there is a stream already, which finishes later.
func TestAStreamThatFinishesAfterAPanicIsNoResult(t *testing.T) {
	l := fixed(t, 1)
	stream := grpclimit.StreamClientInterceptor(l, grpclimit.WithEnd(func(*limit.Permit, grpclimit.Call, error) {
		t.Error("what has panicked is no result")
	}))
	var finish func(error)
	require.Panics(t, func() {
		_, _ = stream(t.Context(), new(grpc.StreamDesc), nil, "/s/m", func(
			_ context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, opts ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			finish = opts[0].(grpc.OnFinishCallOption).OnFinish
			panic("after the stream was opened")
		})
	})
	require.Zero(t, l.InFlight())
	held := hold(t, l)
	finish(nil)
	require.EqualValues(t, 1, l.InFlight(), "the permit is another's now")
	held.Ignore()
}

// Invariant 1. A handler or an interceptor may end its goroutine.
func TestAGoexitReturnsThePermit(t *testing.T) {
	l := fixed(t, 1)
	unary := grpclimit.UnaryServerInterceptor(l)
	client := grpclimit.UnaryClientInterceptor(l)
	stream := grpclimit.StreamClientInterceptor(l)
	for _, f := range []func(){
		func() {
			_, _ = unary(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
				runtime.Goexit()
				return nil, nil
			})
		},
		func() {
			_ = client(t.Context(), "/s/m", nil, nil, nil, func(
				context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption,
			) error {
				runtime.Goexit()
				return nil
			})
		},
		func() {
			_, _ = stream(t.Context(), new(grpc.StreamDesc), nil, "/s/m", func(
				context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption,
			) (grpc.ClientStream, error) {
				runtime.Goexit()
				return nil, nil
			})
		},
	} {
		var all sync.WaitGroup
		all.Go(f)
		all.Wait()
		require.Zero(t, l.InFlight())
	}
}

// Streams that their clients abandon end with their contexts or connections, at any moment.
func TestAbandonedStreamsLoseNoPermit(t *testing.T) {
	ofServer, ofClient := fixed(t, 4), fixed(t, 4)
	s := newService()
	go func() {
		for {
			select {
			case err := <-s.left:
				_ = err // whatever a stream ends with
			case <-s.entered:
			case <-t.Context().Done():
				return
			}
		}
	}()
	address := serve(t, s, onServer(ofServer)...)
	for range locktest.Scaled(20) {
		conn := dial(t, address, onClient(ofClient)...)
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				switch i % 4 {
				case 0:
					_, _ = conn.StreamingInputCall(ctx)
				case 1:
					_, _ = conn.StreamingOutputCall(ctx, &testgrpc.StreamingOutputCallRequest{Payload: payload("endless")})
				case 2:
					if ss, err := conn.FullDuplexCall(ctx); err == nil {
						_ = ss.CloseSend()
						_ = ss.CloseSend()
					}
				default:
					if ss, err := conn.StreamingOutputCall(ctx, new(testgrpc.StreamingOutputCallRequest)); err == nil {
						_, _ = ss.Recv()
					}
				}
			})
		}
		all.Wait()
		requireAllBack(t, ofClient)
	}
}
