// Package antspool puts a gate, a semaphore, in front of a goroutine pool of [ants], and lets an
// executor of this module run on such a pool.
//
//	a, err := ants.NewPool(8, ants.WithNonblocking(true))
//	...
//	p := antspool.New(a)
//	defer p.Release()
//	err = p.Submit(ctx, 1, work) // waits for a permit and a goroutine, or until ctx is done
//
// [ants] bounds the number of functions that run. The gate adds bounds by weight (bytes,
// connections), waits that end with a context, strict order, and jobs that wait without a
// goroutine.
//
// # Which call
//
//	to                                                use
//	wait until the function begins, with a context    Pool.Submit
//	queue it and go on                                Pool.Go
//	run it now or not at all                          Pool.TrySubmit
//	take it back, or observe its end                  Job: Stop, Done, Err
//	wait for it in a task of an executor              rt.Await(cx, pool.Go(weight, fn))
//	bound something other than goroutines             New with WithGate
//	run an executor on the pool                       rt.NewOn(pool.Workers(1))
//	the same, bypassing the gate                      rt.NewOn(antsPool)
//
// # Blocking and non-blocking pools
//
// Make the ants pool with ants.WithNonblocking(true). New detects which kind it has.
//
// Submit of any other ants pool waits for a goroutine, and no context ends that wait. A job may get
// its permits on any goroutine that releases some, and that goroutine must not wait. So with a
// blocking pool a goroutine of this package asks ants: one for each Pool, while jobs with permits
// lack a goroutine. It is for users who already have such a pool and code that relies on it. The
// differences are:
//
//   - Submit starts that goroutine and waits until the function begins, where otherwise it hands
//     the function over.
//   - TrySubmit and Workers return [ErrMayBlock].
//   - A goroutine that goes from job to job goes back to ants after 64 jobs, for others that wait
//     there.
//
// An executor that runs on an ants pool directly needs a non-blocking one, too. On a blocking pool
// that is too small, rt.NewOn would wait forever, and rt.Blocking would hold its worker while it
// waits for a goroutine.
//
// # Guarantees
//
// Order: jobs get permits strictly in the order in which they asked; small jobs do not overtake a
// large one. Jobs get goroutines in the order in which they got permits. With several goroutines,
// the scheduler may start a later one first.
//
// Cancellation: Submit accepts a function once it has both its permits and a goroutine. If the
// context is done before that, the function never starts. The same holds for Stop of a job that has
// not begun. In both cases, and on every error, the permits are given back. A function that has
// begun is never interrupted.
//
// Progress: no job is lost. If a job has permits and ants has no goroutine, because others use them
// all, the next job that ends starts it, or a retry does; retries come 20 µs to 10 ms apart.
//
// Release of permits: they are given back however the function ends: by return, panic or
// runtime.Goexit. This package does not recover panics, so the PanicHandler of ants gets them with
// their stack.
//
// Memory: a waiting job costs memory only. Ten thousand jobs over two permits occupy two
// goroutines. Jobs that end start others in a loop, so no stack grows with the queue.
//
// Allocation: Submit and TrySubmit allocate a closure, and Go the job. Submit allocates a few words
// more for a context that can be cancelled, and the job and a channel if it waits.
//
// Release ends jobs that have not begun with [ants.ErrPoolClosed], lets running ones end, and
// leaves the gate open.
//
// # Differences from plain ants
//
//   - Submit takes a context and a weight. It waits where a non-blocking pool returns
//     ErrPoolOverload.
//   - A released pool does not run queued jobs. But every function for which Submit has returned
//     nil runs. With plain ants, a function that is submitted during ReleaseContext may begin after
//     that has returned.
//   - A goroutine goes from one job to the next without going back to ants. On a non-blocking pool
//     under constant load here, other users find a free goroutine less often.
//   - Ants v2.12.1 may forget a caller that waits in Submit of a blocking pool, if a function
//     panics at that moment. Jobs then wait for a few milliseconds longer.
//   - Tune of a Pool also resizes the default gate; Tune of the ants pool does not.
//
// # Executors
//
// An executor occupies a goroutine for each worker until its shutdown, and one for each running
// rt.Blocking. With Workers they also hold permits, so the gate admits no more jobs than there is
// room for. The last goroutine is back in the pool a moment after Shutdown has returned. A worker
// whose task has called runtime.Goexit continues outside the pool, and its permits are given back.
//
// Importing ants starts two goroutines, for a default pool. Tests that look for leaked goroutines
// use goleak.VerifyTestMain(m, goleak.IgnoreCurrent()).
//
// # Imports and files
//
// The package imports ants, runtime, sync/semaphore and waiter. Read pool.go first, then job.go for
// the life of a job and ready.go for how jobs get goroutines.
//
// [ants]: https://github.com/panjf2000/ants
package antspool
