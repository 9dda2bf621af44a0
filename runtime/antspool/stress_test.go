package antspool_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/panjf2000/ants/v2"
	"github.com/stretchr/testify/assert" // for what runs on other goroutines
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

// Everything at once: submits with contexts that end at any time, jobs that are stopped at any
// time, panics and Goexit, foreign work, changes of the sizes. Each function runs once if it was
// promised and never otherwise, the gate is kept, and in the end nothing is left.
func TestStress(t *testing.T) {
	rounds := 150
	if locktest.Stress() {
		rounds = 1500
	}
	for _, nonblocking := range []bool{true, false} {
		locktest.AtEveryProcs(t, func(t *testing.T) {
			const size, submitters = 4, 6
			gate := semaphore.New(size)
			p := check(t, antspool.New(newAnts(t, 3, ants.WithNonblocking(nonblocking),
				ants.WithPanicHandler(func(any) {})), antspool.WithGate(gate)))
			var held highWater
			var promised, ran, refused atomic.Int64
			var wg, jobs sync.WaitGroup
			stop := make(chan struct{})
			var foreign sync.WaitGroup
			foreign.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						_ = p.Ants().Submit(func() { time.Sleep(50 * time.Microsecond) })
						p.Tune(1 + rand.IntN(4))
						runtime.Gosched()
					}
				}
			})
			for range submitters {
				wg.Go(func() {
					for range rounds {
						weight := rand.Int64N(size + 1)
						how := rand.IntN(20)
						var once atomic.Bool
						fn := func() {
							assert.True(t, once.CompareAndSwap(false, true), "runs twice")
							held.add(weight)
							runtime.Gosched()
							held.add(-weight)
							ran.Add(1)
							switch how {
							case 0:
								panic("stress")
							case 1:
								runtime.Goexit()
							}
						}
						switch rand.IntN(4) {
						case 0:
							ctx, cancel := context.WithCancel(bg)
							if rand.IntN(2) == 0 {
								timer := time.AfterFunc(rand.N(200*time.Microsecond), cancel)
								defer timer.Stop()
							}
							err := p.Submit(ctx, weight, fn)
							if err == nil {
								promised.Add(1)
							} else {
								assert.ErrorIs(t, err, context.Canceled)
								refused.Add(1)
							}
							cancel()
						case 1:
							err := p.TrySubmit(weight, fn)
							if err == nil {
								promised.Add(1)
							} else {
								refused.Add(1)
							}
						case 2:
							j := p.Go(weight, fn)
							if rand.IntN(2) == 0 {
								spin(rand.IntN(100))
							}
							jobs.Go(func() {
								<-j.Done()
								if err := j.Err(); err == nil || errors.Is(err, antspool.ErrAborted) {
									promised.Add(1)
								} else {
									assert.Equal(t, antspool.ErrCancelled, err)
									refused.Add(1)
								}
							})
							if rand.IntN(2) == 0 {
								stopped := j.Stop()
								<-j.Done()
								assert.Equal(t, stopped, errors.Is(j.Err(), antspool.ErrCancelled))
							}
						case 3:
							j := p.Go(weight, fn)
							<-j.Done()
							if how > 1 {
								assert.NoError(t, j.Err())
							} else {
								assert.Equal(t, antspool.ErrAborted, j.Err())
							}
							promised.Add(1)
						}
					}
				})
			}
			wg.Wait()
			jobs.Wait()
			close(stop)
			foreign.Wait()
			locktest.Eventually(t, "all run", func() bool { return ran.Load() == promised.Load() })
			require.LessOrEqual(t, held.peak.Load(), int64(size))
			require.EqualValues(t, rounds*submitters, promised.Load()+refused.Load())
			requireIdle(t, p)
			require.EqualValues(t, promised.Load(), ran.Load())
		})
	}
}

func spin(n int) {
	for range n {
		runtime.Gosched()
	}
}
