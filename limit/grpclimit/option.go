package grpclimit

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/farad-go/farad/limit"
)

// A Call is one that wants permits.
type Call struct {
	// Method is its full name: /package.Service/Method.
	Method string
	// Request is that of a unary call. It must not be changed. A stream has none.
	Request any
	// Stream says that it is a stream, in one direction or both.
	Stream bool
}

// An Option changes how the interceptors treat calls.
type Option func(*options)

type options struct {
	limiter *limit.Limiter
	cost    func(context.Context, Call) int64
	tenant  func(context.Context, Call) any // nil: calls name none
	longest time.Duration                   // of a wait; 0: any
	end     func(*limit.Permit, Call, error)
}

func newOptions(l *limit.Limiter, opts []Option) *options {
	if l == nil {
		panic("grpclimit: nil limiter")
	}
	o := &options{limiter: l, cost: func(context.Context, Call) int64 { return 1 }, end: End}
	for _, opt := range opts {
		if opt == nil {
			panic("grpclimit: nil option")
		}
		opt(o)
	}
	return o
}

// WithCost sets how many permits a call needs, instead of one. A call that needs none passes by the
// limiter: a health check, for instance. A call that needs more than the limit is refused, and a
// negative number panics as the semaphore does.
func WithCost(cost func(context.Context, Call) int64) Option {
	if cost == nil {
		panic("grpclimit: WithCost without a function")
	}
	return func(o *options) { o.cost = cost }
}

// WithTenant sets the tenant of a call, for semaphores with shares or priorities: see
// [semaphore.WithShares] and [semaphore.WithPriorities]. Take the tenant from what has been
// authenticated: a client that may invent tenants has as many shares as it likes. What is no tenant
// panics as in [semaphore.Semaphore.As], which ends a server whose interceptors do not recover.
// Without the option calls name none.
func WithTenant(tenant func(context.Context, Call) any) Option {
	if tenant == nil {
		panic("grpclimit: WithTenant without a function")
	}
	return func(o *options) { o.tenant = tenant }
}

// WithMaxWait refuses a call that has waited for d. A policy of the semaphore that refuses what
// would expire takes the end of d for a deadline. Without the option only the context of the call
// ends its wait. WithMaxWait panics if d is not positive.
func WithMaxWait(d time.Duration) Option {
	if d <= 0 {
		panic("grpclimit: WithMaxWait(" + d.String() + "): the duration must be positive")
	}
	return func(o *options) { o.longest = d }
}

// WithEnd sets what ends the permits of calls, instead of [End]. The error is that of the handler
// or of the call. On a server whose context has ended it is the status of that. A permit that the
// function does not end is ignored. The function is not called if the handler or the call panics.
func WithEnd(end func(*limit.Permit, Call, error)) Option {
	if end == nil {
		panic("grpclimit: WithEnd without a function")
	}
	return func(o *options) { o.end = end }
}

// End ends a permit by what is usual:
//
//	Ignore   a stream
//	Dropped  ResourceExhausted, Unavailable, DeadlineExceeded
//	Ignore   Canceled: the client has gone or given up
//	Ignore   Unknown, Internal, DataLoss, Unimplemented
//	Success  the rest: an answer, even if it says that the call was wrong
//
// The first line that fits decides.
func End(p *limit.Permit, c Call, err error) {
	if c.Stream {
		p.Ignore()
		return
	}
	switch codeOf(err) {
	case codes.ResourceExhausted, codes.Unavailable, codes.DeadlineExceeded:
		p.Dropped()
	case codes.Canceled, codes.Unknown, codes.Internal, codes.DataLoss, codes.Unimplemented:
		p.Ignore()
	default:
		p.Success()
	}
}

// codeOf returns the code that gRPC sends for the error of a handler.
func codeOf(err error) codes.Code {
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	return status.FromContextError(err).Code()
}

// wait waits for the permits of c. The permit is nil if it needs none.
func (o *options) wait(ctx context.Context, c Call) (*limit.Permit, error) {
	n := o.cost(ctx, c)
	if n == 0 {
		return nil, nil //nolint:nilnil // a nil permit holds nothing
	}
	p, err := o.acquire(ctx, c, n)
	if err != nil {
		return nil, o.refuse(ctx, err)
	}
	return p, nil
}

// acquire waits until ctx ends or the longest wait is over. The end of that is a deadline for the
// semaphore, like one of ctx. If it passes first the error is [context.DeadlineExceeded], and ctx
// has not ended.
func (o *options) acquire(ctx context.Context, c Call, n int64) (*limit.Permit, error) {
	var tenant any
	if o.tenant != nil {
		tenant = o.tenant(ctx, c)
	}
	if o.longest > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.longest)
		defer cancel()
	}
	if o.tenant == nil {
		return o.limiter.Acquire(ctx, n)
	}
	if err := o.limiter.Semaphore().As(tenant).Acquire(ctx, n); err != nil {
		return nil, err
	}
	return o.limiter.StartAs(tenant, n), nil
}

// finish ends the permit of c, if it needed one.
func (o *options) finish(p *limit.Permit, c Call, err error) {
	if p == nil {
		return
	}
	defer p.Ignore()
	o.end(p, c, err)
}
