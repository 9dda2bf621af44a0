package rt

import "time"

// An alarm calls a function once for each Reset. It is a *time.Timer, except under the explorer.
type alarm interface {
	Reset(d time.Duration) bool
	Stop() bool
}

// newAlarm returns an alarm that calls f after d. Scenarios of the explorer replace it.
var newAlarm = func(d time.Duration, f func()) alarm { return time.AfterFunc(d, f) }

// stoppedAlarm returns an alarm that is not set.
func stoppedAlarm(f func()) alarm {
	a := newAlarm(time.Hour, f)
	a.Stop()
	return a
}

// init makes the timers use Go's clock.
func (ts *timers) init() {
	epoch := time.Now()
	ts.now = func() time.Duration { return time.Since(epoch) }
	ts.clock = stoppedAlarm(ts.fire)
}
