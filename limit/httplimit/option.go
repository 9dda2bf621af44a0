package httplimit

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/farad-go/farad/limit"
)

// An Option changes how Handler and Transport treat requests.
type Option func(*options)

type options struct {
	limiter *limit.Limiter
	cost    func(*http.Request) int64
	tenant  func(*http.Request) any // nil: requests name none
	longest time.Duration           // of a wait; 0: any
	end     func(*limit.Permit, Result)
}

func newOptions(l *limit.Limiter, opts []Option) options {
	if l == nil {
		panic("httplimit: nil limiter")
	}
	o := options{limiter: l, cost: func(*http.Request) int64 { return 1 }, end: End}
	for _, opt := range opts {
		if opt == nil {
			panic("httplimit: nil option")
		}
		opt(&o)
	}
	return o
}

// wait waits for the n permits of r until its context ends or the longest wait is over. The end of
// that is a deadline for the semaphore, like one of the context. If it passes first the error is
// [context.DeadlineExceeded], and the context has not ended.
func (o *options) wait(r *http.Request, n int64) (*limit.Permit, error) {
	ctx := r.Context()
	var tenant any
	if o.tenant != nil {
		tenant = o.tenant(r)
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

// WithCost sets how many permits a request needs, instead of one. A request that needs none passes
// by the limiter: a health check, for instance. A request that needs more than the limit is
// refused, and a negative number panics as the semaphore does.
func WithCost(cost func(*http.Request) int64) Option {
	if cost == nil {
		panic("httplimit: WithCost without a function")
	}
	return func(o *options) { o.cost = cost }
}

// WithTenant sets the tenant of a request, for semaphores with shares or priorities: see
// [semaphore.WithShares] and [semaphore.WithPriorities]. Take the tenant from what has been
// authenticated: a client that may invent tenants has as many shares as it likes. What is no tenant
// panics as in [semaphore.Semaphore.As]. Without the option requests name none.
func WithTenant(tenant func(*http.Request) any) Option {
	if tenant == nil {
		panic("httplimit: WithTenant without a function")
	}
	return func(o *options) { o.tenant = tenant }
}

// WithMaxWait refuses a request that has waited for d. A policy of the semaphore that refuses what
// would expire takes the end of d for a deadline. Without the option only the context of the
// request ends its wait, which on a server is as long as the client stays. WithMaxWait panics if d
// is not positive.
func WithMaxWait(d time.Duration) Option {
	if d <= 0 {
		panic("httplimit: WithMaxWait(" + d.String() + "): the duration must be positive")
	}
	return func(o *options) { o.longest = d }
}

// WithEnd sets what ends the permits of requests, instead of [End]. A permit that the function does
// not end is ignored. The function is not called for a request whose handler or transport panics.
func WithEnd(end func(*limit.Permit, Result)) Option {
	if end == nil {
		panic("httplimit: WithEnd without a function")
	}
	return func(o *options) { o.end = end }
}

// A Result is how a request has ended.
type Result struct {
	// Request is the request, as it came to the handler or transport. Its body may be closed.
	Request *http.Request
	// Status is that of the response: 101 (Switching Protocols) also if a handler has taken the
	// connection over, and 0 if there is no response.
	Status int
	// Header is that of the response, or nil. It must not be changed.
	Header http.Header
	// Err is the error of the context of the request if that has ended, otherwise that of the round
	// trip or of reading the response. On a server [context.Canceled] says that the client has
	// gone.
	Err error
}

// End ends a permit by what is usual:
//
//	Ignore   a stream: of events, or a connection that was taken over
//	Ignore   the client has gone or given up: context.Canceled
//	Dropped  a deadline or a timeout has passed
//	Dropped  429 Too Many Requests, 503 Service Unavailable, 504 Gateway Timeout
//	Ignore   any other 5xx, any other error
//	Success  the rest
//
// The first line that fits decides.
func End(p *limit.Permit, r Result) {
	switch {
	case isStream(r), errors.Is(r.Err, context.Canceled):
		p.Ignore()
	case isTimeout(r.Err), r.Status == http.StatusTooManyRequests,
		r.Status == http.StatusServiceUnavailable, r.Status == http.StatusGatewayTimeout:
		p.Dropped()
	case r.Err != nil, r.Status >= 500:
		p.Ignore()
	default:
		p.Success()
	}
}

func isStream(r Result) bool {
	if r.Status == http.StatusSwitchingProtocols {
		return true
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";") // mime.ParseMediaType would allocate
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// isTimeout includes the timeouts of package net, which are no context.DeadlineExceeded.
func isTimeout(err error) bool {
	if err == nil {
		return false // without the object that is needed below
	}
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}
