package lanes

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/papers/innerlocks"
	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/waiting"
)

func TestSizesAreChecked(t *testing.T) {
	for _, size := range []struct {
		lanes int
		share int64
	}{{0, 1}, {-1, 1}, {1, 0}, {2, -1}, {2, engine.MaxPermits}} {
		assert.PanicsWithValue(t, badSize, func() { New(size.lanes, size.share) }, size)
		if size.lanes < 1 || size.share < 1 {
			assert.PanicsWithValue(t, badSize, func() { NewSeparate(size.lanes, size.share) }, size)
		}
	}
	require.EqualValues(t, 6, New(3, 2).Size())
}

func TestKeysAreSpreadOverAllLanes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 8} {
		counts := make([]int, n)
		for key := range uint64(1000) {
			counts[laneOf(key, n)]++
		}
		require.Greater(t, slices.Min(counts), 1000/n*9/10, "%d lanes: %v", n, counts)
		require.Less(t, laneOf(1<<64-1, n), n)
	}
}

// All of a platoon pass, whatever their lanes. No other passes before all of them have departed.
// Then all waiters pass.
func TestPlatoonsPass(t *testing.T) {
	g := New(3, 2)
	for range 2 {
		for range g.Size() {
			require.NoError(t, g.Arrive(bg, 0))
		}
		passed := make(chan error)
		for lane := range 3 {
			go func() { passed <- g.Arrive(bg, keyOf(lane, 3)) }()
			locktest.AwaitWaiting(t, g, lane+1)
		}
		for range g.Size() - 1 {
			g.Depart(0)
			locktest.RequireBlocked(t, passed)
		}
		g.Depart(0)
		for range 3 {
			require.NoError(t, locktest.Receive(t, passed))
		}
		for range 3 {
			g.Depart(0)
		}
		for range 3 { // of the same platoon
			require.NoError(t, g.Arrive(bg, 0))
			g.Depart(0)
		}
		require.Zero(t, g.departed.Load())
	}
}

func TestDepartWithoutArrivePanics(t *testing.T) {
	for _, lanes := range []int{1, 3} {
		g := New(lanes, 2)
		for passed := range 3 * g.Size() {
			require.PanicsWithValue(t, "lanes: depart without arrive", func() { g.Depart(0) })
			require.Equal(t, g.Size()-passed%g.Size(), g.free())
			require.NoError(t, g.Arrive(bg, AtRandom()))
			g.Depart(0)
		}
	}
	s := NewSeparate(2, 2)
	require.NoError(t, s.Arrive(bg, keyOf(0, 2)))
	require.Panics(t, func() { s.Depart(keyOf(1, 2)) }, "no goroutine is there")
	s.Depart(keyOf(0, 2))
}

func TestDoneContextNeverPasses(t *testing.T) {
	g := New(2, 1)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	require.ErrorIs(t, g.Arrive(ctx, 0), context.Canceled)
	require.PanicsWithValue(
		t,
		"lanes: nil context",
		func() { _ = g.Arrive(nil, 0) }, //nolint:staticcheck // that is what is tested
	)
	require.EqualValues(t, 2, g.free())
}

// An arrival that gives up leaves its place to those behind it, and does not depart.
func TestGivingUpLeavesTheLine(t *testing.T) {
	g := New(2, 1)
	require.NoError(t, g.Arrive(bg, 0))
	require.NoError(t, g.Arrive(bg, 0))
	ctx, cancel := context.WithCancel(bg)
	gone, passed := make(chan error), make(chan error)
	go func() { gone <- g.Arrive(ctx, 0) }()
	locktest.AwaitWaiting(t, g, 1)
	go func() { passed <- g.Arrive(bg, 0) }()
	locktest.AwaitWaiting(t, g, 2)
	cancel()
	require.ErrorIs(t, locktest.Receive(t, gone), context.Canceled)
	g.Depart(0)
	locktest.RequireBlocked(t, passed)
	g.Depart(0)
	require.NoError(t, locktest.Receive(t, passed))
	require.EqualValues(t, 1, g.free())
}

// A visit is one arrival in the log of a stress test: when it began, when it was in a line (0 if
// never, or not noted), and when it had the inner lock. The clock ticks at each of these.
type visit struct{ began, stood, got int64 }

// overtaken returns how often later arrivals got the lock before v, counted from when v was in a
// line. The log is in the order of got.
func overtaken(log []visit, i int) (n int) {
	v := log[i]
	for j := i - 1; v.stood > 0 && j >= 0 && log[j].got > v.stood; j-- {
		if log[j].began > v.stood {
			n++
		}
	}
	return n
}

