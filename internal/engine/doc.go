// Package engine counts permits and queues the requests that wait for them. The semaphore, the
// mutex, the read-write lock and the capacitors' gates are façades over it.
//
// Read engine.go first: the word, the invariants, the permits as a façade uses them, acquire and
// release without a wait. acquire.go is a goroutine's wait, future.go that of a future. The
// read-write lock alone needs rw.go (three kinds of holders) and bias.go (readers that hide in a
// table). The package imports waiter and internal/xsync.
package engine
