package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/sync/semaphore"
)

// A pair acquires a permit and returns what releases it.
type pair func(ctx context.Context) (release func(), err error)

// A result is what a load has measured.
type result struct {
	perClient []float64
	longest   []time.Duration // wait, per client
	took      time.Duration
	writes    int64
}

func (r result) total() (n float64) {
	for _, c := range r.perClient {
		n += c
	}
	return n
}

func (r result) rate() float64 { return r.total() / r.took.Seconds() }

// jain is Jain's index of fairness over the clients: 1 if all got the same.
func (r result) jain() float64 {
	var squares float64
	for _, c := range r.perClient {
		squares += c * c
	}
	return r.total() * r.total() / (float64(len(r.perClient)) * squares)
}

const goroutines = 8 // of each client

// load has the goroutines of each client acquire, hold for a time, and release, over and over.
func (b *bench) load(clients []pair, hold time.Duration) (result, error) {
	r := result{perClient: make([]float64, len(clients)), longest: make([]time.Duration, len(clients))}
	ctx, cancel := context.WithTimeout(b.ctx, b.slice)
	defer cancel()
	before, err := b.revision()
	if err != nil {
		return r, err
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed atomic.Pointer[error]
	begin := time.Now()
	for i, acquire := range clients {
		for range goroutines {
			wg.Go(func() {
				var n int
				var longest time.Duration
				for ctx.Err() == nil {
					asked := time.Now()
					release, err := acquire(ctx)
					if err != nil {
						if ctx.Err() == nil {
							failed.Store(&err)
						}
						break
					}
					longest = max(longest, time.Since(asked))
					n++
					if hold > 0 {
						time.Sleep(hold)
					}
					release()
				}
				mu.Lock()
				defer mu.Unlock()
				r.perClient[i] += float64(n)
				r.longest[i] = max(r.longest[i], longest)
			})
		}
	}
	wg.Wait()
	r.took = time.Since(begin)
	if err := failed.Load(); err != nil {
		return r, *err
	}
	after, err := b.revision()
	r.writes = after - before
	return r, err
}

// fleetLoad is load on a semaphore of the fleet.
func (b *bench) fleetLoad(clients int, size int64, hold time.Duration, opts ...fleet.Option) (result, error) {
	fs, end, err := b.members(clients, opts...)
	defer end()
	if err != nil {
		return result{}, err
	}
	var pairs []pair
	name := b.name()
	for _, f := range fs {
		sem, err := f.Semaphore(b.ctx, name, size)
		if err != nil {
			return result{}, err
		}
		release := func() { sem.Release(1) }
		pairs = append(pairs, func(ctx context.Context) (func(), error) { return release, sem.Acquire(ctx, 1) })
	}
	return b.load(pairs, hold)
}

// etcdLoad is load on etcd's own mutex: one session and one mutex a goroutine, as its documentation
// wants.
func (b *bench) etcdLoad(clients int, hold time.Duration) (result, error) {
	var pairs []pair
	name := b.name()
	for range clients {
		c, err := b.cluster.Client()
		if err != nil {
			return result{}, err
		}
		defer c.Close()
		sessions := make(chan *concurrency.Session, goroutines)
		for range goroutines {
			s, err := concurrency.NewSession(c, concurrency.WithTTL(5))
			if err != nil {
				return result{}, err
			}
			defer s.Close()
			sessions <- s
		}
		pairs = append(pairs, func(ctx context.Context) (func(), error) {
			s := <-sessions
			m := concurrency.NewMutex(s, name)
			if err := m.Lock(ctx); err != nil {
				sessions <- s
				return nil, err
			}
			return func() {
				_ = m.Unlock(b.ctx)
				sessions <- s
			}, nil
		})
	}
	return b.load(pairs, hold)
}

// entryLoad is load on a semaphore with an entry in etcd for each acquire.
func (b *bench) entryLoad(clients int, size int64, hold time.Duration) (result, error) {
	var pairs []pair
	name := b.name()
	for range clients {
		c, err := b.cluster.Client()
		if err != nil {
			return result{}, err
		}
		defer c.Close()
		l, err := newLine(b.ctx, c, name, size)
		if err != nil {
			return result{}, err
		}
		defer l.close()
		pairs = append(pairs, l.acquire)
	}
	return b.load(pairs, hold)
}

// localLoad is load on a semaphore of this process.
func (b *bench) localLoad() (result, error) {
	sem := semaphore.New(1)
	release := func() { sem.Release(1) }
	return b.load([]pair{func(ctx context.Context) (func(), error) { return release, sem.Acquire(ctx, 1) }}, 0)
}

func (b *bench) oneProcessLoad(token bool) (result, error) {
	fs, end, err := b.members(1)
	defer end()
	if err != nil {
		return result{}, err
	}
	sem, err := fs[0].Semaphore(b.ctx, b.name(), 1)
	if err != nil {
		return result{}, err
	}
	release := func() { sem.Release(1) }
	acquire := func(ctx context.Context) (func(), error) { return release, sem.Acquire(ctx, 1) }
	if token {
		acquire = func(ctx context.Context) (func(), error) {
			p, err := sem.AcquirePermit(ctx, 1)
			if err != nil {
				return nil, err
			}
			if p.Token().Seq == 0 {
				return nil, fmt.Errorf("a permit without a token")
			}
			return p.Release, nil
		}
	}
	return b.load([]pair{acquire}, 0)
}

// medians interleaves measurements, rounds times, and returns for each the medians of what of
// returns.
func (b *bench) medians(of func(result) float64, loads ...func() (result, error)) ([]float64, error) {
	all := make([][]float64, len(loads))
	for range b.rounds {
		for i, l := range loads {
			r, err := l()
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], of(r))
		}
	}
	m := make([]float64, len(loads))
	for i := range all {
		m[i] = median(all[i])
	}
	return m, nil
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}
