//go:build !(gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64 || 386) && !race && !msan && !asan && !farad_portable && !interleave)

package sleep

import "runtime"

// parks says whether this build can sleep by the runtime's gopark.
const parks = false

// SleepInline does nothing in this build.
func (s *Sleeper) SleepInline() {}

// Cede lets the goroutine that the caller has woken last run at once, in the rest of the caller's
// slice of time. The caller goes to the end of the queue of all processors.
func Cede() { runtime.Gosched() }

func park(*word) { panic("sleep: no room") }

func ready(uintptr) { panic("sleep: no room") }
