package sleep

import (
	"sync/atomic"
	"syscall"
)

// channels is the user's choice that sleepers use channels although they need not.
var channels atomic.Bool

func init() {
	v, _ := syscall.Getenv("FARAD_SLEEP") // Package os would weigh more than all of this module.
	channels.Store(v == "channel")
}

// UseChannels makes all sleepers that are made from now on portable, or undoes that. It returns
// what was set before.
func UseChannels(on bool) bool { return channels.Swap(on) }

// Parks reports whether new sleepers that need not be portable sleep by the runtime's gopark.
func Parks() bool { return parks && !channels.Load() }
