package sync

import (
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// Bind makes f a request to lock m: see [waiter.Future]. The first Poll or Done of f makes the
// request, which waits in the same line as the callers of Lock. The first Bind of a future
// allocates. Bind panics if m is nil, or if the request of f before has not ended.
//
// Order: the request takes the express lane if the mutex is free, and otherwise queues like Lock,
// with the same bound. When its turn comes it is granted the mutex at once, or by the next unlock:
// the express lane may be used once more in between, but a future never competes twice.
func (m *Mutex) Bind(f *waiter.Future) {
	if m == nil {
		panic("sync: future of a nil mutex")
	}
	bind(f, m, 1)
}

// Bind makes f a request to lock l for writing, in the same line as the callers of Lock: see
// [waiter.Future], and [Mutex.Bind], whose order it has.
func (l *RWMutex) Bind(f *waiter.Future) { l.bind(f, rwWriter) }

// BindRead is [RWMutex.Bind] for a read lock.
func (l *RWMutex) BindRead(f *waiter.Future) { l.bind(f, rwReader) }

func (l *RWMutex) bind(f *waiter.Future, hold int64) {
	if l == nil {
		panic("sync: future of a nil lock")
	}
	bind(f, l, hold)
}

func bind(future *waiter.Future, lock admitting, hold int64) {
	f := (*waiting.Future)(future)
	r := waiting.Reuse[request](f)
	r.w, r.lock = f.Node(), lock
	waiting.Bind(f, r, hold)
}
