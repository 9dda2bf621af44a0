package hook_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/observe/hook"
	"github.com/farad-go/farad/waiter"
)

// A pool has permits. It is a lock of the simplest kind that package observe can show: a
// [waiter.Request], and the functions that pools passes.
type pool struct {
	mu       sync.Mutex
	observed bool
	size     int64
	free     int64
	line     []*waiter.Waiter
}

var pools = hook.Register(hook.Type[pool]{
	Name: "example.pool",
	Observe: func(p *pool, on bool) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.observed = on
	},
	IsObserved: func(p *pool) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.observed
	},
	Numbers: func(p *pool) hook.Numbers {
		p.mu.Lock()
		defer p.mu.Unlock()
		return hook.Numbers{Size: p.size, Free: p.free, Waiting: len(p.line)}
	},
})

// Start implements [waiter.Request].
func (p *pool) Start(w *waiter.Waiter, waker waiter.Waker) waiter.Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case w.N > p.size:
		return waiter.TooLarge
	case len(p.line) == 0 && w.N <= p.free:
		p.free -= w.N
		return waiter.Granted
	}
	w.Arm(waker)
	p.line = append(p.line, w)
	return waiter.Pending
}

// Unlink implements [waiter.Request].
func (p *pool) Unlink(w *waiter.Waiter) bool {
	p.mu.Lock()
	i := slices.Index(p.line, w)
	if i >= 0 {
		p.line = slices.Delete(p.line, i, i+1)
	}
	p.mu.Unlock()
	p.GiveBack(0) // those behind w may fit
	return i >= 0
}

// GiveBack implements [waiter.Request].
func (p *pool) GiveBack(n int64) bool {
	p.mu.Lock()
	if p.free+n > p.size {
		p.mu.Unlock()
		return false
	}
	p.free += n
	var next []*waiter.Waiter
	for len(p.line) > 0 && p.line[0].N <= p.free {
		next, p.line = append(next, p.line[0]), p.line[1:]
		p.free -= next[len(next)-1].N
	}
	p.mu.Unlock()
	for _, w := range next {
		if n := w.N; !w.HandOff() {
			p.GiveBack(n)
		}
	}
	return true
}

// Acquire takes n permits.
func (p *pool) Acquire(ctx context.Context, n int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	q, wait := hook.Request{N: n}, func(l waiter.Limit) error { return waiter.Wait(l, p, n) }
	r, observed := pools.Join(p)
	switch ok := p.try(n); {
	case ok && observed:
		r.Tried(q, true)
		return nil
	case ok:
		return nil
	case observed:
		return r.Await(q, waiter.UntilDone(ctx), wait)
	}
	return wait(waiter.UntilDone(ctx))
}

// TryAcquire takes n permits if they are free.
func (p *pool) TryAcquire(n int64) bool {
	ok := p.try(n)
	if r, observed := pools.Of(p); observed {
		r.Tried(hook.Request{N: n}, ok)
	}
	return ok
}

func (p *pool) try(n int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.line) > 0 || n > p.free {
		return false
	}
	p.free -= n
	return true
}

// Release gives back n permits.
func (p *pool) Release(n int64) {
	if r, ok := pools.Of(p); ok {
		r.Released(hook.Request{N: n})
	}
	p.GiveBack(n)
}

// Bind makes f a request for n permits.
func (p *pool) Bind(f *waiter.Future, n int64) { pools.Bind(f, p, hook.Request{N: n}, p) }

// A lock of another module is watched as any other.
func ExampleRegister() {
	p := &pool{size: 2, free: 2}
	observe.Watch(p, "connections", observe.LevelHolders)
	defer observe.Watch(p, "", observe.LevelOff)

	fmt.Println(p.TryAcquire(2))
	var f waiter.Future
	p.Bind(&f, 1)
	defer f.Release()
	f.Poll(nil)

	for _, l := range observe.Read().Locks {
		fmt.Println(l.Kind, l.Name, l.Size, l.Free, len(l.Holders), len(l.Waiters))
	}
	p.Release(2)
	fmt.Println(f.Err())
	// Output:
	// true
	// example.pool connections 2 0 1 1
	// <nil>
}
