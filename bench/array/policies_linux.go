package array

import (
	"math"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/twa"
)

// futexPolicies sleep in the kernel. Dispersed over the array's words, few waiters share one of the
// kernel's own buckets; on one word all share one. There every wake is for all waiters. With bits,
// of which a ticket has one in 32, a wake is for few. The remaining difference is the kernel's one
// bucket. Such a wait keeps the goroutine's thread: all goroutines are locked to their threads, and
// so are those of our own semaphore in the last line.
var futexPolicies = []policy{
	onBare("0: futex", bareConfig{words: arrayBuckets, onThread: true, sleep: futexWait, wake: futexWake}),
	onBare("1: spin, futex", bareConfig{
		threshold: 1, words: arrayBuckets, onThread: true, near: func() {}, sleep: futexWait, wake: futexWake,
	}),
	onBare("0: futex, one address", bareConfig{words: 1, onThread: true, sleep: futexWait, wake: futexWake}),
	onBare(
		"0: futex, one address, bits",
		bareConfig{words: 1, onThread: true, sleep: futexWaitBit, wake: futexWakeBit},
	),
	{name: "farad, on threads", onThread: true, create: func() peers.Locker { return twa.New(1) }},
}

// The operations of the system call, all for addresses of this process alone.
const (
	futexPrivate    = 128
	futexOpWait     = 9 | futexPrivate  // FUTEX_WAIT_BITSET
	futexOpWake     = 10 | futexPrivate // FUTEX_WAKE_BITSET
	futexAnybody    = math.MaxUint32    // FUTEX_WAIT and FUTEX_WAKE are these with all bits
	futexEverybody  = math.MaxInt32
	futexBitsOfWord = 32
)

func futexWait(word *atomic.Uint32, seq uint32, _ int64) { futex(word, futexOpWait, seq, futexAnybody) }

func futexWake(word *atomic.Uint32, _ int64) { futex(word, futexOpWake, futexEverybody, futexAnybody) }

func futexWaitBit(word *atomic.Uint32, seq uint32, ticket int64) {
	futex(word, futexOpWait, seq, futexBit(ticket))
}

func futexWakeBit(word *atomic.Uint32, ticket int64) {
	futex(word, futexOpWake, futexEverybody, futexBit(ticket))
}

func futexBit(ticket int64) uint32 { return 1 << (ticket % futexBitsOfWord) }

// futex waits, unless the word is no longer value; or it wakes value waiters. Waiters check their
// condition again, whatever it returns.
func futex(word *atomic.Uint32, op uintptr, value, bits uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), op, uintptr(value), 0, 0, uintptr(bits))
}
