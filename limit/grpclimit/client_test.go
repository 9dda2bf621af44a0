package grpclimit_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/grpclimit"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestACallHoldsThePermitUntilItsReply(t *testing.T) {
	l, s := fixed(t, 1), newService()
	client := dial(t, serve(t, s), onClient(l)...)
	first := later(t.Context(), client, "first")
	require.Equal(t, "first", receive(t, s.entered))
	second := later(t.Context(), client, "second")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)
	require.EqualValues(t, 1, l.InFlight())
	close(s.leave)
	require.NoError(t, receive(t, first))
	require.NoError(t, receive(t, second))
	require.Zero(t, l.InFlight())
}

// Invariant 1.
func TestAStreamHoldsThePermitUntilItsEnd(t *testing.T) {
	s := newService()
	close(s.leave)
	address := serve(t, s)
	type world struct {
		*testing.T
		l      *limit.Limiter
		conn   *grpc.ClientConn
		cancel context.CancelFunc
	}
	open := func(f func(context.Context, world, testgrpc.TestServiceClient)) func(*testing.T) {
		return func(t *testing.T) {
			l := fixed(t, 1)
			conn := connect(t, address, onClient(l)...)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f(ctx, world{t, l, conn, cancel}, testgrpc.NewTestServiceClient(conn))
		}
	}
	t.Run("read to its end", open(func(ctx context.Context, w world, c testgrpc.TestServiceClient) {
		stream := output(ctx, w.T, c, "free")
		require.EqualValues(w, 1, w.l.InFlight())
		_, err := stream.Recv()
		require.NoError(w, err)
		require.EqualValues(w, 1, w.l.InFlight())
		_, err = stream.Recv()
		require.Equal(w, io.EOF, err)
		require.Zero(w, w.l.InFlight())
	}))
	t.Run("failed", open(func(ctx context.Context, w world, c testgrpc.TestServiceClient) {
		_, err := output(ctx, w.T, c, "refuse").Recv()
		require.Equal(w, codes.Aborted, status.Code(err))
		require.Zero(w, w.l.InFlight())
	}))
	t.Run("closed by the answer", open(func(ctx context.Context, w world, c testgrpc.TestServiceClient) {
		stream, err := c.StreamingInputCall(ctx)
		require.NoError(w, err)
		require.NoError(w, stream.Send(&testgrpc.StreamingInputCallRequest{}))
		require.EqualValues(w, 1, w.l.InFlight())
		_, err = stream.CloseAndRecv()
		require.NoError(w, err)
		require.Zero(w, w.l.InFlight())
	}))
	t.Run("in both directions", open(func(ctx context.Context, w world, c testgrpc.TestServiceClient) {
		stream, err := c.FullDuplexCall(ctx)
		require.NoError(w, err)
		for range 3 {
			require.NoError(w, stream.Send(&testgrpc.StreamingOutputCallRequest{}))
			_, err := stream.Recv()
			require.NoError(w, err)
		}
		require.NoError(w, stream.CloseSend())
		require.EqualValues(w, 1, w.l.InFlight())
		_, err = stream.Recv()
		require.Equal(w, io.EOF, err)
		require.Zero(w, w.l.InFlight())
	}))
	t.Run("given up", open(func(ctx context.Context, w world, c testgrpc.TestServiceClient) {
		output(ctx, w.T, c, "endless")
		w.cancel()
		requireAllBack(w.T, w.l) // though nobody receives
	}))
	t.Run("without its connection", open(func(ctx context.Context, w world, c testgrpc.TestServiceClient) {
		output(ctx, w.T, c, "endless")
		require.NoError(w, w.conn.Close())
		requireAllBack(w.T, w.l)
	}))
	t.Run("never opened", open(func(ctx context.Context, w world, c testgrpc.TestServiceClient) {
		require.NoError(w, w.conn.Close())
		_, err := c.FullDuplexCall(ctx)
		require.Equal(w, codes.Canceled, status.Code(err))
		require.Zero(w, w.l.InFlight())
	}))
}

// Invariant 2.
func TestARefusedCallIsNotSent(t *testing.T) {
	l, s := fixed(t, 1, semaphore.WithMaxWaiting(1)), newService()
	address := serve(t, s)
	client := dial(t, address, onClient(l)...)
	brief := dial(t, address, onClient(l, grpclimit.WithMaxWait(time.Millisecond))...)
	isTwo := func(context.Context, grpclimit.Call) int64 { return 2 }
	two := dial(t, address, onClient(l, grpclimit.WithCost(isTwo))...)
	refused := func(
		ctx context.Context, c testgrpc.TestServiceClient, code codes.Code, cause error, again time.Duration,
	) {
		t.Helper()
		err := call(ctx, c, "refused")
		require.Equal(t, code, status.Code(err))
		require.ErrorIs(t, err, cause)
		require.Equal(t, again, retryAfter(t, err))
		require.Contains(t, err.Error(), "rpc error: code = "+code.String())
		_, err = c.FullDuplexCall(ctx)
		require.Equal(t, code, status.Code(err))
		require.ErrorIs(t, err, cause)
	}
	first := later(t.Context(), client, "first")
	require.Equal(t, "first", receive(t, s.entered))

	refused(t.Context(), two, codes.ResourceExhausted, semaphore.ErrTooLarge, -1)
	refused(t.Context(), brief, codes.ResourceExhausted, context.DeadlineExceeded, time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	refused(ctx, client, codes.DeadlineExceeded, context.DeadlineExceeded, -1)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	refused(gone, client, codes.Canceled, context.Canceled, -1)
	second := later(t.Context(), client, "second")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)
	refused(t.Context(), client, codes.ResourceExhausted, semaphore.ErrQueueFull, time.Second)

	close(s.leave)
	require.NoError(t, receive(t, first))
	require.NoError(t, receive(t, second))
	require.Equal(t, "second", receive(t, s.entered))
	l.Semaphore().Close()
	refused(t.Context(), client, codes.Unavailable, semaphore.ErrClosed, -1)
	require.Empty(t, s.entered)
}

