package observe

import (
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
)

// The most reports of a kind that are kept, and that a handler may be behind.
const (
	maxKept   = 100
	maxBehind = 64
)

// reports are those of the process.
var reports struct {
	deadlocks  outlet[Deadlock]
	suspicions outlet[Suspicion]
	leaks      outlet[Leak]
}

func init() {
	reports.deadlocks.add(func(d Deadlock) { logger().Error("farad: deadlock", "deadlock", d) })
	reports.suspicions.add(func(s Suspicion) { logger().Warn("farad: "+string(s.Why), "suspicion", s) })
	reports.leaks.add(func(l Leak) { logger().Error("farad: leak", "leak", l) })
}

func logger() *slog.Logger {
	if l := watchdog.config.Load().Logger; l != nil {
		return l
	}
	return slog.Default()
}

// An outlet keeps the last reports of a kind and has them handled. No handler runs under its lock.
type outlet[T any] struct {
	mu       sync.Mutex
	kept     []T            // guarded by mu, and so are the rest
	handlers []*listener[T] // replaced, never changed
	dropped  uint64
}

// add lists a handler, and returns what takes it off the list.
func (o *outlet[T]) add(handle func(T)) (stop func()) {
	if handle == nil {
		panic("observe: nil handler")
	}
	h := &listener[T]{handle: handle}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.handlers = append(slices.Clip(o.handlers), h)
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.handlers = slices.DeleteFunc(slices.Clone(o.handlers), func(x *listener[T]) bool { return x == h })
	}
}

// report keeps a report and passes it to the handlers.
func (o *outlet[T]) report(report T) {
	o.mu.Lock()
	if len(o.kept) == maxKept {
		o.kept = o.kept[1:]
		o.dropped++
	}
	o.kept = append(o.kept, report)
	handlers := o.handlers
	o.mu.Unlock()
	for _, h := range handlers {
		if !h.add(report) {
			o.drop(1)
		}
	}
}

// drop counts reports that there was no room for.
func (o *outlet[T]) drop(n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped += n
}

// read returns the reports that are kept, the oldest first, and how many have been dropped.
func (o *outlet[T]) read() ([]T, uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.kept), o.dropped
}

// A listener gets reports one after the other, in a goroutine that exists while there are some.
type listener[T any] struct {
	handle func(T)

	mu    sync.Mutex
	queue []T  // guarded by mu
	busy  bool // the goroutine exists; guarded by mu
}

// add queues a report, and reports false if there are too many.
func (h *listener[T]) add(report T) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queue) == maxBehind {
		return false
	}
	h.queue = append(h.queue, report)
	if !h.busy {
		h.busy = true
		go h.run()
	}
	return true
}

func (h *listener[T]) run() {
	for {
		h.mu.Lock()
		if len(h.queue) == 0 {
			h.busy = false
			h.mu.Unlock()
			return
		}
		next := h.queue[0]
		h.queue = h.queue[1:]
		h.mu.Unlock()
		h.call(next)
	}
}

// call calls the user's function, which may panic, or end its goroutine: then another goes on.
func (h *listener[T]) call(report T) {
	ended := false
	defer func() {
		if p := recover(); p != nil {
			logger().Error("farad: a handler has panicked", "panic", p, "stack", string(debug.Stack()))
		} else if !ended {
			go h.run() // after runtime.Goexit
		}
	}()
	h.handle(report)
	ended = true
}
