//go:build !interleave

package sync

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	std "sync"

	"github.com/farad-go/farad/internal/linked"
	"github.com/farad-go/farad/waiter"
)

// A goroutine of a testing/synctest bubble should wait durably: the bubble's time goes on while it
// does, and the test that locks and sleeps comes to its end. But only a goroutine of the same
// bubble may wake it, and a bubble all of whose goroutines wait so is a deadlock, which ends the
// process. So a lock has to know who holds it, and who stands in line: a wait is durable if all of
// them belong to the waiter's bubble. Otherwise it is a wait as for a standard mutex.
//
// A lock has no room for that. A lock that a goroutine of a bubble takes while it is free becomes
// bubbled: one bit in its word keeps everybody off its fast paths, and a row in a table has its
// state, until it is free again. Speed does not matter there. In a program without bubbles none of
// this is ever reached.
//
// Invariants:
//
//  1. A lock is bubbled exactly while it has a row. Both change under the table's mu, from and to a
//     lock that is free and for which nobody waits. (TestBubbledLockIsPlainAgain)
//  2. The users of a row are its holders and those in its line, each counted with its bubble. A
//     wait in line is durable only if all users before it belong to its bubble; the line is in
//     strict order, so nobody else can hold the lock before the waiter does.
//     (TestContentionAcrossABubblesBorder)
type row struct {
	readers int
	writing bool
	users   []users
	line    waiter.Queue // of nodes whose N is the hold
}

// users are so many users of one bubble; bubble 0 is outside of all.
type users struct {
	bubble uint64
	n      int
}

// rows are those of all bubbled locks.
var rows = struct {
	mu std.Mutex
	of map[bubbling]*row
}{of: map[bubbling]*row{}}

// bubbling is a lock that bubbles may have: a pointer.
type bubbling = admitting

// canBubble says whether this program can make bubbles. A program that is no test asks no further.
// Tests of what has nothing to do with bubbles have it be false.
var canBubble = isTest() && linked.Bubbles()

// isTest reports whether this program was started as go test starts a test, or has the name that go
// test -c gives it. A test under another name, by hand and without a flag, waits for our locks as
// for standard ones.
func isTest() bool {
	return slices.ContainsFunc(os.Args, func(arg string) bool {
		return strings.HasPrefix(arg, "-test.") ||
			strings.HasSuffix(arg, ".test") || strings.HasSuffix(arg, ".test.exe")
	})
}

// bubble returns the number of the bubble that the caller runs in, or 0.
func bubble() uint64 {
	if !waiter.InBubble() {
		return 0
	}
	// goroutine 35 [running, synctest bubble 3]:
	var buf [128]byte
	header, _, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte("]"))
	_, number, _ := bytes.Cut(header, []byte("synctest bubble "))
	id, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("sync: no bubble in " + string(header)) // TestBubblesHaveNumbers
	}
	return id
}

// join takes a hold of l for the caller, if l is bubbled or becomes so. If that means to wait, node
// returns what to put into the line, or nil: it is told the caller's bubble, and whether a wait may
// be durable. If l is not bubbled join does nothing and reports false.
func join(l bubbling, hold int64, node func(bubble uint64, durable bool) *waiter.Waiter) (o waiter.Outcome, here bool) {
	id := bubble()
	if id == 0 && !l.isBubbled() {
		return waiter.Pending, false
	}
	rows.mu.Lock()
	defer rows.mu.Unlock()
	r := rows.of[l]
	if r == nil {
		if id == 0 || !l.toBubbled() {
			return waiter.Pending, false
		}
		r = new(row)
		rows.of[l] = r
	}
	if r.line.Front() == nil && r.fits(hold) {
		r.take(hold)
		r.remember(id)
		return waiter.Granted, true
	}
	if w := node(id, id != 0 && len(r.users) == 1 && r.users[0].bubble == id); w != nil {
		w.N = hold
		r.line.PushBack(w)
		r.remember(id)
	}
	return waiter.Pending, true
}

// unjoin gives back a hold of l. If l is not bubbled it does nothing and reports false. If nobody
// has such a hold it does nothing, and ok is false.
func unjoin(l bubbling, hold int64) (ok, here bool) {
	id := bubble()
	var wake waiter.WakeList
	rows.mu.Lock()
	r := rows.of[l]
	if r != nil {
		if ok = r.give(hold); ok {
			r.forget(id)
			r.serve(l, &wake)
		}
	}
	rows.mu.Unlock()
	deliver(l, &wake)
	return ok, r != nil
}

