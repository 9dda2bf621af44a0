package grpclimit

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/farad-go/farad/limit"
)

// Invariants, and the tests that fail without them:
//
//  1. A permit is back when its handler is over, however that ends (TestAPanicReturnsThePermit,
//     TestAClientThatGoesWhileItIsServedReturnsItsPermit).
//  2. A handler runs only with its permits (TestAsManyRunAsThereArePermits).
//  3. A call that was refused has not reached the handler (TestARefusedCallSaysWhenToComeAgain).

// UnaryServerInterceptor returns an interceptor that waits for a permit of l, calls the handler and
// ends the permit. It refuses calls that get none: see the package documentation. It panics if l or
// an option is nil.
//
// Order: that of the semaphore.
//
// Cancellation: a call whose context ends while it waits leaves the line, and its handler is not
// called.
//
// Panics: one of the handler goes on after the permit has been returned. An interceptor that
// recovers from panics may stand before or behind this one.
//
// Memory model: what a handler does synchronizes before the handlers that its permit serves next.
//
// Cost: that of an acquire. The wait allocates nothing unless WithMaxWait is used.
func UnaryServerInterceptor(l *limit.Limiter, opts ...Option) grpc.UnaryServerInterceptor {
	o := newOptions(l, opts)
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		var reply any
		call := Call{Method: info.FullMethod, Request: req}
		// Without a server there is nobody to send the trailer to: the call is one of a test.
		send := func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) }
		err := o.serve(ctx, call, send, func() (err error) {
			reply, err = handle(ctx, req)
			return err
		})
		return reply, err
	}
}

// StreamServerInterceptor does the same for streams, which hold their permits until their handlers
// return.
func StreamServerInterceptor(l *limit.Limiter, opts ...Option) grpc.StreamServerInterceptor {
	o := newOptions(l, opts)
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		call := Call{Method: info.FullMethod, Stream: true}
		return o.serve(ss.Context(), call, ss.SetTrailer, func() error { return handle(srv, ss) })
	}
}

func (o *options) serve(ctx context.Context, c Call, send func(metadata.MD), handle func() error) error {
	p, err := o.wait(ctx, c)
	if err != nil {
		send(trailer(err))
		return err
	}
	defer p.Ignore() // invariant 1: nothing is left to do unless the handler has panicked
	err = handle()
	ended := err
	if ctx.Err() != nil {
		ended = status.FromContextError(ctx.Err()).Err()
	}
	o.finish(p, c, ended)
	return err
}
