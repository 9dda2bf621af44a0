package jobs

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/measure"
)

// Every worker pool does all that is submitted, as much at a time as it is to, and no more.
func TestWorkerPoolsKeepToTheirBound(t *testing.T) {
	const bound, jobs = 3, 60
	for _, of := range PoolMakers {
		t.Run(of.name, func(t *testing.T) {
			p, err := of.create(bound)
			require.NoError(t, err)
			var inside, most, done atomic.Int64
			var full sync.WaitGroup // as many are at work at a time as may
			full.Add(bound)
			for i := range jobs {
				require.NoError(t, p.submit(t.Context(), func() {
					now := inside.Add(1)
					for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
						continue
					}
					if i < bound {
						full.Done()
						full.Wait()
					}
					runtime.Gosched()
					inside.Add(-1)
					done.Add(1)
				}))
			}
			require.NoError(t, p.wait())
			require.EqualValues(t, jobs, done.Load())
			require.EqualValues(t, bound, most.Load())
			if p.end != nil {
				require.NoError(t, p.end())
			}
		})
	}
}

// If a pool promises that submit can be cancelled, submit returns when the context ends, and the
// work does not begin. In the other pools it begins when there is room.
func TestWorkerPoolsCancelAsTheySay(t *testing.T) {
	for _, of := range PoolMakers {
		t.Run(of.name, func(t *testing.T) {
			p, err := of.create(1)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			release := make(chan struct{})
			require.NoError(t, p.submit(ctx, func() { <-release }))
			var begun atomic.Bool
			returned := make(chan error)
			go func() { returned <- p.submit(ctx, func() { begun.Store(true) }) }()
			cancel()
			if of.cancels {
				require.ErrorIs(t, <-returned, context.Canceled)
				close(release)
			} else {
				select {
				case err := <-returned:
					require.Fail(t, "submit does not wait", "%v", err)
				case <-time.After(20 * time.Millisecond):
				}
				close(release)
				require.NoError(t, <-returned)
			}
			require.NoError(t, p.wait())
			require.Equal(t, !of.cancels, begun.Load())
			if p.end != nil {
				require.NoError(t, p.end())
			}
		})
	}
}

// What becomes of a panic where it does not end the program. (That of ants is tested in
// runtime/antspool.)
func TestWorkerPoolsThatCatchPanics(t *testing.T) {
	p, err := newConc(2)
	require.NoError(t, err)
	require.NoError(t, p.submit(t.Context(), func() { panic("boom") }))
	require.Panics(t, func() { _ = p.wait() })

	p, err = newPond(2)
	require.NoError(t, err)
	require.NoError(t, p.submit(t.Context(), func() { panic("boom") }))
	require.NotPanics(t, func() { err = p.wait() })
	require.NoError(t, err)
}

// Blocks that are not hashed, or wrongly, are found out.
func TestHashesAreChecked(t *testing.T) {
	b := newBlocks()
	for i := range 100 {
		b.hash(i)
	}
	require.NoError(t, b.complete(100))
	require.ErrorContains(t, b.complete(101), "100 blocks of 101")
	b.data[7][0]++
	b.hash(7)
	require.ErrorContains(t, b.complete(101), "1 wrongly")

	lazy := poolMaker{create: func(int) (workerPool, error) {
		return workerPool{
			submit: func(context.Context, func()) error { return nil },
			wait:   func() error { return nil },
		}, nil
	}}
	require.ErrorContains(t, hashAll(&measure.Lap{Todo: 5, Workers: 2}, lazy), "0 blocks of 5")
}
