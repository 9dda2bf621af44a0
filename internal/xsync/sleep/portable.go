//go:build !(gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64 || 386) && !race && !msan && !asan && !farad_portable && !interleave)

package sleep

// parks says whether this build can sleep by the runtime's gopark.
const parks = false

// SleepInline does nothing in this build.
func (s *Sleeper) SleepInline() {}

func park(*word) { panic("sleep: no room") }

func ready(uintptr) { panic("sleep: no room") }
