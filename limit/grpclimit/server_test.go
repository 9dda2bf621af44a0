package grpclimit_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testgrpc "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/grpclimit"
	"github.com/farad-go/farad/sync/semaphore"
)

const pushback = "grpc-retry-pushback-ms"

// retryAfter returns what a refusal says in its detail, or -1.
func retryAfter(t *testing.T, err error) time.Duration {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		info, ok := d.(*errdetails.RetryInfo)
		require.True(t, ok)
		return info.GetRetryDelay().AsDuration()
	}
	return -1
}

// Invariant 2.
func TestAsManyRunAsThereArePermits(t *testing.T) {
	l, s := fixed(t, 2), newService()
	client := dial(t, serve(t, s, onServer(l)...))
	var calls []<-chan error
	for range 5 {
		calls = append(calls, later(t.Context(), client, ""))
	}
	receive(t, s.entered)
	receive(t, s.entered)
	locktest.AwaitWaiting(t, l.Semaphore(), 3)
	require.Empty(t, s.entered)
	require.EqualValues(t, 2, l.InFlight())
	close(s.leave)
	for _, c := range calls {
		require.NoError(t, receive(t, c))
	}
}

// Invariant 3.
func TestARefusedCallSaysWhenToComeAgain(t *testing.T) {
	l, s := fixed(t, 1, semaphore.WithMaxWaiting(1)), newService()
	client := dial(t, serve(t, s, onServer(l)...))
	first := later(t.Context(), client, "first")
	require.Equal(t, "first", receive(t, s.entered))
	second := later(t.Context(), client, "second")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)

	var trailer metadata.MD
	err := call(t.Context(), client, "third", grpc.Trailer(&trailer))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, "no permit: farad: too many waiters", status.Convert(err).Message())
	require.Equal(t, time.Second, retryAfter(t, err))
	require.Equal(t, []string{"1000"}, trailer.Get(pushback))

	stream := output(t.Context(), t, client, "fourth")
	_, err = stream.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, time.Second, retryAfter(t, err))
	require.Equal(t, []string{"1000"}, stream.Trailer().Get(pushback))

	close(s.leave)
	require.NoError(t, receive(t, first))
	require.NoError(t, receive(t, second))
	require.Equal(t, "second", receive(t, s.entered))
	require.Empty(t, s.entered)
}

// The retry policy of gRPC waits for as long as the trailer says, not for its own millisecond.
func TestTheRetriesOfGRPCWaitAsLongAsTheyAreTold(t *testing.T) {
	const policy = `{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": 5, "initialBackoff": "0.001s", "maxBackoff": "0.001s", "backoffMultiplier": 1,
		"retryableStatusCodes": ["RESOURCE_EXHAUSTED"]}}]}`
	l, s := fixed(t, 1, semaphore.WithMaxWaiting(1)), newService()
	address := serve(t, s, onServer(l)...)
	client := dial(t, address)
	first := later(t.Context(), client, "first")
	receive(t, s.entered)
	second := later(t.Context(), client, "second")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)

	refused := make(chan struct{})
	var attempts atomic.Int64
	count := func(
		ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
	) (any, error) {
		reply, err := handle(ctx, req)
		if attempts.Add(1) == 1 {
			close(refused)
		}
		return reply, err
	}
	again := serve(t, s, append([]grpc.ServerOption{grpc.ChainUnaryInterceptor(count)}, onServer(l)...)...)
	began := time.Now()
	third := later(t.Context(), dial(t, again, grpc.WithDefaultServiceConfig(policy)), "third")
	receive(t, refused)
	close(s.leave)
	require.NoError(t, receive(t, third))
	require.Greater(t, attempts.Load(), int64(1))
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	require.NoError(t, receive(t, first))
	require.NoError(t, receive(t, second))
}

func TestACallWaitsNoLongerThanItMay(t *testing.T) {
	l := fixed(t, 1)
	defer hold(t, l).Ignore()
	client := dial(t, serve(t, newService(), onServer(l, grpclimit.WithMaxWait(20*time.Millisecond))...))
	err := call(t.Context(), client, "")
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.Equal(t, "no permit: waited for 20ms", status.Convert(err).Message())
	require.Equal(t, time.Second, retryAfter(t, err))
}

