package interleave

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/xsync/model"
)

// Outside explorations a wake-up is announced before its signal is sent. A sleeper may take it in
// between, and finds the signal at its next sleep: that is no reason to return.
func TestSleeperIgnoresTheSignalOfAWakeUpThatWasTaken(t *testing.T) {
	done := make(chan struct{})
	for name, sleep := range map[string]func(s *Sleeper) bool{
		"Sleep":      func(s *Sleeper) bool { return s.Sleep() == model.Token },
		"SleepOr":    func(s *Sleeper) bool { return s.SleepOr(done) == model.Token },
		"SleepTimed": func(s *Sleeper) bool { s.StartTimer(time.Hour); return s.SleepTimed() },
	} {
		t.Run(name, func(t *testing.T) {
			var s Sleeper
			s.Init(false)
			s.Signal.Real.Send() // left over
			go func() { time.Sleep(5 * time.Millisecond); s.Wake(model.Token) }()
			require.True(t, sleep(&s))
			require.Zero(t, s.Pending())
			s.StartTimer(time.Microsecond)
			require.False(t, s.SleepTimed())
		})
	}
	var s Sleeper
	s.Init(false)
	close(done)
	require.Zero(t, s.SleepOr(done))
}

// A deferred function of a thread that is being unwound may wait in a loop for what never comes:
// the wait ends with the thread.
func TestAWaitInADeferredFunctionEndsWithItsThread(t *testing.T) {
	for name, sleep := range map[string]func(c *Context, s *Sleeper) Wakeups{
		"Sleep":   func(_ *Context, s *Sleeper) Wakeups { return s.Sleep() },
		"SleepOr": func(c *Context, s *Sleeper) Wakeups { return s.SleepOr(c.Done()) },
		"SleepTimed": func(_ *Context, s *Sleeper) Wakeups {
			s.StartTimer(time.Hour)
			s.SleepTimed()
			return 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := Explore(Options{}, func(x *Run) {
				var s, never Sleeper
				s.Init(false)
				never.Init(false)
				c := x.NewContext()
				x.Go("sleeper", func() {
					defer func() {
						var woken Wakeups
						for woken != model.Token {
							woken = sleep(c, &s)
						}
					}()
					never.Sleep()
				})
				x.Wait()
			})
			require.NotNil(t, r.Failure)
			require.Equal(t, Deadlock, r.Failure.Kind)
		})
	}
}
