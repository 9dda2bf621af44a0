package waiter

// A Waker tells a waiting task that it is worth polling its future again.
//
// Wake may be called from any goroutine, is never called with a lock of this module held, and must
// not block or panic: others may be waiting to be woken after it. It may poll, release or cancel a
// future, but not call what may wait for a claimer (Init, Done, Err): the claimer may be the
// goroutine that it runs on. Spurious calls are legal everywhere: a task that is woken polls again
// and may find that it still has to wait. An executor queues the task; a test may count.
type Waker interface {
	Wake()
}

// An Owner is a Waker that wants to hear when a waiting future is about to wake somebody else
// instead of it. A task of an executor panics then: two tasks that poll one future would not both
// be woken. Displaced is called by the poll, before anything has changed.
type Owner interface {
	Waker
	Displaced(by Waker)
}

// WakerFunc is a function that serves as a [Waker].
type WakerFunc func()

// Wake calls f.
func (f WakerFunc) Wake() { f() }
