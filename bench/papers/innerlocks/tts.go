package innerlocks

import "github.com/farad-go/farad/internal/xsync"

// A TTS is a test-and-test-and-set lock. Who waits looks until the lock is free, and only then
// tries to take it.
//
// The paper's spins without an end. In Go that would keep a processor from whoever holds the lock,
// until the scheduler steps in, 10 ms later; so here who waits spins for some 200 ns, if another
// processor may run, and from then on yields between two looks.
//
// Order: none. Whoever finds it free takes it, and somebody may starve.
//
// Source: Rudolph and Segall (1984), as in Dice and Kogan, Capacitors, Listing 1.
type TTS struct {
	taken xsync.Uint32
	_     [apart - 4]byte
}

// Lock locks l, and waits for it if need be.
func (l *TTS) Lock() {
	for i := 0; !l.TryLock(); i++ { // A turn is lost to the holder, or to another's success.
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
