//go:build !interleave

package observe

import (
	"log/slog"
	"math/rand/v2"
	"runtime"
	stdsync "sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/keyed"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// Programs that keep one order, and release all that they have, are never reported, although the
// level of their lock changes all the time.
func TestLegalProgramsWhoseLevelsChange(t *testing.T) {
	m, s := new(keyed.Mutex[int]), semaphore.New(2)
	for name, program := range map[string]struct {
		lock any
		turn func(rnd *rand.Rand)
	}{
		"keys": {m, func(rnd *rand.Rand) {
			a, b := rnd.IntN(4), rnd.IntN(4)
			if rnd.IntN(3) == 0 {
				m.Lock(a)
				m.Unlock(a)
				return
			}
			m.Lock(a, b)
			runtime.Gosched()
			m.Unlock(b, a)
		}},
		"futures": {s, func(rnd *rand.Rand) {
			f := new(waiter.Future)
			s.Bind(f, 1)
			if rnd.IntN(2) == 0 {
				f.Done()
				runtime.Gosched()
				f.Release()
				return
			}
			<-f.Done()
			if f.Err() == nil {
				runtime.Gosched()
				s.Release(1)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			quiet := slog.New(slog.DiscardHandler)
			Configure(Config{Period: time.Millisecond, Logger: quiet})
			defer Configure(Config{Logger: quiet})
			start := time.Now()
			var toggler, workers stdsync.WaitGroup
			done := make(chan struct{})
			toggler.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
					}
					Watch(program.lock, t.Name(), Level(rand.IntN(3)))
					Read()
					if rand.IntN(20) == 0 {
						runtime.GC()
					}
				}
			})
			for i := range 6 {
				workers.Go(func() {
					rnd := rand.New(rand.NewPCG(uint64(i), rand.Uint64()))
					for range locktest.Scaled(5000) {
						program.turn(rnd)
					}
				})
			}
			workers.Wait()
			close(done)
			toggler.Wait()
			defer Watch(program.lock, "", LevelOff)
			Watch(program.lock, t.Name(), LevelHolders)
			looks(t, 3)
			now := Read()
			for _, x := range now.Suspicions {
				require.False(t, x.At.After(start) && x.Lock != "" && x.Why == Inversion, x.Text)
			}
			for _, x := range now.Leaks {
				require.False(t, x.At.After(start) && x.Lock == t.Name(), x)
			}
			for _, x := range now.Deadlocks {
				require.False(t, x.At.After(start) && x.Waits[0].Lock == t.Name(), x)
			}
			for _, l := range now.Locks {
				if l.Name == t.Name() {
					require.Empty(t, l.Holders)
					require.Empty(t, l.Waiters)
				}
			}
		})
	}
}