// Many arrive, and some give up: never more than a platoon inside, no permit is lost, and no
// arrival is overtaken more often than promised, although the inner lock is as unfair as possible.
func TestOvertakingIsBounded(t *testing.T) {
	const lanes, share, each = 3, 2, 4 // each: goroutines per lane
	const b = lanes * share
	rounds := locktest.Scaled(4000)
	locktest.AtEveryProcs(t, func(t *testing.T) {
		g := New(lanes, share)
		var inner innerlocks.LIFO
		var clock, inside atomic.Int64
		var log []visit
		use := func(v visit) {
			assert.LessOrEqual(t, inside.Add(1), int64(b))
			inner.Lock()
			v.got = clock.Add(1)
			log = append(log, v)
			if v.got%5 == 0 {
				runtime.Gosched() // others arrive while it is held
			}
			inner.Unlock()
			inside.Add(-1)
			g.Depart(0)
		}
		// notes is Arrive, and notes when the arrival is in the line.
		notes := func(lane int) {
			v := visit{began: clock.Add(1)}
			var f waiting.Future
			waiting.Bind(&f, g.lanes[lane].permits(), 1)
			if !f.Poll(nil) {
				v.stood = clock.Add(1)
			}
			g.balance()
			<-f.Done()
			assert.NoError(t, f.Take())
			use(v)
		}
		var done sync.WaitGroup
		for i := range lanes * each {
			key := keyOf(i%lanes, lanes)
			done.Go(func() {
				for round := range rounds {
					switch ctx, cancel := context.WithCancel(bg); {
					case i < lanes:
						notes(i)
						cancel()
					case round%3 == 0:
						go cancel()
						v := visit{began: clock.Add(1)}
						if g.Arrive(ctx, key) == nil {
							use(v)
						}
					default:
						v := visit{began: clock.Add(1)}
						assert.NoError(t, g.Arrive(ctx, key))
						use(v)
						cancel()
					}
				}
			})
		}
		done.Wait()
		most := 0
		for i := range log {
			most = max(most, overtaken(log, i))
		}
		r := (each - 1 + share) / share // with all others of its lane in front
		t.Logf("overtaken %d times at most", most)
		require.LessOrEqual(t, most, r*(b-share)+b-1+share)
		require.Zero(t, g.Waiting())
		require.Equal(t, b-int64(len(log))%b, g.free())
		require.Equal(t, int64(len(log))%b, g.departed.Load())
	})
}

// The race detector sees a wrong entry.
func TestLocksExclude(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		for name, l := range map[string]sync.Locker{
			"hashed":   Wrap(new(innerlocks.TTS), New(4, 2), ByGoroutine),
			"random":   Wrap(new(innerlocks.TTS), New(4, 2), AtRandom),
			"separate": Wrap(new(innerlocks.TTS), NewSeparate(4, 2), AtRandom),
		} {
			t.Run(name, func(t *testing.T) {
				const goroutines = 16
				rounds, count := locktest.Scaled(2000), 0
				var done sync.WaitGroup
				for range goroutines {
					done.Go(func() {
						for i := range rounds {
							l.Lock()
							if count++; i%7 == 0 {
								runtime.Gosched()
							}
							l.Unlock()
						}
					})
				}
				done.Wait()
				require.Equal(t, goroutines*rounds, count)
				require.Panics(t, l.Unlock)
			})
		}
	})
}

// With lanes at random every goroutine has a fair part in the long run. A Gate achieves that in
// front of a LIFO lock, which alone starves nearly all of them; separate gates, in front of a lock
// that starves no goroutine for long. How long that takes depends on who else uses the processors:
// a hundred thousand turns, or up to fifty times as many. (Hashed lanes bound the bypass, but each
// lane has the same part, whatever its number of goroutines.)
func TestRandomLanesAreFairInTheLongRun(t *testing.T) {
	for name, l := range map[string]sync.Locker{
		"one tally": Wrap(new(innerlocks.LIFO), New(4, 2), AtRandom),
		"separate":  Wrap(new(innerlocks.Reciprocating), NewSeparate(4, 2), AtRandom),
	} {
		t.Run(name, func(t *testing.T) {
			const goroutines, total, most = 16, 100_000, 5_000_000
			var (
				done   sync.WaitGroup
				counts [goroutines]int
				began  int // so many have had it
				count  int // since all have
				fair   bool
			)
			for g := range goroutines {
				done.Go(func() {
					for more, first := true, true; more; first = false {
						l.Lock()
						if first {
							began++
						}
						if began == goroutines && !fair {
							count++
							counts[g]++
							fair = count%total == 0 && slices.Min(counts[:]) > count/goroutines/4
						}
						more = count < most && !fair
						l.Unlock()
					}
				})
			}
			done.Wait()
			t.Log(counts)
			require.True(t, fair, "%v", counts)
		})
	}
}
