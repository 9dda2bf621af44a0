package records

import (
	"runtime"

	"github.com/farad-go/farad/internal/xsync"
)

const (
	depth     = 16      // how many frames of a stack distinguish it from others
	maxStacks = 1 << 12 // how many stacks are kept
)

// A Stack is that of a goroutine. There is one for all acquires from the same place, as long as
// there is room.
type Stack struct {
	key [depth]uintptr
	pcs []uintptr
}

// PCs returns the program counters, innermost first, for runtime.CallersFrames. They must not be
// changed.
//
//go:norace
func (s *Stack) PCs() []uintptr {
	if s == nil {
		return nil
	}
	return s.pcs
}

// stacks has the stacks that are kept, by their keys. Slots are filled under mu, and never emptied.
var stacks struct {
	slots [2 * maxStacks]xsync.Pointer[Stack]
	mu    mutex
	n     int
}

// here returns the stack of the caller.
//
// To walk the frame pointers is quick, but says nothing of what was inlined: the runtime's slow way
// is gone once for each key.
//
//go:norace
func here() *Stack {
	var key [depth]uintptr
	if walk(&key) == 0 {
		runtime.Callers(2, key[:])
	}
	h := uint64(0)
	for _, pc := range key {
		h = (h ^ uint64(pc)) * golden
	}
	for i := h >> 32; ; i++ { // There are free slots: they are twice as many as stacks.
		slot := &stacks.slots[i%uint64(len(stacks.slots))]
		s := xsync.GlancePointer(slot)
		if s == nil {
			return keep(&key, int(i%uint64(len(stacks.slots))))
		}
		if s.has(&key) {
			return s
		}
	}
}

// has compares keys. The detector sees a comparison by ==, even here.
//
//go:norace
func (s *Stack) has(key *[depth]uintptr) bool {
	for i := range s.key {
		if s.key[i] != key[i] {
			return false
		}
	}
	return true
}

// keep returns a new stack of the caller's caller. It is kept, from slot i on, if there is room.
//
//go:noinline
//go:norace
func keep(key *[depth]uintptr, i int) *Stack {
	var pcs [2 * depth]uintptr
	n := runtime.Callers(3, pcs[:])
	s := &Stack{key: *key, pcs: make([]uintptr, n)}
	for i := range s.pcs { // no copy: see mutex
		s.pcs[i] = pcs[i]
	}
	stacks.mu.enter()
	defer stacks.mu.leave()
	if stacks.n == maxStacks {
		return s
	}
	for ; ; i++ {
		slot := &stacks.slots[i%len(stacks.slots)]
		switch old := slot.Load(); {
		case old == nil:
			stacks.n++
			slot.Store(s)
			return s
		case old.has(key):
			return old
		}
	}
}
