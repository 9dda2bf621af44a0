package innerlocks

import (
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// A node stands for one that waits for a lock, in a list that the lock keeps. All locks wait alike,
// so that they differ in nothing but whose turn it is.
//
//	state     means                                   who moves it, and to what
//	waiting   the owner looks at the state            owner: asleep; granter: granted
//	asleep    the owner sleeps, or is about to        granter: granted
//	granted   the lock is the owner's                 owner: waiting, when it frees the node
//
// Invariants:
//
//  1. A node is granted by one other, once in a use: by whoever holds the lock, and has taken the
//     node off the list, or is behind it no more. (TestModelLocks)
//  2. The granter's exchange is its last access to the node, unless the owner sleeps; then the
//     token is. (TestModelLocks under -race)
//  3. A node returns to the pool when nobody can reach it any more but by comparing addresses.
//     (TestModelLocks, TestModelTwoLocks)
type node struct {
	state  xsync.Uint32
	parker *waiter.Parker      // how the owner sleeps: written by it before asleep, read by the granter after it has met asleep
	link   *node               // LIFO: the node below, the owner's until the push, then the holder's; Reciprocating: see there
	next   xsync.Pointer[node] // MCS: who came next, which writes it

	_ [apart - 4*8]byte
}

const (
	waiting uint32 = iota
	asleep
	granted
)

var nodes = xsync.Pool{New: func() any { return new(node) }}

// newNode returns a node that waits.
func newNode() *node { return nodes.Get().(*node) }

func (n *node) free() {
	n.parker, n.link = nil, nil
	n.next.Store(nil)
	n.state.Store(waiting)
	nodes.Put(n)
}

// await waits until n is granted: it spins for some 200 ns, if another processor may run, and then
// sleeps.
func (n *node) await() {
	for i := 0; xsync.Spin(i); i++ {
		if n.state.Load() == granted {
			return
		}
	}
	n.parker = waiter.GetParker(waiter.Limit{})
	if n.state.CompareAndSwap(waiting, asleep) {
		n.parker.Park(waiter.Limit{})
	}
	n.parker.Put()
}

// grant gives n's owner the lock.
func (n *node) grant() {
	if n.state.Swap(granted) == asleep {
		n.parker.Deliver(waiter.Granted)
	}
}

// held stands in the word of a lock that is held, and for which nobody waits that is on the list.
var held node

// apart is at what distance two words do not disturb each other: two cache lines, since some
// processors fetch them in pairs.
const apart = 128

const notLocked = "innerlocks: unlock of unlocked lock"
