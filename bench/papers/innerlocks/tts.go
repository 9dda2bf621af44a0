package innerlocks

import "github.com/farad-go/farad/internal/xsync"

// A TTS is a test-and-test-and-set lock. A waiter polls until the lock is free, and only then tries
// to take it.
//
// The paper's waiter spins without end. In Go that may keep a processor from the holder until the
// scheduler intervenes, 10 ms later. So here a waiter spins for about 200 ns if another processor
// may run, and then yields between polls.
//
// Order: none. The first goroutine that finds the lock free takes it, and a waiter may starve.
//
// Source: Rudolph and Segall (1984), as in Dice and Kogan, Capacitors, Listing 1.
type TTS struct {
	taken xsync.Uint32
	_     [apart - 4]byte
}

// Lock locks l, and waits until it can.
func (l *TTS) Lock() {
	for i := 0; !l.TryLock(); i++ { // A retry follows the holder's or another's success.
		if !xsync.Spin(i) {
			xsync.Yield()
		}
	}
}

// TryLock locks l if it is unlocked, and reports whether it did.
func (l *TTS) TryLock() bool { return l.taken.Load() == 0 && l.taken.CompareAndSwap(0, 1) }

// Unlock unlocks l. It panics if l is not locked.
func (l *TTS) Unlock() {
	if l.taken.Swap(0) == 0 {
		panic(notLocked)
	}
}
