package observe

import (
	"cmp"
	"log/slog"
	"time"
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

func (c *Config) setDefaults() {
	c.Period = max(cmp.Or(c.Period, time.Second), 10*time.Millisecond)
	c.LongWait = cmp.Or(c.LongWait, 10*time.Second)
	c.LongHold = cmp.Or(c.LongHold, time.Minute)
	c.NeverPolled = cmp.Or(c.NeverPolled, 10*time.Second)
}
