// Package limit finds out how many requests a resource can work on at a time, and keeps a semaphore
// at that size. A fixed limit is wrong as soon as the resource becomes slower or faster. Here a
// controller computes the limit from the latency of the requests and from those that were dropped,
// again and again.
//
//	limiter := limit.New(semaphore.New(0), &limit.Vegas{Max: 400})
//
//	p, err := limiter.Acquire(ctx, 1)
//	if err != nil {
//		return err
//	}
//	defer p.Ignore() // where neither of the next two is reached: a panic, a bad request
//	if err := query(ctx); errors.Is(err, context.DeadlineExceeded) {
//		p.Dropped() // a sign of overload
//		return err
//	}
//	p.Success() // its latency counts
//
// # Which controller
//
//	you know                                                         use
//	nothing                                                          Vegas
//	that latencies differ between times, whatever the load           Gradient2
//	a latency that is too long, or that the resource refuses some    AIMD
//
// Each loses something, which its documentation says. The page docs/design/limit.md of the
// repository has figures, with those of failsafe-go's adaptive limiter.
//
// # What is measured
//
// The latency of a request runs from the grant of its permits to the end of its [Permit]. The time
// that it waits for the permits does not count: it says nothing about the resource. A [Limiter]
// gathers the requests of a window, 100 ms and 50 requests at least ([WithWindow]), and gives the
// controller one [Sample] of them. So a controller sees means, and a new limit has time to act.
//
// # Bounds
//
// The size of the semaphore is never above the maximum of the controller and never below its
// minimum, which is 1 at least. A request for more permits than the limit fails with
// [semaphore.ErrTooLarge], and so does one that waits when the limit falls below it. So the minimum
// must be as large as the largest request, with [Vegas] in particular, which halves its limit now
// and then.
//
// # testing/synctest
//
// Inside a bubble latencies are those of the bubble's clock. A limiter may be used in a bubble and
// then outside. A request that begins in one and ends in the other is not counted.
//
// # Read
//
// limiter.go first, for how a limiter drives the semaphore; then aimd.go, gradient2.go and
// vegas.go. retry.go is for middleware.
package limit
