//go:build gc && !tinygo && go1.26 && !go1.28 && linux && !android && (amd64 || arm64 || 386) && !race && !msan && !asan && !farad_portable && !interleave

package sleep

import (
	"sync/atomic"
	"unsafe"
)

// parks says whether this build can sleep by the runtime's gopark.
const parks = true

//go:linkname gopark runtime.gopark
func gopark(commit func(g, word unsafe.Pointer) bool, word unsafe.Pointer, reason, traceReason uint8, skip int)

//go:linkname goready runtime.goready
func goready(g unsafe.Pointer, skip int)

//go:linkname goyield runtime.goyield
func goyield()

// Cede lets the goroutine that the caller has woken last run at once, in the rest of the caller's
// slice of time. The caller goes to the end of the queue of its processor, where an idle processor
// finds it.
//
// Without it the woken goroutine waits until the caller blocks: goready puts it where other
// processors look last, and only after a pause.
func Cede() { goyield() }

// The runtime's numbers. TestTheRuntimeIsTheOneOfTheGate reads them in its source.
const (
	waitReasonSemacquire = 13
	traceBlockSync       = 5
)

// SleepInline sleeps as Sleep does, but takes no wake-up, and may return before one is there. It is
// small enough to be inlined. After a switch of goroutines the processor predicts no return of a
// function rightly, so each caller between the user's code and gopark costs some 5 ns. What waits
// therefore calls SleepInline as near to the user's code as it can, and then Sleep.
func (s *Sleeper) SleepInline() {
	if s.room == nil && s.word.Load() == 0 {
		gopark(commit, unsafe.Pointer(&s.word), waitReasonSemacquire, traceBlockSync, 1)
	}
}

// park puts the calling goroutine to sleep, with its g in the word, unless the word is not 0.
func park(w *word) {
	gopark(commit, unsafe.Pointer(w), waitReasonSemacquire, traceBlockSync, 1)
}

// commit runs on the system stack, after the runtime has marked the goroutine as waiting. If commit
// returns false the goroutine goes on. It must not grow the stack, nor refer to that of the
// goroutine, which may move.
//
//go:nosplit
//go:norace
func commit(g, w unsafe.Pointer) bool {
	return atomic.CompareAndSwapUintptr((*uintptr)(w), 0, uintptr(g))
}

// ready wakes the goroutine whose g is in the word.
func ready(g uintptr) {
	// The collector does not see the g in the word, and need not: the runtime keeps every g for
	// ever, and never moves one. The detour by the address is for vet, which cannot know that.
	goready(*(*unsafe.Pointer)(unsafe.Pointer(&g)), 1)
}
