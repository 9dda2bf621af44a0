//go:build !interleave

package sync

import (
	"bytes"
	"iter"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	std "sync"

	"github.com/farad-go/farad/internal/linked"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/waiter"
)

// A goroutine of a testing/synctest bubble should wait durably: the bubble's time goes on while it
// does, and the test that locks and sleeps comes to its end. But only a goroutine of the same
// bubble may wake it, and a bubble all of whose goroutines wait so is a deadlock, which ends the
// process. So a lock has to know who holds it, and who stands in line: a wait is durable if all of
// them belong to the waiter's bubble. Otherwise it is a wait as for a standard mutex.
//
// A lock has no room for that. So a lock that a goroutine of a bubble wants becomes bubbled: one bit
// in its word keeps everybody off its fast paths, and a row in a table has its state, until it is
// free again. Speed does not matter there. In a program without bubbles none of this is ever
// reached.
//
// Invariants:
//
//  1. A lock is bubbled exactly while it has a row. Both change under the table's mu. When it ceases
//     to be, it is free, and nobody stands in the row's line. (TestBubbledLockIsPlainAgain)
//  2. A goroutine of a bubble holds a lock, or waits for one, only while that is bubbled. So whoever
//     holds a lock that becomes bubbled, or stands in one of its plain lines, is outside of all
//     bubbles. (TestWaitsAreDurableAgainAfterAStranger, TestOthersComeOver)
//  3. Each hold, and each place in the line of a row, is counted for the bubble of who has asked for
//     it, whoever serves it or ends it. (TestAbandonedFutureCountsInItsBubble,
//     TestUnlockByAnotherCountsInTheHoldersBubble)
//  4. A wait in line is durable only if all who hold the lock, and all who are in line before,
//     belong to the waiter's bubble. The line is in strict order, so nobody else can hold the lock
//     before the waiter does. (TestContentionAcrossABubblesBorder,
//     TestWaitBehindAStrangerIsNotDurable)
//  5. Whoever is admitted to a lock that is bubbled, or becomes so while it sleeps, leaves the gate
//     to the next, and goes to the end of the row's line. So the plain lines run dry.
//     (TestOthersComeOver, TestContentionAcrossABubblesBorder)
//
// Order of locks: the line of the table of sleepers, the table of rows, what a watch has.
type row struct {
	writing bool
	readers int
	holders crowd // of the holds

	line  waiter.Queue // of nodes whose N is the hold
	from  map[*waiter.Waiter]uint64
	waits crowd // of the line: the values of from
}

// A crowd is how many there are of each bubble; bubble 0 is outside of all.
type crowd []users

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
// test -c gives it, or Bazel. In a test under another name, by hand and without a flag, all waits of
// a bubble are durable, and contention across its border ends the process.
func isTest() bool {
	return slices.ContainsFunc(os.Args, func(arg string) bool {
		name := strings.TrimSuffix(arg, ".exe")
		return strings.HasPrefix(arg, "-test.") || strings.HasSuffix(name, ".test") || strings.HasSuffix(name, "_test")
	})
}

// bubble returns the number of the bubble that the caller runs in, or 0. The header of a stack trace
// has it. A trace takes the longer the deeper the stack is. A coroutine is in its caller's bubble,
// and has a short stack: with it the answer takes two microseconds.
func bubble() uint64 {
	if !waiter.InBubble() {
		return 0
	}
	// goroutine 35 [running, synctest bubble 3]:
	var header []byte
	next, _ := iter.Pull(func(func(struct{}) bool) {
		var buf [128]byte
		header, _, _ = bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte("]"))
	})
	next()
	_, number, _ := bytes.Cut(header, []byte("synctest bubble "))
	id, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("sync: no bubble in " + string(header)) // TestBubblesHaveNumbers
	}
	return id
}

// join takes a hold of l for the caller, if l is bubbled or becomes so. If that means to wait, node
// returns what to put into the line, or nil: it is told whether somebody of another bubble has to
// be waited for. If l is not bubbled, and the caller in no bubble, join does nothing and reports
// false.
func join(l bubbling, hold int64, node func(across bool) *waiter.Waiter) (o waiter.Outcome, here bool) {
	id := bubble()
	for id != 0 || l.isBubbled() { // A retry follows an unlock.
		if o, here := joinRow(l, hold, id, node); here {
			return o, true
		}
		if id != 0 {
			makeRow(l)
		}
	}
	return waiter.Pending, false
}

// joinRow is join for one of bubble id, if l has a row.
func joinRow(l bubbling, hold int64, id uint64, node func(bool) *waiter.Waiter) (o waiter.Outcome, here bool) {
	rows.mu.Lock()
	defer rows.mu.Unlock()
	r := rows.of[l]
	switch {
	case r == nil:
		return waiter.Pending, false
	case r.line.Front() == nil && r.fits(hold):
		r.take(hold, id)
		return waiter.Granted, true
	}
	if w := node(!r.holders.allOf(id) || !r.waits.allOf(id)); w != nil {
		w.N = hold
		r.stand(w, id)
	}
	return waiter.Pending, true
}

// joinFrom is joinRow for a node of a future that has come through the gate of l.
func joinFrom(l bubbling, w *waiter.Waiter) (o waiter.Outcome, here bool) {
	return joinRow(l, w.N, 0, func(bool) *waiter.Waiter { return w })
}

