package grpclimit

import (
	"context"
	"slices"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/farad-go/farad/limit"
)

// Invariants, and the tests that fail without them:
//
//  1. A permit is back when its call or stream is over, however that ends
//     (TestAStreamHoldsThePermitUntilItsEnd, TestPermitsAreConserved).
//  2. A call that gets no permit is not sent (TestARefusedCallIsNotSent).

// UnaryClientInterceptor returns an interceptor that waits for a permit of l, makes the call and
// ends the permit. The retries of gRPC itself are part of the call. It panics if l or an option is
// nil.
//
// Order, cancellation, cost and memory model are those of [UnaryServerInterceptor].
//
// Errors: a call that gets no permit is not sent. Its error has a status, and wraps the error of
// the semaphore or the context.
func UnaryClientInterceptor(l *limit.Limiter, opts ...Option) grpc.UnaryClientInterceptor {
	o := newOptions(l, opts)
	return func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		call := Call{Method: method, Request: req}
		p, err := o.wait(ctx, call)
		if err != nil {
			return err
		}
		defer p.Ignore() // of an interceptor that panics
		err = invoke(ctx, method, req, reply, cc, opts...)
		o.finish(p, call, err)
		return err
	}
}

// StreamClientInterceptor does the same for streams, which hold their permits until their ends: see
// the package documentation. It learns the end by [grpc.OnFinish], so the interceptors behind it
// must pass the call options on. gRPC may call that a moment after a cancelled stream has returned
// its error. An interceptor that repeats streams stands before this one.
func StreamClientInterceptor(l *limit.Limiter, opts ...Option) grpc.StreamClientInterceptor {
	o := newOptions(l, opts)
	return func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
		opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		call := Call{Method: method, Stream: true}
		p, err := o.wait(ctx, call)
		if err != nil {
			return nil, err
		}
		var over atomic.Uint32 // 1, once somebody ends the permit
		failed := true
		defer func() {
			if failed && over.CompareAndSwap(0, 1) { // by a panic: what finishes later is no result
				p.Ignore()
			}
		}()
		finish := func(err error) {
			if over.CompareAndSwap(0, 1) {
				o.finish(p, call, err)
			}
		}
		stream, err := open(ctx, desc, cc, method, append(slices.Clip(opts), grpc.OnFinish(finish))...)
		if err != nil {
			finish(err)
			return nil, err
		}
		failed = false
		return stream, nil
	}
}
