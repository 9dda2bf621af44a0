package innerlocks

import (
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// A node stands for one waiter in a list that the lock keeps. All locks wait in the same way, so
// that they differ only in their order.
//
//	state     means                                   changed by, and to
//	spinning  the owner polls the state               owner: asleep; granter: granted
//	asleep    the owner sleeps, or is about to        granter: granted
//	granted   the lock is the owner's                 owner: spinning, when it frees the node
//
// Invariants:
//
//  1. A node is granted once per use, by another goroutine: by the holder of the lock, which has
//     taken the node off the list or has become its predecessor. (TestModelLocks)
//  2. The granter's exchange is its last access to the node, unless the owner sleeps; then the
//     token is. (TestModelLocks under -race)
//  3. A node returns to the pool when the only remaining use of its address is a comparison.
//     (TestModelLocks, TestModelTwoLocks)
type node struct {
	state  xsync.Uint32
	parker *waiting.Parker     // written by the owner before asleep, read by the granter after it
	link   *node               // LIFO: the node below; guarded by the lock after the push
	next   xsync.Pointer[node] // MCS: the successor, which writes it

	_ [apart - 4*8]byte
}

const (
	spinning uint32 = iota
	asleep
	granted
)

var nodes = xsync.Pool{New: func() any { return new(node) }}

// newNode returns a node in state spinning.
func newNode() *node { return nodes.Get().(*node) }

func (n *node) free() {
	n.parker, n.link = nil, nil
	n.next.Store(nil)
	n.state.Store(spinning)
	nodes.Put(n)
}

// await waits until n is granted. It spins for about 200 ns if another processor may run, and then
// sleeps.
func (n *node) await() {
	for i := 0; xsync.Spin(i); i++ {
		if n.state.Load() == granted {
			return
		}
	}
	n.parker = waiting.GetParker(waiting.Limit{})
	if n.state.CompareAndSwap(spinning, asleep) {
		n.parker.Park(waiting.Limit{})
	}
	n.parker.Put()
}

// grant gives n's owner the lock.
func (n *node) grant() {
	if n.state.Swap(granted) == asleep {
		n.parker.Deliver(waiting.Granted)
	}
}

// held is the word of a lock that is held while its list is empty.
var held node

// apart is the distance at which two words do not share lines: two cache lines, because some
// processors fetch them in pairs.
const apart = 128

const notLocked = "innerlocks: unlock of unlocked lock"
