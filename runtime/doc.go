// Package rt runs many cooperative tasks on a few goroutines. It lives in the folder runtime, and
// is named rt so that it does not hide the standard library's package runtime:
//
//	import rt "github.com/farad-go/farad/runtime"
//
//	ex := rt.New()
//	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
//		var permit semaphore.AcquireFuture
//		permit.Init(sem, 1)
//		defer permit.Release() // right on every path
//		if err := rt.Await(cx, &permit); err != nil { // waits, and holds no goroutine of the executor
//			return 0, err
//		}
//		return work()
//	})
//	n, err := h.Wait(ctx)
//	...
//	err = ex.Shutdown(ctx)
//
// # What it is for
//
// A goroutine that waits keeps its stack, and waking it is a matter for Go's scheduler. That is
// fine for thousands. An executor is for where it is not: a million waiters that cost as much as
// the objects which they are; hand-offs that are two to seven times quicker (docs/BENCHMARKS.md),
// because a woken task is polled on a goroutine that is awake already; waiting for one of several
// locks at once, with a time limit; work that has to stay on the goroutines of a pool.
//
// # Two kinds of tasks
//
//	                      written as                          while it waits it costs      a wait allocates
//	straight-line: Go     a function that calls Await,        its stack: 2 KB and more     nothing
//	                      Select, Sleep where it waits
//	poll task: Spawn      an object with a method Poll that   the object, Task included    nothing
//	                      is called again after each wait
//
// Both stand in the same queues. Begin with the first.
//
// A task is cooperative: it keeps its worker until it waits. What blocks a goroutine (a read from
// the network, a channel, a lock of package sync that is held for long) belongs into [Blocking];
// what computes for long yields now and then. [WithWatchdog] finds the task that does not.
//
// # Which call
//
//	you want to                                       in a straight-line task    in a poll task
//	wait for a future                                 Await                      Context.Poll
//	the first of several                              Select                     FirstOf, Context.Poll
//	all of several                                    Join                       AllOf, Context.Poll
//	with a time limit, or a context                   Await of Timeout,          the same, Context.Poll
//	                                                  of WithContext
//	sleep                                             Sleep                      Timer
//	let others run                                    Yield                      Context.Yield
//	wait for a task                                   JoinHandle.Await           Completion
//	run what blocks                                   Blocking
//	have that end with the task                       Context.Context            the same
//	wait for a future in a goroutine                  BlockOn, JoinHandle.Wait, or a channel: Done
//
// Locks are waited for by their futures: [Future] is what they have in common.
//
// # Order
//
// Permits are granted in the order in which tasks, goroutines and selects began to wait; a task's
// budget does not change that. When a task is polled is up to the executor: what was woken comes
// soon, what yields comes after what is queued, and nothing that is ready waits for ever while
// others run: what a worker has that is in one long poll is offered to the others within 10
// milliseconds, and each of them, however busy it is, begins the oldest task that is on offer at
// least every 61 polls.
//
// # Cancellation
//
// [Task.Abort], [JoinHandle.Abort] and a shutdown reach a task at its next wait, or in the one
// that it is in: the future is cancelled, and gives back what it has got or is just getting, and
// the wait returns [ErrCancelled]. What the task holds itself it gives back as any function does,
// by defer. What does not wait by futures, a call in [Blocking] for instance, learns of the
// cancel by the [Context.Context] of the task.
//
// # Panics
//
// A panic ends the task and nothing else. Who waits for the task gets it as a [*PanicError]. If
// nobody waits at that moment it is printed with its stack, or given to the handler of
// [WithPanicHandler]. If nobody has asked for the task's error by the end, that of
// [Executor.Shutdown] tells.
//
// # Synchronization
//
// In the terms of the Go memory model: what happens before a Spawn, Go or Wake happens before the
// Poll that it leads to; one Poll of a task happens before the next; the end of a task happens
// before whatever learns of it, by Wait, Await, Done or a Completion. Workers add nothing to what
// futures promise.
//
// # Files
//
//	file                                what                                 read it for
//	executor.go                         New, Spawn, Shutdown                 the life of an executor
//	task.go                             Task, Poller, Wake                   the life of a task, its state word
//	go.go, coroutine.go                 Go, JoinHandle                       straight-line tasks
//	context.go, future.go               Context, Future, Await               how tasks wait; the budget
//	select.go, join.go, timer.go        Select, Join, Timer, Timeout         combinators
//	bridge.go, blocking.go              BlockOn, WithContext, Blocking       between tasks and goroutines
//	completion.go                       Completion                           the end of a task as a future
//	queue.go                            (internal)                           ring, injection queue, inbox
//	worker.go                           (internal)                           whose turn it is
//	idle.go                             (internal)                           who sleeps, who wakes whom
//	monitor.go                          (internal)                           polls that take too long
//	registry.go, stats.go, dump.go      Stats, Dump                          what there is
//	watchdog.go                         WithWatchdog                         what goes wrong
//	panics.go                           WithPanicHandler                     panics that nobody waits for
//
// docs/design/runtime.md in the repository follows one task from spawn to join, and says what was
// tried instead.
package rt
