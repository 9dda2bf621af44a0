package main

import (
	"context"
	"sync"
	"time"

	"github.com/farad-go/farad/sync/semaphore"
)

// A limit is a semaphore that keeps count of its use.
type limit struct {
	size int64
	sem  *semaphore.Semaphore

	mu    sync.Mutex
	held  int64
	stats limitStats
}

// limitStats is how a limit was used.
type limitStats struct {
	Limit       int64   `json:"limit"`
	Peak        int64   `json:"peak"`
	Waits       int64   `json:"waits"`
	LongestWait seconds `json:"longestWaitSeconds"`
}

func newLimit(size int64) *limit {
	return &limit{size: size, sem: semaphore.New(size), stats: limitStats{Limit: size}}
}

// acquire takes n, which is at most the size of the limit. It returns the context's error if that
// is done first.
func (l *limit) acquire(ctx context.Context, n int64) error {
	// TryAcquire never overtakes a waiter, so trying first costs no waiter its place. If it fails
	// this is a wait. An empty file asks for 0 bytes, which succeeds even if others wait.
	if !l.sem.TryAcquire(n) {
		start := time.Now()
		err := l.sem.Acquire(ctx, n)
		l.waited(time.Since(start))
		if err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held += n
	l.stats.Peak = max(l.stats.Peak, l.held)
	return nil
}

func (l *limit) release(n int64) {
	// Count first: afterwards another worker may hold the same n, and the peak would seem to exceed
	// the limit.
	l.mu.Lock()
	l.held -= n
	l.mu.Unlock()
	l.sem.Release(n)
}

func (l *limit) waited(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Waits++
	l.stats.LongestWait = max(l.stats.LongestWait, seconds(d))
}

func (l *limit) statistics() limitStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}
