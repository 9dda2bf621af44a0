package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/farad-go/farad/fleet"
)

// A meter counts the messages that clients send.
type meter struct{ sent atomic.Int64 }

func (m *meter) options() []grpc.DialOption {
	unary := func(
		ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, do grpc.UnaryInvoker,
		opts ...grpc.CallOption,
	) error {
		m.sent.Add(1)
		return do(ctx, method, req, reply, cc, opts...)
	}
	stream := func(
		ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, do grpc.Streamer,
		opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		s, err := do(ctx, desc, cc, method, opts...)
		return &metered{s, m}, err
	}
	return []grpc.DialOption{grpc.WithChainUnaryInterceptor(unary), grpc.WithChainStreamInterceptor(stream)}
}

type metered struct {
	grpc.ClientStream
	m *meter
}

func (s *metered) SendMsg(msg any) error {
	s.m.sent.Add(1)
	return s.ClientStream.SendMsg(msg)
}

// use has f use n mutexes that nobody else uses.
func (b *bench) use(f *fleet.Fleet, n int) error {
	for range n {
		m, err := f.Mutex(b.ctx, b.name())
		if err != nil {
			return err
		}
		p, err := m.Lock(b.ctx)
		if err != nil {
			return err
		}
		p.Release()
	}
	return nil
}

// settled returns the goroutines and the bytes of the heap once nothing more is freed.
func settled() (goroutines int, bytes float64) {
	var m runtime.MemStats
	for range 5 {
		time.Sleep(100 * time.Millisecond)
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return runtime.NumGoroutine(), float64(m.HeapAlloc + m.StackInuse)
}

// rest measures what locks cost that were used, and are at rest.
func (b *bench) rest() ([]row, error) {
	many, err := b.restOf(100, 10)
	if err != nil {
		return nil, err
	}
	one, err := b.restOf(1, 2000)
	if err != nil {
		return nil, err
	}
	return []row{
		{what: "at rest: requests a second, 100 processes × 10 locks", ratio: many.requests, most: 70},
		{what: "the same, 1 process × 2,000 locks", ratio: one.requests, most: 2},
		{what: "goroutines a lock, of 2,000", ratio: one.goroutines, most: 0.1},
		{what: "bytes a lock, of 2,000", ratio: one.bytes / 1e3, most: 8, unit: " kB"},
	}, nil
}

type atRest struct{ requests, goroutines, bytes float64 }

func (b *bench) restOf(processes, locks int) (r atRest, err error) {
	m := &meter{}
	b.dial = m.options()
	defer func() { b.dial = nil }()
	fs, end, err := b.members(processes)
	defer end()
	if err != nil {
		return r, err
	}
	for _, f := range fs {
		if err := b.use(f, 1); err != nil {
			return r, err
		}
	}
	goroutines, bytes := settled()
	for _, f := range fs {
		if err := b.use(f, locks-1); err != nil {
			return r, err
		}
	}
	after, more := settled()
	n := float64(processes * (locks - 1))
	r.goroutines, r.bytes = float64(after-goroutines)/n, (more-bytes)/n
	time.Sleep(fleet.DefaultTTL) // until all rest
	begin, before := time.Now(), m.sent.Load()
	time.Sleep(3 * fleet.DefaultTTL)
	r.requests = float64(m.sent.Load()-before) / time.Since(begin).Seconds()
	return r, nil
}

// crowd compares many processes on one semaphore with a few.
func (b *bench) crowd() ([]row, error) {
	const few, many = 10, 200
	slice := b.slice
	defer func() { b.slice = slice }()
	load := func(n int) (rate, jain float64, err error) {
		b.slice = slice * time.Duration(2*n/few) // each must have had a few turns
		r, err := b.fleetLoad(n, 4, held)
		return r.rate(), r.jain(), err
	}
	a, _, err := load(few)
	if err != nil {
		return nil, err
	}
	z, jain, err := load(many)
	if err != nil {
		return nil, err
	}
	return []row{
		{
			what: fmt.Sprintf("four permits, held 1 ms: %d processes ÷ %d", many, few),
			ours: fmt.Sprintf("%.3g/s", z), other: fmt.Sprintf("%.3g/s", a), ratio: z / a, least: 0.5,
		},
		{what: fmt.Sprintf("Jain's index: %d clients, four permits, held 1 ms", many), ratio: jain, least: 0.95},
	}, nil
}
