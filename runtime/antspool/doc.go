// Package antspool puts a gate, a semaphore, in front of a goroutine pool of [ants], and takes
// goroutines for the executor of this module from there.
//
// [ants] bounds how many functions run at a time. Package antspool adds what a semaphore can do:
// bounds by weight (bytes, connections), waiting that ends with a context, strict order, and
// waiting in which nobody waits.
//
// # Which call
//
//	you want to                                       use
//	wait until the function begins, with a context    Pool.Submit
//	queue it and go on                                Pool.Go
//	run it now or not at all                          Pool.TrySubmit
//	take it back, or hear when it has ended           Job: Stop, Done, Err
//	wait for it in a task of an executor              rt.Await(cx, pool.Go(weight, fn))
//	bound by something else than goroutines           New with WithGate
//	run an executor on the pool                       rt.NewOn(pool.Workers(1)), or rt.NewOn(antsPool) beside the gate
//
// # Blocking and non-blocking pools
//
// Make the ants pool with ants.WithNonblocking(true):
//
//	a, err := ants.NewPool(8, ants.WithNonblocking(true))
//	...
//	p := antspool.New(a)
//	defer p.Release()
//
// Submit of an ants pool without that option waits for a goroutine, and no context ends the wait. A
// job may be granted its permits on any goroutine that releases some, and that must not wait. So
// with a pool that blocks it is a goroutine of this package that asks ants: one for each Pool, and
// only as long as jobs with permits lack a goroutine. That is for users who have such a pool
// already, and whose other code relies on it. New finds out which kind it is. What is different
// then: Submit starts that goroutine and waits until the function begins, where otherwise it hands
// the function over; TrySubmit and Workers return [ErrMayBlock]; a goroutine that goes from job to
// job goes back to ants after 64 of them, for those who wait there.
//
// An executor on an ants pool itself needs a non-blocking one, too: rt.NewOn reports a pool that is
// too small by the error of Submit, and would wait for ever inside one that blocks; and rt.Blocking
// would hold its worker while it waits for a goroutine there.
//
// # Guarantees
//
// Order: jobs get permits strictly in the order in which they asked, a large one is not overtaken
// by small ones, and they get goroutines in the order in which they got permits. With several
// goroutines the scheduler may be quicker with one that came later.
//
// Cancellation: Submit accepts a function when it has both its permits and a goroutine. A context
// that was done before never starts the function; nor does Stop of a job that has not begun. In
// both cases the permits are back, or go to the next, and so on every error. What has begun is
// never interrupted.
//
// No job is lost. If a job has permits and ants has no goroutine, because others have them all, it
// is begun by the next job that ends, or when a goroutine is found at one of a series of looks,
// from 20 µs to 10 ms apart.
//
// However a function ends, its permits are given back: it returns, panics or calls runtime.Goexit.
// A panic is not recovered here, so that the PanicHandler of ants gets it, with the stack, as if
// this package were not there.
//
// Waiting jobs cost memory only: ten thousand of them over two permits occupy two goroutines. Jobs
// that end start others in a loop, so that no stack grows with the queue.
//
// Allocation: Submit and TrySubmit allocate a closure, Go the job. Submit allocates a few words
// more for a context that can be cancelled, and the job and a channel if it waits.
//
// Release ends what has not begun with [ants.ErrPoolClosed], lets what runs end, and leaves the
// gate open.
//
// # Differences from plain ants
//
//   - Submit takes a context and a weight. It waits where a non-blocking pool would return
//     ErrPoolOverload.
//   - A pool that is released does not run what it has queued, as Submit of ants does not either
//     when it waits; but what Submit has returned nil for runs, always. With plain ants a function
//     may begin after ReleaseContext has returned, if it is submitted at the same time.
//   - A goroutine goes from one job to the next without going back to ants. On a non-blocking pool
//     that is under constant load here, others find a goroutine free less often.
//   - Ants v2.12.1 may forget somebody who waits in Submit of a blocking pool, if at that moment a
//     function panics. Jobs wait for a few milliseconds longer then.
//
// Tune of a Pool, not of the ants pool, resizes the default gate as well.
//
// # Executors
//
// An executor occupies a goroutine for each of its workers until it is shut down, and one for each
// rt.Blocking that runs. With Workers they hold permits as long, so that the gate lets no more jobs
// in than there is room for. The last goroutine is back in the pool a moment after Shutdown has
// returned. A worker whose task has called runtime.Goexit goes on outside of the pool, and its
// permits are back: no worker waits for a goroutine that others have.
//
// Import ants starts two goroutines, for a pool of its own that exists from the beginning. Tests
// that look for leaked goroutines have to know: goleak.VerifyTestMain(m, goleak.IgnoreCurrent()).
//
// [ants]: https://github.com/panjf2000/ants
package antspool