// makeRow makes l bubbled. It may be held, and wanted: those who hold it need not know, because
// only the bit says how to unlock; who sleeps in front of it comes over.
func makeRow(l bubbling) {
	line := parking.Default().Line(l.key())
	rows.mu.Lock()
	if rows.of[l] != nil {
		rows.mu.Unlock()
		line.Unlock()
		return
	}
	r := &row{from: map[*waiter.Waiter]uint64{}}
	readers, writing, admission := l.toBubbled()
	if writing {
		r.take(rwWriter, 0)
	}
	for range int(readers) {
		r.take(rwReader, 0)
	}
	s := line.First()
	future := s != nil && !s.Node().OfGoroutine()
	if future { // Nobody would make another attempt for it.
		line.Remove(s)
		r.stand(s.Node(), 0)
	}
	rows.of[l] = r
	rows.mu.Unlock()
	if s != nil && !future {
		line.ClaimAndUnlock(s).Deliver(waiter.Granted)
	} else {
		line.Unlock()
	}
	if future || admission {
		l.leave()
	}
}

// unjoin gives back a hold of l. If l is not bubbled it does nothing and reports false. If nobody
// has such a hold it does nothing, and ok is false.
func unjoin(l bubbling, hold int64) (ok, here bool) {
	var id uint64 // A writer is the only one.
	if hold == rwReader {
		id = bubble()
	}
	return unjoinOf(l, hold, id)
}

// unjoinOf is unjoin for a hold of bubble id, if there is such a one: another may unlock.
func unjoinOf(l bubbling, hold int64, id uint64) (ok, here bool) {
	var claimed []served
	rows.mu.Lock()
	r := rows.of[l]
	if r != nil {
		if ok = r.give(hold, id); ok {
			claimed = r.serve(l)
		}
	}
	rows.mu.Unlock()
	deliver(l, claimed)
	return ok, r != nil
}

// drop takes w out of the line of l and reports whether it was there. The caller delivers to those
// that have been claimed.
func drop(l bubbling, w *waiter.Waiter) (claimed []served, ok bool) {
	rows.mu.Lock()
	defer rows.mu.Unlock()
	r := rows.of[l]
	if r == nil || !r.line.Remove(w) {
		return nil, false
	}
	r.part(w)
	return r.serve(l), true
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

// A served node holds the lock, and has to be told.
type served struct {
	w      *waiter.Waiter
	hold   int64
	bubble uint64
}

// deliver tells those who have been served, without a lock.
func deliver(l bubbling, claimed []served) {
	for _, s := range claimed {
		if !s.w.Deliver(waiter.Granted) {
			unjoinOf(l, s.hold, s.bubble) // of a future that was abandoned
		}
	}
}

func (r *row) fits(hold int64) bool {
	return !r.writing && (r.readers == 0 || hold == rwReader)
}

func (r *row) take(hold int64, id uint64) {
	if hold == rwReader {
		r.readers++
	} else {
		r.writing = true
	}
	r.holders.add(id)
}

// give undoes take, and reports false if there was none. A lock may be unlocked by another
// goroutine than has locked it, even of another bubble.
func (r *row) give(hold int64, id uint64) bool {
	switch {
	case hold != rwReader && r.writing:
		r.writing = false
	case hold == rwReader && r.readers > 0:
		r.readers--
	default:
		return false
	}
	r.holders.remove(id) // Which of several readers unlocks nobody knows.
	return true
}

// stand puts w at the end of the line.
func (r *row) stand(w *waiter.Waiter, id uint64) {
	r.line.PushBack(w)
	r.from[w] = id
	r.waits.add(id)
}

// part forgets w, which has left the line, and returns its bubble.
func (r *row) part(w *waiter.Waiter) (id uint64) {
	id = r.from[w]
	delete(r.from, w)
	r.waits.remove(id)
	return id
}

func (c *crowd) add(id uint64) {
	for i := range len(*c) {
		if (*c)[i].bubble == id {
			(*c)[i].n++
			return
		}
	}
	*c = append(*c, users{id, 1})
}

// remove takes one of bubble id, or any if there is none of that.
func (c *crowd) remove(id uint64) {
	i := 0
	for i < len(*c)-1 && (*c)[i].bubble != id {
		i++
	}
	if (*c)[i].n--; (*c)[i].n == 0 {
		*c = slices.Delete(*c, i, i+1)
	}
}

// allOf reports whether there is no other than of bubble id.
func (c crowd) allOf(id uint64) bool { return len(c) == 0 || len(c) == 1 && c[0].bubble == id }

// serve claims those of the line who can hold l now, and makes l plain if there is nobody any more.
func (r *row) serve(l bubbling) (claimed []served) {
	for w := r.line.Front(); w != nil && r.fits(w.N); w = r.line.Front() {
		r.line.PopFront()
		id := r.part(w)
		r.take(w.N, id)
		claimed = append(claimed, served{w, w.N, id})
	}
	if !r.writing && r.readers == 0 {
		delete(rows.of, l)
		l.fromBubbled()
	}
	return claimed
}

// A rowLine is the line of a bubbled lock, for a wait that may end early.
type rowLine struct{ l bubbling }

// Unlink implements [waiter.Line].
func (r rowLine) Unlink(w *waiter.Waiter) bool {
	claimed, ok := drop(r.l, w)
	deliver(r.l, claimed)
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
	o, here := join(l, hold, func(across bool) *waiter.Waiter {
		if across && waiter.InBubble() {
			return nil
		}
		p = waiter.GetParker(until)
		return &p.Waiter
	})
	switch {
	case o == waiter.Granted || !here:
		return nil, here
	case p == nil:
		var r request
		r.init(l, hold)
		return r.f.WaitAcross(until), true
	}
	if _, err := waiter.Wait(p, until, rowLine{l}); err != nil {
		return err, true
	}
	p.Put()
	return nil, true
}

// tryBubbled locks l if it is free and nobody waits for it. If this is no business of bubbles it
// does nothing and reports false.
func tryBubbled(l bubbling, hold int64) (ok, here bool) {
	o, here := join(l, hold, func(bool) *waiter.Waiter { return nil })
	return o == waiter.Granted, here
}
