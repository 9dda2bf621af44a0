package antspool_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/panjf2000/ants/v2"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

// BenchmarkPool runs an empty function for each operation, submitted by one goroutine, to a pool of
// four: by a blocking pool of ants alone, by a non-blocking one with a semaphore that is acquired
// around it, and by this package.
func BenchmarkPool(b *testing.B) {
	run := func(name string, submit func(b *testing.B, fn func())) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var wg sync.WaitGroup
			wg.Add(b.N)
			submit(b, wg.Done)
			wg.Wait()
		})
	}
	run("ants", func(b *testing.B, fn func()) {
		p := newAnts(b, 4)
		for range b.N {
			_ = p.Submit(fn)
		}
	})
	run("ants+semaphore", func(b *testing.B, fn func()) {
		p := newAnts(b, 4, ants.WithNonblocking(true))
		gate := semaphore.New(4)
		for range b.N {
			_ = gate.Acquire(bg, 1)
			for errors.Is(p.Submit(func() {
				defer gate.Release(1)
				fn()
			}), ants.ErrPoolOverload) {
			}
		}
	})
	for name, newPool := range map[string]newPoolFunc{"": newPool, "Blocking": newBlockingPool} {
		run("Submit"+name, func(b *testing.B, fn func()) {
			p := newPool(b, 4)
			for range b.N {
				require.NoError(b, p.Submit(bg, 1, fn))
			}
		})
		run("Go"+name, func(b *testing.B, fn func()) {
			p := newPool(b, 4, antspool.WithGate(semaphore.New(2)))
			for range b.N {
				p.Go(1, fn)
			}
		})
	}
}
