package limit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

var errRefused = errors.New("refused")

// Each request says how it has ended, whatever way it takes.
func ExampleLimiter() {
	limiter := limit.New(semaphore.New(0), &limit.Vegas{Max: 400})

	serve := func(ctx context.Context, query func(context.Context) error) error {
		p, err := limiter.Acquire(ctx, 1)
		if err != nil {
			return err
		}
		defer p.Ignore() // does nothing after another end
		switch err := query(ctx); {
		case errors.Is(err, errRefused), errors.Is(err, context.DeadlineExceeded):
			p.Dropped()
			return err
		case err != nil:
			return err
		}
		p.Success()
		return nil
	}

	fmt.Println(serve(context.Background(), func(context.Context) error { return nil }))
	fmt.Println(serve(context.Background(), func(context.Context) error { return errRefused }))
	fmt.Println(limiter.Limit(), limiter.InFlight(), limiter.Semaphore().Available())
	// Output:
	// <nil>
	// refused
	// 20 0 20
}

// A request that must not wait is refused beyond the limit.
func ExampleLimiter_TryAcquire() {
	limiter := limit.New(semaphore.New(0), &limit.Vegas{Initial: 2})
	for range 3 {
		p, ok := limiter.TryAcquire(1)
		fmt.Println(ok)
		if ok {
			defer p.Success()
		}
	}
	// Output:
	// true
	// true
	// false
}

// Permits that come from the semaphore itself, here by a future in a select, are measured as well.
func ExampleLimiter_Start() {
	limiter := limit.New(semaphore.New(0), &limit.Vegas{})
	var f waiter.Future
	limiter.Semaphore().Bind(&f, 1)
	defer f.Release() // leaves the line, unless the permit is ours
	select {
	case <-f.Done():
		if f.Take() != nil {
			return
		}
		p := limiter.Start(1) // gives the permit back when it ends
		defer p.Success()
		fmt.Println("in flight:", limiter.InFlight())
	case <-time.After(time.Minute):
	}
	// Output: in flight: 1
}

func ExamplePermit() {
	limiter := limit.New(semaphore.New(0), &limit.Vegas{Initial: 10})
	p, err := limiter.Acquire(context.Background(), 3)
	if err != nil {
		return
	}
	fmt.Println(limiter.Semaphore().Available())
	p.Success()
	p.Ignore() // it has ended already
	fmt.Println(limiter.Semaphore().Available())
	// Output:
	// 7
	// 10
}

// A limit that shall be steady needs longer windows, and follows later.
func ExampleOption() {
	limiter := limit.New(semaphore.New(0), &limit.Gradient2{}, limit.WithWindow(time.Second, 200))
	fmt.Println(limiter.Limit())
	// Output: 20
}

// Controllers know no clock and no semaphore: they turn samples into limits.
func ExampleSample() {
	c := &limit.AIMD{}
	fmt.Println(c.Update(limit.Sample{RTT: 10 * time.Millisecond, InFlight: 20}))
	fmt.Println(c.Update(limit.Sample{RTT: 10 * time.Millisecond, InFlight: 3})) // hardly used: no sign
	fmt.Println(c.Update(limit.Sample{InFlight: 20, Dropped: true}))
	// Output:
	// 21
	// 21
	// 18
}

// halver is a controller of one's own.
type halver struct{ limit int64 }

func (h *halver) Limit() int64 { return max(1, h.limit) }

func (h *halver) Update(s limit.Sample) int64 {
	if s.Dropped {
		h.limit /= 2
	}
	return h.Limit()
}

func ExampleController() {
	limiter := limit.New(semaphore.New(0), &halver{limit: 64}, limit.WithWindow(0, 1))
	for range 3 {
		p, _ := limiter.TryAcquire(1)
		p.Dropped()
	}
	fmt.Println(limiter.Limit())
	// Output: 8
}

func ExampleAIMD() {
	c := &limit.AIMD{Max: 100, Timeout: 50 * time.Millisecond}
	quick := limit.Sample{RTT: 40 * time.Millisecond, InFlight: 100}
	slow := limit.Sample{RTT: 60 * time.Millisecond, InFlight: 100}
	fmt.Println(c.Update(quick), c.Update(quick), c.Update(slow))
	// Output: 21 22 19
}

func ExampleGradient2() {
	c := &limit.Gradient2{Max: 100, Initial: 50}
	for range 10 {
		c.Update(limit.Sample{RTT: 40 * time.Millisecond, InFlight: 100})
	}
	fmt.Println(c.Limit())
	fmt.Println(c.Update(limit.Sample{RTT: 55 * time.Millisecond, InFlight: 100})) // within the tolerance
	fmt.Println(c.Update(limit.Sample{RTT: 200 * time.Millisecond, InFlight: 100}))
	// Output:
	// 58
	// 58
	// 53
}

func ExampleVegas() {
	c := &limit.Vegas{Max: 100}
	for range 11 { // it learns the latency without load
		c.Update(limit.Sample{RTT: 40 * time.Millisecond, InFlight: 20})
	}
	fmt.Println(c.Limit())
	fmt.Println(c.Update(limit.Sample{RTT: 40 * time.Millisecond, InFlight: 20}))  // no queue
	fmt.Println(c.Update(limit.Sample{RTT: 120 * time.Millisecond, InFlight: 32})) // a third of it queues
	// Output:
	// 26
	// 32
	// 31
}