// drop takes w out of the line of l and reports whether it was there. The caller delivers to those
// in wake.
func drop(l bubbling, w *waiter.Waiter, wake *waiter.WakeList) (ok bool) {
	id := bubble()
	rows.mu.Lock()
	defer rows.mu.Unlock()
	if r := rows.of[l]; r != nil {
		if ok = r.line.Remove(w); ok {
			r.forget(id)
			r.serve(l, wake)
		}
	}
	return ok
}

// inLine returns how many wait for l if it is bubbled.
func inLine(l bubbling) int {
	if !l.isBubbled() {
		return 0
	}
	rows.mu.Lock()
	defer rows.mu.Unlock()
	if r := rows.of[l]; r != nil {
		return r.line.Len()
	}
	return 0
}

// deliver tells those who have been served, without a lock.
func deliver(l bubbling, claimed *waiter.WakeList) {
	for hold := claimed.Wake(); hold != 0; hold = claimed.Wake() {
		unjoin(l, hold) // of a future that was abandoned
	}
}

func (r *row) fits(hold int64) bool {
	return !r.writing && (r.readers == 0 || hold == rwReader)
}

func (r *row) take(hold int64) {
	if hold == rwReader {
		r.readers++
	} else {
		r.writing = true
	}
}

// give undoes take, and reports false if there was none.
func (r *row) give(hold int64) bool {
	switch {
	case hold != rwReader && r.writing:
		r.writing = false
	case hold == rwReader && r.readers > 0:
		r.readers--
	default:
		return false
	}
	return true
}

// remember adds a user.
func (r *row) remember(bubble uint64) {
	for i := range len(r.users) {
		if r.users[i].bubble == bubble {
			r.users[i].n++
			return
		}
	}
	r.users = append(r.users, users{bubble, 1})
}

// forget removes a user. A lock may be unlocked by another goroutine than has locked it, even of
// another bubble: then any user is forgotten.
func (r *row) forget(bubble uint64) {
	i := max(0, slices.IndexFunc(r.users, func(u users) bool { return u.bubble == bubble }))
	if r.users[i].n--; r.users[i].n == 0 {
		r.users = slices.Delete(r.users, i, i+1)
	}
}

// serve claims those of the line who can hold l now, and makes l free if there is nobody any more.
func (r *row) serve(l bubbling, wake *waiter.WakeList) {
	for w := r.line.Front(); w != nil && r.fits(w.N); w = r.line.Front() {
		r.take(w.N)
		wake.Add(r.line.PopFront(), waiter.Granted)
	}
	if !r.writing && r.readers == 0 {
		delete(rows.of, l)
		l.fromBubbled()
	}
}

// A rowLine is the line of a bubbled lock, for a wait that may end early.
type rowLine struct{ l bubbling }

// Unlink implements [waiter.Line].
func (r rowLine) Unlink(w *waiter.Waiter) bool {
	var wake waiter.WakeList
	ok := drop(r.l, w, &wake)
	deliver(r.l, &wake)
	return ok
}

// GiveBack implements [waiter.Line].
func (r rowLine) GiveBack(hold int64) bool {
	ok, _ := unjoin(r.l, hold)
	return ok
}

// lockBubbled locks l, or returns the error of until if that ends the wait before. If this is no
// business of bubbles it does nothing and reports false.
func lockBubbled(l bubbling, hold int64, until waiter.Limit) (err error, here bool) {
	var p *waiter.Parker
	across := false
	o, here := join(l, hold, func(bubble uint64, durable bool) *waiter.Waiter {
		if across = bubble != 0 && !durable; across {
			return nil
		}
		p = waiter.GetParker(until)
		return &p.Waiter
	})
	switch {
	case !here && !waiter.InBubble():
		return nil, false
	case !here, across:
		var r request
		r.init(l, hold)
		return r.f.WaitAcross(until), true
	case o == waiter.Pending:
		if _, err := waiter.Wait(p, until, rowLine{l}); err != nil {
			return err, true
		}
		p.Put()
	}
	return nil, true
}

// tryBubbled locks l if it is free and nobody waits for it. If this is no business of bubbles it
// does nothing and reports false.
func tryBubbled(l bubbling, hold int64) (ok, here bool) {
	o, here := join(l, hold, func(uint64, bool) *waiter.Waiter { return nil })
	return o == waiter.Granted, here
}