// A repetition does not help, so none is suggested. With another server it may.
func TestWhatCannotBeServedIsNotAskedToComeAgain(t *testing.T) {
	cost := func(_ context.Context, c grpclimit.Call) int64 {
		if c.Stream {
			return 0
		}
		return int64(len(c.Request.(*testgrpc.SimpleRequest).GetPayload().GetBody()))
	}
	l, s := fixed(t, 2), newService()
	client := dial(t, serve(t, s, onServer(l, grpclimit.WithCost(cost))...))
	close(s.leave)
	refused := func(code codes.Code, name string) {
		t.Helper()
		var trailer metadata.MD
		err := call(t.Context(), client, name, grpc.Trailer(&trailer))
		require.Equal(t, code, status.Code(err))
		require.EqualValues(t, -1, retryAfter(t, err))
		require.Empty(t, trailer.Get(pushback))
	}
	refused(codes.ResourceExhausted, "abc")
	l.Semaphore().Close()
	refused(codes.Unavailable, "a")
	require.NoError(t, call(t.Context(), client, "")) // it has passed by
	_, err := output(t.Context(), t, client, "").Recv()
	require.NoError(t, err)
}

func TestACallHoldsWhatItCosts(t *testing.T) {
	cost := func(_ context.Context, c grpclimit.Call) int64 {
		require.Equal(t, "/grpc.testing.TestService/UnaryCall", c.Method)
		return int64(len(c.Request.(*testgrpc.SimpleRequest).GetPayload().GetBody()))
	}
	l, s := fixed(t, 10), newService()
	client := dial(t, serve(t, s, onServer(l, grpclimit.WithCost(cost))...))
	first, second := later(t.Context(), client, "abcd"), later(t.Context(), client, "abc")
	receive(t, s.entered)
	receive(t, s.entered)
	require.EqualValues(t, 3, l.Semaphore().Available())
	close(s.leave)
	require.NoError(t, receive(t, first))
	require.NoError(t, receive(t, second))
}

// A tenant that makes one call does not wait for all those of one that makes many.
func TestTenantsHaveShares(t *testing.T) {
	tenant := grpclimit.WithTenant(func(ctx context.Context, c grpclimit.Call) any {
		require.Equal(t, "/grpc.testing.TestService/UnaryCall", c.Method)
		return metadata.ValueFromIncomingContext(ctx, "tenant")[0]
	})
	l, s := fixed(t, 1, semaphore.WithShares(nil)), newService()
	close(s.leave)
	held := hold(t, l)
	client := dial(t, serve(t, s, onServer(l, tenant)...))
	var all []<-chan error
	for i, name := range []string{"a", "a", "a", "a", "a", "a", "b"} {
		all = append(all, later(metadata.AppendToOutgoingContext(t.Context(), "tenant", name), client, name))
		locktest.AwaitWaiting(t, l.Semaphore(), i+1)
	}
	held.Ignore()
	for _, c := range all {
		require.NoError(t, receive(t, c))
	}
	before := 0
	for receive(t, s.entered) != "b" {
		before++
	}
	require.LessOrEqual(t, before, 3)
}

// told is a stream that only takes trailers.
type told struct {
	grpc.ServerStream
	ctx     context.Context
	trailer metadata.MD
}

func (s *told) Context() context.Context       { return s.ctx }
func (s *told) SetTrailer(trailer metadata.MD) { s.trailer = trailer }

// The semaphore knows at which rate its line moves.
func TestARefusalSaysHowLongTheLineLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := fixed(t, 1, semaphore.WithQueue(semaphore.Queue{MaxWaiting: 4}))
		interceptor := grpclimit.StreamServerInterceptor(l)
		serve := func() (metadata.MD, error) {
			ss := &told{ctx: t.Context()}
			err := interceptor(nil, ss, new(grpc.StreamServerInfo), func(any, grpc.ServerStream) error {
				time.Sleep(1500*time.Millisecond + 1)
				return nil
			})
			return ss.trailer, err
		}
		var all sync.WaitGroup
		defer all.Wait()
		for range 5 { // one is served and four wait
			all.Go(func() {
				for range 30 {
					_, _ = serve()
				}
			})
		}
		time.Sleep(100 * time.Second) // so that the rate is known
		var refusal *semaphore.Refusal
		require.ErrorAs(t, l.Semaphore().Acquire(t.Context(), 1), &refusal)
		require.NotZero(t, refusal.RetryAfter)
		trailer, err := serve()
		require.Equal(t, refusal.RetryAfter, retryAfter(t, err))
		ms := (refusal.RetryAfter + time.Millisecond - 1) / time.Millisecond
		require.Equal(t, []string{strconv.Itoa(int(ms))}, trailer.Get(pushback))
	})
}

// The deadline of a client's context is that of the wait on the server.
func TestAClientThatGoesLeavesTheLine(t *testing.T) {
	l, s := fixed(t, 1), newService()
	client := dial(t, serve(t, s, onServer(l)...))
	first := later(t.Context(), client, "first")
	require.Equal(t, "first", receive(t, s.entered))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	second := later(ctx, client, "second")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)
	cancel()
	require.Equal(t, codes.Canceled, status.Code(receive(t, second)))
	locktest.AwaitWaiting(t, l.Semaphore(), 0)

	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	stream, err := client.StreamingOutputCall(ctx, nil)
	if err == nil { // the deadline has not passed here
		_, err = stream.Recv()
	}
	require.Equal(t, codes.DeadlineExceeded, status.Code(err))
	locktest.AwaitWaiting(t, l.Semaphore(), 0)

	close(s.leave)
	require.NoError(t, receive(t, first))
	require.Empty(t, s.entered)
}

