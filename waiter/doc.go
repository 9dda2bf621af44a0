// Package waiter is the one way in which anything in this module waits.
//
// What waits stands in a [Queue] as a [Waiter], an intrusive node; what wakes it claims the node by
// unlinking it, collects it in a [WakeList] while it holds a lock, and delivers an [Outcome] after
// unlock. Behind a node is either a goroutine, which sleeps in a [Parker], or a future, whose owner
// is told through a [Waker] (a task) or through a channel (a select). So goroutines, tasks and
// selects wait in one line.
//
//	file         what                                       read it for
//	waker.go     Waker                                      how an executor is told
//	waiter.go    Waiter, Outcome, Status                    the hand-shake between owner and claimer
//	queue.go     Queue, WakeList                            order; waking in batches after unlock
//	parker.go    Parker                                     how a goroutine sleeps, with a context or a timeout
//	watch.go     (internal)                                 many waits on one context for one registration
//	context.go   (internal)                                 what a watch asks of package context
//	bubble.go    (internal)                                 testing/synctest
//	errors.go    ErrClosed, ErrTooLarge, ...                the errors that all locks share
//
// Users of the locks need this package for the errors and, if they write an executor, for Waker.
// The rest is for writers of locks.
package waiter
