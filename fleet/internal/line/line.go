package line

import (
	"slices"

	"github.com/farad-go/farad/fleet/store"
)

// What a store keeps of a line is what the agents decide about.
type (
	Key    = store.Key
	Entry  = store.Entry
	State  = store.State
	Change = store.Change
	Op     = store.Op
)

// SizeKey is the key of the size in a Change.
var SizeKey = store.SizeKey

// Unread is the revision of a state that nobody has read: the line before anything happened in any
// line, which was empty. An agent may begin with it, as with any old state: what its first
// transaction returns is the line.
const Unread int64 = 1

// Everyone is the size of the line of a read-write lock. A block of readers weighs 1, a writer's
// weighs Everyone. So a reader's entry holds iff no writer's precedes it, and a writer's iff it is
// the first.
const Everyone int64 = 1 << 30

// same reports whether both are states of one entry. Another may have its key: a request that made
// it may arrive again after it was deleted.
func same(a, b *Entry) bool { return a.Key == b.Key && a.Create == b.Create }

// still returns what e is now in s, nil if it is gone.
func still(s *State, e *Entry) *Entry {
	if i := slices.IndexFunc(s.Entries, func(now Entry) bool { return same(&now, e) }); i >= 0 {
		return &s.Entries[i]
	}
	return nil
}

// crowd is how many entries may wait, times those that hold, before a line's tenures get longer.
// With the usual tenure of 20 ms, and two writes for each hand-off, these are 8,000 messages a
// second.
const crowd = 80

// Tenure returns for how long a block is given while others wait. That is tenure, as long as few
// do. Each hand-off is a message to each of them. In a line of many processes blocks are handed on
// less often, so that the messages do not take all the time of servers and processes.
func Tenure(s *State, tenure int64) int64 {
	holding := 0
	for _, holds := range s.Holding {
		if !holds {
			break
		}
		holding++
	}
	n := int64(holding) * int64(len(s.Entries)-holding)
	switch {
	case n <= crowd:
		return tenure
	case tenure >= Never/2/n:
		return Never / 2
	}
	return tenure * n / crowd
}
