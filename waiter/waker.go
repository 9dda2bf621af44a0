package waiter

// A Waker tells a waiting task that it is worth polling its future again. An executor's Wake puts
// the task into a run queue.
//
// Wake may be called from any goroutine, but never with a lock of this module held. It must not
// block or panic, because other waiters may be woken after it. It may poll, release or cancel a
// future. It must not call Bind or Done, which may wait for the goroutine that calls Wake.
// If it releases, the Wake of whom that grants the permits runs inside it. So where lines are long
// a Wake had better only queue its task.
// Spurious calls are legal everywhere: a task that is woken polls again, and may still have to
// wait. The type is a literal, so that no call has to convert it.
type Waker = interface{ Wake() }

// A WakerFunc is a function that serves as a [Waker].
type WakerFunc func()

// Wake calls f.
func (f WakerFunc) Wake() { f() }
