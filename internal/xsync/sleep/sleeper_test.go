//go:build !interleave

package sleep

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// both runs a test with a sleeper of each kind. Where the build parks, only that one parks.
func both(t *testing.T, f func(t *testing.T, s *Sleeper)) {
	t.Helper()
	for name, portable := range map[string]bool{"parks": false, "portable": true} {
		t.Run(name, func(t *testing.T) {
			s := new(Sleeper)
			s.Init(portable)
			require.Equal(t, portable || !parks, s.room != nil)
			f(t, s)
		})
	}
}

func TestWakeupsAreKept(t *testing.T) {
	both(t, func(t *testing.T, s *Sleeper) {
		s.Wake(Token)
		s.Wake(Token) // adds nothing
		s.SleepInline()
		require.Equal(t, Token, s.Pending())
		require.Equal(t, Token, s.Sleep())
		s.Wake(Nudge)
		s.Wake(Token)
		require.Equal(t, Token|Nudge, s.Sleep())
		require.Zero(t, s.Pending())
	})
}

// Whom the caller has woken last runs before the caller goes on.
func TestCedeLetsTheWokenRun(t *testing.T) {
	both(t, func(t *testing.T, s *Sleeper) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		const rounds = 100
		var begun, ran atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range rounds {
				begun.Add(1)
				s.Sleep()
				ran.Add(1)
			}
		}()
		await := func(n *atomic.Int64, what int64) {
			for n.Load() < what {
				runtime.Gosched()
			}
		}
		times := int64(0)
		for i := range int64(rounds) {
			await(&begun, i+1)
			s.Wake(Token)
			Cede()
			times += ran.Load() - i
			await(&ran, i+1)
		}
		<-done
		require.Greater(t, times, int64(rounds*4/5), "the scheduler may seldom have a reason to run another")
	})
}

func TestSleepEnds(t *testing.T) {
	both(t, func(t *testing.T, s *Sleeper) {
		for _, inline := range []bool{false, true} {
			for _, w := range []Wakeups{Token, Nudge} {
				got := make(chan Wakeups)
				go func() {
					if inline {
						s.SleepInline()
					}
					got <- s.Sleep()
				}()
				locktest.RequireBlocked(t, got)
				s.Wake(w)
				require.Equal(t, w, locktest.Receive(t, got))
				require.Zero(t, s.Pending())
			}
		}
	})
}

func TestSleepTimed(t *testing.T) {
	both(t, func(t *testing.T, s *Sleeper) {
		for range 3 {
			s.StartTimer(time.Hour)
			go s.Wake(Token)
			require.True(t, s.SleepTimed())
			start := time.Now()
			s.StartTimer(5 * time.Millisecond)
			require.False(t, s.SleepTimed())
			require.GreaterOrEqual(t, time.Since(start), 5*time.Millisecond)
			s.StartTimer(-1)
			require.False(t, s.SleepTimed())
			require.Zero(t, s.Pending())
		}
		s.Wake(Token) // Both: the token counts.
		s.StartTimer(-1)
		time.Sleep(time.Millisecond)
		require.True(t, s.SleepTimed())
		require.Zero(t, s.Pending())
	})
}

func TestSleepOr(t *testing.T) {
	var s Sleeper
	s.Init(true)
	done := make(chan struct{})
	s.Wake(Token)
	require.Equal(t, Token, s.SleepOr(done))
	go s.Wake(Token)
	require.Equal(t, Token, s.SleepOr(done))
	close(done)
	require.Zero(t, s.SleepOr(done))
	s.Wake(Token)
	require.Equal(t, Token, s.SleepOr(done), "what is there comes before what is done")
	require.Empty(t, s.room)
}

func TestPortableSleepersLiveInBubbles(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		var s Sleeper
		s.Init(true)
		go func() { time.Sleep(time.Hour); s.Wake(Token) }()
		s.Sleep()
		s.StartTimer(time.Hour)
		s.SleepTimed()
	})
}

func TestUseChannels(t *testing.T) {
	defer UseChannels(UseChannels(true))
	require.False(t, Parks())
	var s Sleeper
	s.Init(false)
	require.True(t, s.room != nil)
	require.True(t, UseChannels(false))
	require.Equal(t, parks, Parks())
}

func TestTheEnvironmentChoosesChannels(t *testing.T) {
	const child, choice = "FARAD_TEST_CHILD", "FARAD_SLEEP"
	if os.Getenv(child) != "" {
		require.Equal(t, parks && os.Getenv(choice) != "channel", Parks())
		return
	}
	for _, v := range []string{"channel", "", "other"} {
		c := exec.Command(os.Args[0], "-test.run=^TestTheEnvironmentChoosesChannels$")
		c.Env = append(os.Environ(), child+"=1", choice+"="+v)
		out, err := c.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("in an emulator a program cannot start itself")
		}
		require.NoError(t, err, "%q: %s", v, out)
	}
}

func TestSleepingAllocatesNothing(t *testing.T) {
	both(t, func(t *testing.T, s *Sleeper) {
		s.StartTimer(time.Hour) // makes the timer
		s.Wake(Token)
		s.SleepTimed()
		var back Sleeper
		back.Init(false)
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			for back.Sleep(); !stop.Load(); back.Sleep() {
				s.Wake(Token)
			}
		})
		require.Zero(t, testing.AllocsPerRun(500, func() {
			back.Wake(Token)
			s.Sleep()
			back.Wake(Token)
			s.StartTimer(time.Hour)
			s.SleepTimed()
		}))
		stop.Store(true)
		back.Wake(Token)
		wg.Wait()
	})
}

// Pairs of goroutines wake each other, with stacks that grow and shrink and a collector that runs.
// No wake-up gets lost, and what one has written before the other sees after.
func TestPairsUnderStress(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		both(t, func(t *testing.T, _ *Sleeper) {
			rounds := locktest.Scaled(4000)
			var wg sync.WaitGroup
			for range 8 {
				a, b := new(Sleeper), new(Sleeper)
				a.Init(false)
				b.Init(true)
				n := 0
				turn := func(me, other *Sleeper) {
					for i := range rounds {
						switch {
						case i%3 == 0:
							me.SleepInline()
							me.Sleep()
						case i%3 == 1:
							me.StartTimer(time.Hour)
							me.SleepTimed()
						case me == b:
							me.SleepOr(nil)
						default:
							me.Sleep()
						}
						n += deep(i % 40)
						other.Wake(Token)
					}
				}
				wg.Go(func() { turn(a, b) })
				wg.Go(func() { turn(b, a) })
				wg.Go(func() {
					a.Wake(Token)
				})
				defer func() { require.Equal(t, 2*rounds, n) }()
			}
			done := make(chan struct{})
			go func() { wg.Wait(); close(done) }()
			for {
				select {
				case <-done:
					return
				default:
					runtime.GC()
				}
			}
		})
	})
}

// deep returns 1, by way of n frames of half a kilobyte.
func deep(n int) int {
	var frame [512]byte
	frame[n] = 1
	if n > 0 {
		return deep(n-1) + int(frame[0])
	}
	return int(frame[n])
}
