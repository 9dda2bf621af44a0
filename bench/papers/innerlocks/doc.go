// Package innerlocks implements the locks that the capacitor's paper puts behind a capacitor, for
// comparison. bench/ measures them alone, behind a gate, and behind a gate with a bypass for most
// arrivals. For production use sync/mutex or sync/capacitor. Read node.go first. The package may
// import waiter and internal/xsync.
//
//	lock           next holder                                 waits by
//	TTS            any goroutine that finds the lock free      spinning, then yielding
//	LIFO           the newest waiter                           spinning, then sleeping
//	MCS            the oldest waiter                           the same
//	Reciprocating  the newest of a segment; segments FIFO      the same
//
// The paper's ticket lock is twa.Mutex. All are mutual exclusion locks whose zero value is
// unlocked, implement sync.Locker and have a TryLock. They must not be copied after first use, are
// not tied to a goroutine, and a wait cannot be cancelled. What happened before an unlock happens
// before the return of the lock that follows. A wait allocates nothing in the steady state.
//
// An unlock of an unlocked lock panics, unless a lock is in progress at the same time.
//
// The words that several processors write are 128 bytes apart, as in the paper's listings
// (TestLinesAreNotShared).
package innerlocks
