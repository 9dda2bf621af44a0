// Package innerlocks has the locks of the capacitor's paper that a capacitor is put round there,
// for comparison: bench/ measures them alone, behind a gate, and behind one that most arrivals pass
// by. Whoever needs a lock takes one of sync/mutex or sync/capacitor.
//
//	lock           next is                                     waits by
//	TTS            whoever finds it free                       spinning, then yielding
//	LIFO           who came last                               spinning, then sleeping
//	MCS            who came first                              the same
//	Reciprocating  who came last of a segment; segments FIFO   the same
//
// The paper's ticket lock is twa.Mutex. All are mutual exclusion locks whose zero value is
// unlocked, implement sync.Locker and have a TryLock; none must be copied after first use, none is
// tied to a goroutine, and none has a wait that can be given up. What happened before an unlock
// happens before the return of the lock that follows. A wait allocates nothing in the steady state.
//
// An unlock of what is not locked panics, if no lock is under way at the same time.
//
// The words that several processors write are 128 bytes apart, as in the paper's listings
// (TestLinesAreNotShared).
package innerlocks