// Interceptors behind ours may panic, or fail before there is a stream.
func TestAnInterceptorMayFail(t *testing.T) {
	l := fixed(t, 1)
	ends := 0
	count := grpclimit.WithEnd(func(p *limit.Permit, _ grpclimit.Call, _ error) {
		ends++
		p.Success()
	})
	unary, stream := grpclimit.UnaryClientInterceptor(l, count), grpclimit.StreamClientInterceptor(l, count)
	failed := errors.New("failed")
	_, err := stream(t.Context(), new(grpc.StreamDesc), nil, "/s/m", func(
		_ context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		opts[0].(grpc.OnFinishCallOption).OnFinish(failed) // as gRPC does
		return nil, failed
	})
	require.Equal(t, failed, err)
	require.Equal(t, 1, ends)
	require.Panics(t, func() {
		_, _ = stream(t.Context(), new(grpc.StreamDesc), nil, "/s/m", func(
			context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption,
		) (grpc.ClientStream, error) {
			panic("failed")
		})
	})
	require.Panics(t, func() {
		_ = unary(t.Context(), "/s/m", nil, nil, nil, func(
			context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption,
		) error {
			panic("failed")
		})
	})
	require.Equal(t, 1, ends)
	require.Zero(t, l.InFlight())
}

// The options of the caller stay as they are.
func TestTheCallOptionsOfOthersStay(t *testing.T) {
	l := fixed(t, 1)
	shared := make([]grpc.CallOption, 1, 2)
	shared[0] = grpc.WaitForReady(true)
	stream := grpclimit.StreamClientInterceptor(l)
	_, err := stream(t.Context(), new(grpc.StreamDesc), nil, "/s/m", func(
		_ context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		require.Len(t, opts, 2)
		return nil, io.ErrUnexpectedEOF
	}, shared...)
	require.Equal(t, io.ErrUnexpectedEOF, err)
	require.Nil(t, shared[:2][1])
}

// recorder is a controller that keeps the samples.
type recorder struct{ samples []limit.Sample }

func (*recorder) Limit() int64 { return 2 }

func (r *recorder) Update(s limit.Sample) int64 {
	r.samples = append(r.samples, s)
	return 2
}

func TestTheEndOfAPermitFollowsFromTheCode(t *testing.T) {
	of := func(c codes.Code) error { return status.Error(c, "") }
	unary, stream := grpclimit.Call{}, grpclimit.Call{Stream: true}
	for _, c := range []struct {
		want string
		call grpclimit.Call
		err  error
	}{
		{"success", unary, nil},
		{"success", unary, of(codes.NotFound)},
		{"success", unary, of(codes.InvalidArgument)},
		{"success", unary, of(codes.Aborted)},
		{"dropped", unary, of(codes.ResourceExhausted)},
		{"dropped", unary, of(codes.Unavailable)},
		{"dropped", unary, of(codes.DeadlineExceeded)},
		{"dropped", unary, context.DeadlineExceeded}, // gRPC gives it that code
		{"ignore", unary, of(codes.Canceled)},
		{"ignore", unary, context.Canceled},
		{"ignore", unary, of(codes.Internal)},
		{"ignore", unary, of(codes.Unimplemented)},
		{"ignore", unary, of(codes.DataLoss)},
		{"ignore", unary, errors.New("unknown")},
		{"ignore", stream, nil},
		{"ignore", stream, of(codes.Unavailable)},
	} {
		synctest.Test(t, func(t *testing.T) {
			seen := new(recorder)
			l := limit.New(semaphore.New(0), seen, limit.WithWindow(0, 1))
			l.Start(0).Dropped() // opens a window, which is long enough then
			time.Sleep(time.Hour)
			p, ok := l.TryAcquire(1)
			require.True(t, ok)
			time.Sleep(time.Second)
			grpclimit.End(p, c.call, c.err)
			require.Zero(t, l.InFlight())
			got := "ignore"
			if len(seen.samples) > 1 {
				got = map[bool]string{true: "dropped", false: "success"}[seen.samples[1].Dropped]
			}
			require.Equal(t, c.want, got, "%+v: %v", c.call, c.err)
		})
	}
}
