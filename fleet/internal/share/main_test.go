package share

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

func TestMain(m *testing.M) { locktest.Main(m) }

// A semaphore is a share as one: what is given is what may be asked for.
type semaphore struct {
	Share
	resizing mutex
}

func newSemaphore(n int64) *semaphore {
	s := new(semaphore)
	s.Init(new(Bell), func() bool { return true })
	s.Resize(n)
	return s
}

func (s *semaphore) Acquire(ctx context.Context, n int64) error {
	if ctx == nil {
		panic("semaphore: nil context")
	}
	requireNumber("acquire", n)
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Wait(waiter.UntilDone(ctx), n)
}

func (s *semaphore) AcquireTimeout(d time.Duration, n int64) error {
	requireNumber("acquire", n)
	if d <= 0 {
		return context.DeadlineExceeded
	}
	return s.Wait(waiter.After(d), n)
}

func (s *semaphore) TryAcquire(n int64) bool {
	requireNumber("acquire", n)
	if n == 0 {
		return s.Wait(waiter.Limit{}, n) == nil
	}
	return s.Try(n)
}

func (s *semaphore) Release(n int64) {
	requireNumber("release", n)
	if n > 0 && !s.Share.Release(n) {
		panic(fmt.Sprintf("semaphore: released %d, but %d are held (size %d)", n, s.Held(), s.Given()))
	}
}

func (s *semaphore) Resize(n int64) {
	requireNumber("size", n)
	n = min(n, store.MaxWeight)
	s.resizing.Lock() // a share has one agent
	defer s.resizing.Unlock()
	s.Share.Resize(n)
	s.Bound(n)
}

func (s *semaphore) Size() int64 { return s.Given() }

func requireNumber(what string, n int64) {
	if n < 0 {
		panic("semaphore: " + what + " of a negative number of permits")
	}
}

// asSemaphore is the kind of shares.
func asSemaphore() semtest.Kind {
	return semtest.Kind{
		New: func(n int64) semtest.Semaphore { return newSemaphore(n) },
		Bind: func(s semtest.Semaphore, f *waiter.Future, n int64) {
			requireNumber("future", n)
			var r *Request
			if of, ok := (*waiting.Future)(f).Request().(interface{ Behind() any }); ok {
				r = of.Behind().(*Request)
			} else {
				r = new(Request)
			}
			waiter.Bind(f, r, n)
			r.Of(&s.(*semaphore).Share)
		},
	}
}