// Invariant 1.
func TestAClientThatGoesWhileItIsServedReturnsItsPermit(t *testing.T) {
	l, s := fixed(t, 1), newService()
	ended := make(chan error, 10)
	address := serve(t, s, onServer(l, grpclimit.WithEnd(func(p *limit.Permit, c grpclimit.Call, err error) {
		ended <- err // first: the permit wakes a handler that reports, too
		grpclimit.End(p, c, err)
	}))...)
	s.fails = errors.New("what a handler makes of it")
	client := dial(t, address)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := later(ctx, client, "")
	receive(t, s.entered)
	cancel()
	require.Equal(t, codes.Canceled, status.Code(receive(t, done)))
	require.ErrorIs(t, receive(t, s.left), context.Canceled)
	require.Equal(t, codes.Canceled, status.Code(receive(t, ended)))

	conn := connect(t, address) // vanishes with its stream
	stream, err := testgrpc.NewTestServiceClient(conn).FullDuplexCall(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(&testgrpc.StreamingOutputCallRequest{}))
	_, err = stream.Recv()
	require.NoError(t, err)
	other := later(t.Context(), client, "free")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)
	require.NoError(t, conn.Close())
	require.ErrorIs(t, receive(t, s.left), context.Canceled)
	require.Equal(t, codes.Canceled, status.Code(receive(t, ended)))
	require.NoError(t, receive(t, other))
	require.NoError(t, receive(t, ended))
}

// Invariant 1.
func TestAPanicReturnsThePermit(t *testing.T) {
	l, s := fixed(t, 1), newService()
	recovered := func(err *error) {
		if v := recover(); v != nil {
			*err = status.Errorf(codes.DataLoss, "%v", v)
		}
	}
	unary := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (_ any, err error) {
		defer recovered(&err)
		return handle(ctx, req)
	}
	stream := func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
		defer recovered(&err)
		return handle(srv, ss)
	}
	before := []grpc.ServerOption{grpc.ChainUnaryInterceptor(unary), grpc.ChainStreamInterceptor(stream)}
	notCalled := grpclimit.WithEnd(func(*limit.Permit, grpclimit.Call, error) { t.Error("a panic is no result") })
	client := dial(t, serve(t, s, append(before, onServer(l, notCalled)...)...))
	for range 3 {
		err := call(t.Context(), client, "panic")
		require.Equal(t, codes.DataLoss, status.Code(err))
		require.Equal(t, "by request", status.Convert(err).Message())
		s := output(t.Context(), t, client, "panic")
		_, err = s.Recv()
		require.NoError(t, err)
		_, err = s.Recv()
		require.Equal(t, codes.DataLoss, status.Code(err))
	}
}

func TestAStreamOfAServerHoldsItsPermitUntilItsHandlerReturns(t *testing.T) {
	l, s := fixed(t, 1), newService()
	client := dial(t, serve(t, s, onServer(l)...))
	stream := output(t.Context(), t, client, "stream")
	_, err := stream.Recv()
	require.NoError(t, err)
	other := later(t.Context(), client, "free")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)
	close(s.leave)
	_, err = stream.Recv()
	require.Error(t, err) // io.EOF
	require.NoError(t, receive(t, other))
}

// A client that reads slowly keeps its handler, and so its permit, until it goes.
func TestAClientThatReadsSlowlyHoldsItsPermit(t *testing.T) {
	l, s := fixed(t, 1), newService()
	client := dial(t, serve(t, s, onServer(l)...))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := output(ctx, t, client, "endless").Recv()
	require.NoError(t, err)
	other := later(t.Context(), client, "free")
	locktest.AwaitWaiting(t, l.Semaphore(), 1)
	require.Empty(t, s.left)
	cancel()
	require.ErrorIs(t, receive(t, s.left), context.Canceled)
	require.NoError(t, receive(t, other))
}

// hasty is a service whose handlers check how many run.
type hasty struct {
	testgrpc.UnimplementedTestServiceServer
	t       *testing.T
	running atomic.Int64
	permits int64
}

func (h *hasty) run(ctx context.Context, weight int64) error {
	if h.running.Add(weight) > h.permits {
		h.t.Error("more run than there are permits")
	}
	defer h.running.Add(-weight)
	switch rand.IntN(4) {
	case 0:
		return status.Error(codes.Unavailable, "by chance")
	case 1:
		<-ctx.Done()
	}
	return nil
}

