package sync

import std "sync"

// A misuse ends the process, as with the standard library: after it two goroutines may hold the
// lock, and no recover can help.
type misuse struct {
	words string
	end   func() // ends the process, with these words
}

// A standard lock that is misused in the same way ends the process in the way that Go's runtime
// offers to no other package.
var (
	unlockOfUnlockedMutex = misuse{
		"sync: unlock of unlocked mutex",
		func() { new(std.Mutex).Unlock() },
	}
	unlockOfUnlockedRWMutex = misuse{
		"sync: Unlock of unlocked RWMutex",
		func() { new(std.RWMutex).Unlock() },
	}
	rUnlockOfUnlockedRWMutex = misuse{
		"sync: RUnlock of unlocked RWMutex",
		func() { new(std.RWMutex).RUnlock() },
	}
)

// fatal ends the process. Tests have it panic.
var fatal = func(m misuse) { m.end() }
