package observe

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/farad-go/farad/internal/observed"
)

// A Config says how observed locks are watched over. A zero field means its default.
type Config struct {
	Period      time.Duration // between two looks for deadlocks and suspicions; default: a second
	LongWait    time.Duration // what wait is suspicious, default: 10 s; negative: none
	LongHold    time.Duration // what hold is suspicious, default: a minute; negative: none
	NeverPolled time.Duration // how long a task may be ready and not run; default: 10 s; negative: for ever
	Logger      *slog.Logger  // gets a line for each report; default: slog.Default() of that moment

	// ReturnLeaked gives back the permits of a [semaphore.Permit] that was collected while it had
	// them. They are reported as leaks all the same.
	//
	// [semaphore.Permit]: https://pkg.go.dev/github.com/farad-go/farad/sync/semaphore#Permit
	ReturnLeaked bool
}

// Configure replaces the configuration.
//
// A deadlock is reported when two looks have seen it. A look reads all observed locks. If that
// takes long, looks are rarer than Period says: they take at most a twentieth of one processor.
func Configure(c Config) {
	c.setDefaults()
	watchdog.config.Store(&c)
	observed.ReturnLeaks(c.ReturnLeaked)
	watchdog.hurry()
}

func (c *Config) setDefaults() {
	c.Period = max(cmp.Or(c.Period, time.Second), 10*time.Millisecond)
	c.LongWait = cmp.Or(c.LongWait, 10*time.Second)
	c.LongHold = cmp.Or(c.LongHold, time.Minute)
	c.NeverPolled = cmp.Or(c.NeverPolled, 10*time.Second)
}

// OnDeadlock has handle be called for each deadlock that is found from now on, until stop is
// called. There may be several handlers; each gets a line in the log besides.
//
// A handler is called in a goroutine of its own, for one report after the other. So a handler that
// blocks holds up nobody else. If it is 64 reports behind, it misses those that follow, which
// [Dropped] counts. A handler that panics is logged, and is called for the next report.
func OnDeadlock(handle func(Deadlock)) (stop func()) { return reports.deadlocks.add(handle) }

// OnSuspicion is [OnDeadlock] for suspicions.
func OnSuspicion(handle func(Suspicion)) (stop func()) { return reports.suspicions.add(handle) }

// OnLeak is [OnDeadlock] for leaks.
func OnLeak(handle func(Leak)) (stop func()) { return reports.leaks.add(handle) }