func (h *hasty) UnaryCall(ctx context.Context, in *testgrpc.SimpleRequest) (*testgrpc.SimpleResponse, error) {
	return &testgrpc.SimpleResponse{}, h.run(ctx, weight(grpclimit.Call{Request: in}))
}

func (h *hasty) StreamingOutputCall(
	_ *testgrpc.StreamingOutputCallRequest, ss testgrpc.TestService_StreamingOutputCallServer,
) error {
	large := &testgrpc.Payload{Body: make([]byte, 1<<17)}
	if err := ss.Send(&testgrpc.StreamingOutputCallResponse{Payload: large}); err != nil {
		return err
	}
	return h.run(ss.Context(), 1)
}

func weight(c grpclimit.Call) int64 {
	in, ok := c.Request.(*testgrpc.SimpleRequest)
	if !ok {
		return 1
	}
	return int64(in.GetResponseSize())
}

// Conservation, on a server and on its clients, who give up at any time.
func TestPermitsAreConserved(t *testing.T) {
	const permits = 4
	h := &hasty{t: t, permits: permits}
	cost := grpclimit.WithCost(func(_ context.Context, c grpclimit.Call) int64 { return weight(c) })
	brief := grpclimit.WithMaxWait(10 * time.Millisecond)
	server := fixed(t, permits, semaphore.WithMaxWaiting(20))
	clients := fixed(t, 2*permits, semaphore.WithMaxWaiting(20))
	client := dial(t, serve(t, h, onServer(server, cost, brief)...), onClient(clients, cost, brief)...)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range locktest.Scaled(400) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(10_000))*time.Microsecond)
				if rand.IntN(2) == 0 {
					_, _ = client.UnaryCall(ctx, &testgrpc.SimpleRequest{ResponseSize: 1 + rand.Int32N(permits)})
				} else if stream, err := client.StreamingOutputCall(ctx, nil); err == nil {
					for range rand.IntN(3) {
						_, _ = stream.Recv()
					}
				}
				cancel()
			}
		})
	}
	all.Wait()
	requireAllBack(t, clients)
	requireAllBack(t, server)
}

// What ends a permit is told the handler's error, or the context's if that has ended.
func TestTheHandlersErrorEndsThePermit(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	l := limit.New(semaphore.New(0), &limit.AIMD{})
	for name, c := range map[string]struct {
		leaves  bool
		handler error
		want    codes.Code
	}{
		"an answer":          {false, nil, codes.OK},
		"an error":           {false, status.Error(codes.Unavailable, ""), codes.Unavailable},
		"the client is gone": {true, nil, codes.Canceled},
	} {
		told := codes.Code(100)
		end := func(_ *limit.Permit, _ grpclimit.Call, err error) { told = status.Code(err) }
		serve := grpclimit.UnaryServerInterceptor(l, grpclimit.WithEnd(end))
		ctx := &swapped{Context: t.Context()}
		_, err := serve(ctx, nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
			if c.leaves {
				ctx.Context = gone
			}
			return nil, c.handler
		})
		require.Equal(t, c.handler, err, name)
		require.Equal(t, c.want, told, name)
	}
}

// A swapped context ends when another takes its place.
type swapped struct{ context.Context }

func TestMisuseIsNamed(t *testing.T) {
	l := limit.New(semaphore.New(0), &limit.AIMD{})
	for _, f := range []func(*limit.Limiter, ...grpclimit.Option){
		func(l *limit.Limiter, opts ...grpclimit.Option) { grpclimit.UnaryServerInterceptor(l, opts...) },
		func(l *limit.Limiter, opts ...grpclimit.Option) { grpclimit.StreamServerInterceptor(l, opts...) },
		func(l *limit.Limiter, opts ...grpclimit.Option) { grpclimit.UnaryClientInterceptor(l, opts...) },
		func(l *limit.Limiter, opts ...grpclimit.Option) { grpclimit.StreamClientInterceptor(l, opts...) },
	} {
		require.PanicsWithValue(t, "grpclimit: nil limiter", func() { f(nil) })
		require.PanicsWithValue(t, "grpclimit: nil option", func() { f(l, nil) })
	}
	require.PanicsWithValue(t, "grpclimit: WithMaxWait(-1s): the duration must be positive",
		func() { grpclimit.WithMaxWait(-time.Second) })
	require.PanicsWithValue(t, "grpclimit: WithCost without a function", func() { grpclimit.WithCost(nil) })
	require.PanicsWithValue(t, "grpclimit: WithTenant without a function", func() { grpclimit.WithTenant(nil) })
	require.PanicsWithValue(t, "grpclimit: WithEnd without a function", func() { grpclimit.WithEnd(nil) })
}
