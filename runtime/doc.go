// Package rt runs many cooperative tasks on a few goroutines. It lives in the folder runtime, and
// is named rt so that it does not hide the standard library's package runtime:
//
//	import rt "github.com/farad-go/farad/runtime"
//
//	ex := rt.New()
//	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
//		var permit waiter.Future
//		sem.Bind(&permit, 1)
//		defer permit.Release() // correct on every path
//		if err := rt.Await(cx, &permit); err != nil { // waits without holding a worker
//			return 0, err
//		}
//		return work()
//	})
//	n, err := h.Wait(ctx)
//	...
//	err = ex.Shutdown(ctx)
//
// # When to use it
//
// Goroutines are enough for thousands of waits. Use an executor
//
//   - for very many waits: a poll task needs no goroutine while it waits, only its own object;
//   - for frequent hand-offs: a woken task is polled by a goroutine that is already awake, which is
//     two to seven times as fast as waking a goroutine (docs/BENCHMARKS.md);
//   - to wait for the first of several locks, or for all of them, with a time limit;
//   - to keep work on the goroutines of a pool.
//
// # Two kinds of tasks
//
//	                     written as                        while it waits it holds
//	straight-line: Go    a function that calls Await,      a coroutine: a goroutine
//	                     Select or Sleep where it waits    with its stack, 2 KB up
//	poll task: Spawn     an object with a method Poll,     its object, with the
//	                     which is called after each wait   Task in it; no goroutine
//
// Both stand in the same queues, and allocate nothing to wait. Start with straight-line tasks,
// which read like ordinary code. Only poll tasks wait without a goroutine; the example of [Poller]
// counts them.
//
// A task is cooperative: it keeps its worker until it waits. Code that blocks a goroutine (network
// reads, channels, a sync.Mutex that is held for long) belongs in [Blocking]. Code that computes
// for long should yield from time to time. [WithWatchdog] finds tasks that do not.
//
// # Which call
//
//	to                                     in a straight-line task    in a poll task
//	wait for a future                      Await                      Context.Poll
//	wait for the first of several          Select                     Context.Poll of FirstOf
//	wait for all of several                Join                       Context.Poll of AllOf
//	wait with a time limit                 Await of Timeout           Context.Poll of Timeout
//	wait until a context is done           Await of WithContext       Context.Poll of WithContext
//	sleep                                  Sleep                      Context.Poll of a Timer
//	let other tasks run                    Yield                      Context.Yield
//	wait for another task                  JoinHandle.Await           Context.Poll of a Completion
//	run code that blocks                   Blocking
//	get a context that ends with the task  Context.Context            Context.Context
//	wait for a future in a goroutine       BlockOn, JoinHandle.Wait, or the channel of Done
//
// A [Future] is what a task waits for. The locks of this module have futures, and so has this
// package.
//
// # Order
//
// Locks grant permits in the order in which tasks, goroutines and selects began to wait. When a
// woken task is polled is up to the executor: soon after its wake, and after the tasks that were
// queued before if it yielded. No ready task waits forever while others run. Tasks behind a long
// poll are offered to other workers within 10 milliseconds, and every worker takes the oldest
// offered task at least once in 61 polls.
//
// # Cancellation
//
// [Task.Abort], [JoinHandle.Abort] and a shutdown reach a task in its current wait, or at its next
// one. The future is released and gives back what it was granted, and the wait returns
// [ErrCancelled]. The task gives back what it holds itself as any function does, by defer. Code
// that does not wait by futures, such as a call in [Blocking], learns of it by [Context.Context].
//
// # Panics
//
// A panic ends the task and nothing else. The waits for the task return a [*PanicError]. If
// no goroutine waits, the panic is printed with its stack, or passed to the handler of
// [WithPanicHandler]. If no goroutine has asked for the task's error by the end,
// [Executor.Shutdown] reports it.
//
// # Memory model
//
// A call of Spawn, Go or Wake synchronizes before the Poll that it causes. Each Poll of a task
// synchronizes before the next one. The end of a task synchronizes before the return of every
// Wait, Await, receive from Done, or completed Poll that observes it.
//
// # Imports and files
//
// The package imports waiter, the module's atomics, its records of what is observed, and
// go.uber.org/atomic. It knows no lock: locks and executor share only the interfaces of package
// waiter. Read task.go first, then worker.go.
//
//	task.go                         Task, Poller: the life of a task and its state word
//	go.go, coroutine.go             Go, JoinHandle: straight-line tasks
//	executor.go                     New, Spawn, Shutdown: the life of an executor
//	worker.go, queue.go, idle.go    what is polled next; which worker sleeps, and what wakes it
//	monitor.go                      relieving workers whose poll takes long
//	context.go, future.go           Context, Future, Await: how tasks wait; the budget
//	select.go, join.go, timer.go    Select, Join, Timer, Timeout
//	completion.go                   Completion: the end of a task as a future
//	bridge.go, blocking.go          BlockOn, WithContext, Blocking: between tasks and goroutines
//	registry.go, stats.go, dump.go  Stats and Dump: what exists
//	watchdog.go, panics.go          WithWatchdog, WithPanicHandler: what goes wrong
//	observe.go                      what package observe shows of tasks
//
// docs/design/runtime.md follows one task from Spawn to its end, and describes rejected designs.
package rt
