//go:build !interleave

package sync

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

// Four goroutines want the mutex all the time. A lane that lasts too long is cut. One that is
// hardly used, because who is admitted hands the mutex to the next, stays as it is. The lane
// becomes all that it can be when no goroutine waits any more.
func TestLaneIsCutToMeasure(t *testing.T) {
	for _, s := range []struct {
		section     time.Duration
		least, most uint32 // places
	}{
		{10 * time.Microsecond, 1, Express / 2},
		{time.Microsecond, 1, Express / 2},
		{time.Second, 1, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := new(Mutex)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 3000 {
						m.Lock()
						time.Sleep(s.section)
						m.Unlock()
					}
				})
			}
			time.Sleep(8000 * s.section)
			var got uint32
			do(m, func() { got = m.lane.places() })
			wg.Wait()
			require.True(t, s.least <= got && got <= s.most, "%d places, sections of %v", got, s.section)
			for range Express + 1 { // one of them comes through the gate
				do(m, func() {})
			}
			require.EqualValues(t, Express, m.lane.places())
		})
	}
}

// Nothing is in the way of a goroutine that takes its time.
func TestLaneIsNotCutWithoutWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Mutex
		for range 3 * Express {
			m.Lock()
			time.Sleep(time.Second)
			m.Unlock()
		}
		require.Zero(t, m.lane.cut())
	})
}

// A goroutine that finds the gate open, and then sleeps in front of the lock, has waited as well:
// half of the places are left at once, and a quarter after the next.
func TestLaneIsCutForOneWhoWaits(t *testing.T) {
	for name, create := range map[string]func() (l sync.Locker, left func() int64){
		"Mutex": func() (sync.Locker, func() int64) {
			m := new(Mutex)
			return m, func() int64 { return Express - int64(uint16(m.used)) }
		},
		"RWMutex": func() (sync.Locker, func() int64) {
			l := new(RWMutex)
			return l, func() int64 { return Express - l.word.Load()&rwLane/rwPlace }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, left := create()
				l.Lock()
				go func() {
					l.Lock()
					time.Sleep(time.Second)
					l.Unlock()
				}()
				time.Sleep(time.Second)
				l.Unlock()
				synctest.Wait() // It has the lock, and keeps it for a second.
				require.EqualValues(require.GoOn(t), Express/2, left())
				l.Lock()
				require.EqualValues(require.GoOn(t), Express/4, left())
				l.Unlock()
			})
		})
	}
}

// While its lane has places, an unlock wakes the admitted goroutine and goes on. The unlock that
// finds them used up lets it run before it returns.
func TestTheUnlockThatEndsTheLaneCedes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	mutex, rw := new(Mutex), new(RWMutex)
	for name, c := range map[string]struct {
		l interface {
			sync.Locker
			Waiting() int
		}
		startLane, endLane func()
	}{
		"Mutex":   {mutex, func() { mutex.used = 0 }, func() { mutex.used = Express }},
		"RWMutex": {rw, func() { rw.word.And(^rwLane) }, func() { rw.word.Or(rwFull) }},
	} {
		ranAtOnce := func(ended bool) (often int) {
			for range 100 {
				var ran atomic.Bool
				done := make(chan struct{})
				c.l.Lock()
				go func() {
					c.l.Lock()
					ran.Store(true)
					c.l.Unlock()
					close(done)
				}()
				locktest.AwaitWaiting(t, c.l, 1)
				if ended {
					c.endLane()
				} else {
					c.startLane() // on a slow machine it has been cut
				}
				c.l.Unlock()
				if ran.Load() {
					often++
				}
				<-done
			}
			return often
		}
		require.Greater(t, ranAtOnce(true), 80, name)
		require.Less(t, ranAtOnce(false), 20, name)
	}
}
