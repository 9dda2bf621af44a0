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
	"github.com/farad-go/farad/internal/waiting"
)

// A goroutine of a testing/synctest bubble should wait durably: the bubble's time goes on while it
// does, and the test that locks and sleeps comes to its end. But only a goroutine of the same
// bubble may wake it, and a bubble all of whose goroutines wait so is a deadlock, which ends the
// process. So a lock has to know who holds it: a wait is durable while all of them belong to the
// waiter's bubble. Otherwise it is a wait as for a standard mutex.
//
// A lock has no room for that. So a lock that a goroutine of a bubble wants becomes bubbled: one
// bit in its word keeps everybody off its fast paths, and a row in a table has its state, until it
// is free again. Speed does not matter there. In a program without bubbles none of this is ever
// reached.
//
// Invariants:
//
//  1. A lock is bubbled exactly while it has a row. Both change under the table's mu. When it
//     ceases to be, it is free, and nobody stands in the row's line. (TestBubbledLockIsPlainAgain)
//  2. A goroutine of a bubble holds a lock, or waits for one, only while that is bubbled. So
//     a holder of a lock that becomes bubbled, or one in its plain lines, is outside of
//     all bubbles. (TestWaitsAreDurableAgainAfterAStranger, TestOthersComeOver)
//  3. Each hold, and each place in the line of a row, is counted for the bubble of the goroutine
//     that has asked for it, by each step that serves it or ends it.
//     (TestAbandonedFutureCountsInItsBubble, TestUnlockByAnotherCountsInTheHoldersBubble)
//  4. A wait is durable while it is for the lock's own bubble, that of all who hold it. Those who
//     wait so are in a line of their own, and go first: the holder before them is of
//     their bubble, too. When the lock has come to a bubble, its goroutines in the other line go
//     over. So no goroutine of a bubble stops the clock while the bubble has the lock.
//     (TestContentionAcrossABubblesBorder, TestWaitBehindAStrangerIsNotDurable,
//     TestTimeGoesOnWhileTheBubbleHasTheLock)
//  5. The one admitted to a lock that is bubbled, or becomes so while it sleeps, leaves the gate
//     to the next, and goes to the end of the row's line. So the plain lines run dry.
//     (TestOthersComeOver, TestContentionAcrossABubblesBorder)
//
// Order of locks: the line of the table of sleepers, the table of rows, what a watch has.
type row struct {
	writing bool
	readers int
	holders crowd // of the holds

	// The lines are of nodes whose N is the hold.
	own   waiting.Queue // of the bubble of all holders
	line  waiting.Queue
	spots map[*waiting.Waiter]spot // of those in the two
}

type spot struct {
	bubble uint64
	own    bool
	across *across // where a goroutine sleeps until it can go over, or nil
}

// enlist returns what a request puts into the line of a lock that is its bubble's own, or is not. A
// goroutine that sleeps across the border says where.
type enlist func(own bool) (*waiting.Waiter, *across)

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
// Tests unrelated to bubbles set it to false.
var canBubble = isTest() && linked.Bubbles()

// rwArrival is what RLock adds to the word of a lock, and from rwTooFar on that has not let it in.
// In a program that can make bubbles it adds nothing, and is never in. They are variables because a
// look at canBubble would leave RLock no room for what it has to pass to its slow path.
var rwArrival, rwTooFar = arrivals(canBubble)

func arrivals(canBubble bool) (arrival int64, tooFar uint32) {
	if canBubble {
		return 0, 0
	}
	return rwReader, uint32(rwCrowded)
}

// isTest reports whether this program was started as go test starts a test, or has the name that go
// test -c gives it, or Bazel. In a test under another name, by hand and without a flag, all waits
// of a bubble are durable, and contention across its border ends the process.
func isTest() bool {
	return slices.ContainsFunc(os.Args, func(arg string) bool {
		name := strings.TrimSuffix(arg, ".exe")
		return strings.HasPrefix(arg, "-test.") || strings.HasSuffix(name, ".test") || strings.HasSuffix(name, "_test")
	})
}

// bubble returns the number of the bubble that the caller runs in, or 0. The header of a stack
// trace has it. A trace takes the longer the deeper the stack is. A coroutine is in its caller's
// bubble, and has a short stack: with it the answer takes two microseconds.
//
//go:norace
func bubble() uint64 {
	if !waiting.InBubble() {
		return 0
	}
	// goroutine 35 [running, synctest bubble 3]:
	// goroutine 35 [running, synctest bubble 3 labels:{"key": "value"}]:
	var header []byte
	next, _ := iter.Pull(func(func(struct{}) bool) {
		var buf [128]byte
		header, _, _ = bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte("]"))
	})
	next()
	_, number, _ := bytes.Cut(header, []byte("synctest bubble "))
	number, _, _ = bytes.Cut(number, []byte(" "))
	id, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		panic("sync: no bubble in " + string(header)) // TestBubblesHaveNumbers
	}
	return id
}

// join takes a hold of l for the caller, if l is bubbled or becomes so. If that means to wait, node
// returns what to put into the line, or nil: its argument is whether the lock is the bubble's own.
// If l is not bubbled, and the caller in no bubble, join does nothing and reports false.
//
//go:norace
func join(l bubbling, hold int64, node enlist) (o waiting.Outcome, here bool) {
	id := bubble()
	for id != 0 || l.isBubbled() { // A retry follows an unlock.
		if o, here := joinRow(l, hold, id, node); here {
			return o, true
		}
		if id != 0 {
			makeRow(l)
		}
	}
	return waiting.Pending, false
}

// joinRow is join for one of bubble id, if l has a row.
func joinRow(l bubbling, hold int64, id uint64, node enlist) (o waiting.Outcome, here bool) {
	rows.mu.Lock()
	defer rows.mu.Unlock()
	r := rows.of[l]
	if r == nil {
		return waiting.Pending, false
	}
	own := r.isOwn(id)
	if r.own.Front() == nil && (own || r.line.Front() == nil) && r.fits(hold) {
		r.take(hold, id)
		return waiting.Granted, true
	}
	if w, across := node(own); w != nil {
		w.N = hold
		r.stand(w, spot{id, own, across})
	}
	return waiting.Pending, true
}

// joinFrom is joinRow for a node of a future that has come through the gate of l.
func joinFrom(l bubbling, w *waiting.Waiter) (o waiting.Outcome, here bool) {
	return joinRow(l, w.N, 0, func(bool) (*waiting.Waiter, *across) { return w, nil })
}

// makeRow makes l bubbled. It may be held, and wanted: its holders need not know, because only the
// bit says how to unlock; who sleeps in front of it comes over.
func makeRow(l bubbling) {
	line := parking.Default().Line(l.key())
	rows.mu.Lock()
	if rows.of[l] != nil {
		rows.mu.Unlock()
		line.Unlock()
		return
	}
	r := &row{spots: map[*waiting.Waiter]spot{}}
	readers, writing, admission := l.toBubbled()
	if writing {
		r.take(rwWriter, 0)
	}
	for range int(readers) {
		r.take(rwReader, 0)
	}
	s := line.First()
	future := s != nil && !s.Node().OfGoroutine()
	rows.of[l] = r
	var claimed []served
	if future { // Nobody would make another attempt for it.
		line.Remove(s)
		r.stand(s.Node(), spot{})
		claimed = r.serve(l) // The last reader may have gone, and not have looked for it yet.
	}
	rows.mu.Unlock()
	if s != nil && !future {
		line.ClaimAndUnlock(s).Deliver(waiting.Granted)
	} else {
		line.Unlock()
	}
	deliver(l, claimed)
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
func drop(l bubbling, w *waiting.Waiter) (claimed []served, ok bool) {
	rows.mu.Lock()
	defer rows.mu.Unlock()
	r := rows.of[l]
	if r == nil || !r.isIn(w) {
		return nil, false
	}
	r.part(w)
	return r.serve(l), true
}

// goOver puts w into the own line of l in place of the node from, which is in the other line, if
// the lock is its bubble's own. The caller delivers to those that have been claimed.
func goOver(l bubbling, from *waiting.Waiter, w func() *waiting.Waiter) (claimed []served) {
	rows.mu.Lock()
	defer rows.mu.Unlock()
	r := rows.of[l]
	if r == nil || !r.isOwn(r.spots[from].bubble) { // One that is in no line is of no bubble.
		return nil
	}
	to := w()
	to.N = from.N
	r.stand(to, spot{r.part(from).bubble, true, nil})
	return r.serve(l)
}

// inLine returns how many wait for l if it is bubbled.
func inLine(l bubbling) int {
	if !l.isBubbled() {
		return 0
	}
	rows.mu.Lock()
	defer rows.mu.Unlock()
	if r := rows.of[l]; r != nil {
		return r.own.Len() + r.line.Len()
	}
	return 0
}

// held returns how l is held if it is bubbled.
func held(l bubbling) (readers int64, writing bool) {
	rows.mu.Lock()
	defer rows.mu.Unlock()
	if r := rows.of[l]; r != nil {
		return int64(r.readers), r.writing
	}
	return 0, false
}

// A served node holds the lock, and needs its outcome; or its goroutine, which sleeps across the
// border, has to be woken, because it can go over.
type served struct {
	w      *waiting.Waiter
	hold   int64
	bubble uint64
	across *across
}

// deliver notifies the nodes that have been served, without a lock.
func deliver(l bubbling, claimed []served) {
	for _, s := range claimed {
		switch {
		case s.across != nil:
			s.across.Wake()
		case !s.w.Deliver(waiting.Granted):
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

// isOwn reports whether the lock is the own one of a bubble: held by nobody else.
func (r *row) isOwn(id uint64) bool { return id != 0 && r.holders.allOf(id) }

// stand puts w at the end of its line.
func (r *row) stand(w *waiting.Waiter, p spot) {
	r.lineOf(p).PushBack(w)
	r.spots[w] = p
}

func (r *row) lineOf(p spot) *waiting.Queue {
	if p.own {
		return &r.own
	}
	return &r.line
}

func (r *row) isIn(w *waiting.Waiter) bool {
	_, ok := r.spots[w]
	return ok
}

// part takes w out of its line.
func (r *row) part(w *waiting.Waiter) spot {
	p := r.spots[w]
	r.lineOf(p).Remove(w)
	delete(r.spots, w)
	return p
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

// serve claims those in line who can hold l now, and makes l plain if there is nobody any more.
func (r *row) serve(l bubbling) (claimed []served) {
	for w := r.next(); w != nil && r.fits(w.N); w = r.next() {
		id := r.part(w).bubble
		r.take(w.N, id)
		claimed = append(claimed, served{w: w, hold: w.N, bubble: id})
	}
	if !r.writing && r.readers == 0 {
		delete(rows.of, l)
		l.fromBubbled()
	}
	for w := r.line.Front(); w != nil; w = r.line.Next(w) {
		if p := r.spots[w]; p.across != nil && r.isOwn(p.bubble) {
			claimed = append(claimed, served{across: p.across})
		}
	}
	return claimed
}

// next returns who is first in line, or nil.
func (r *row) next() *waiting.Waiter {
	if w := r.own.Front(); w != nil {
		return w
	}
	return r.line.Front()
}

// A rowLine is the line of a bubbled lock, for a wait that may end early.
type rowLine struct{ l bubbling }

// Unlink implements [waiting.Line].
func (r rowLine) Unlink(w *waiting.Waiter) bool {
	claimed, ok := drop(r.l, w)
	deliver(r.l, claimed)
	return ok
}

// GiveBack implements [waiting.Line].
func (r rowLine) GiveBack(hold int64) bool {
	ok, _ := unjoin(r.l, hold)
	return ok
}

// lockBubbled locks l, or returns the error of until if that ends the wait before. If this is no
// business of bubbles it does nothing and reports false.
func lockBubbled(l bubbling, hold int64, until waiting.Limit) (here bool, err error) {
	var p *waiting.Parker
	var c *crossing
	o, here := join(l, hold, func(own bool) (*waiting.Waiter, *across) {
		if own || !waiting.InBubble() {
			p = waiting.GetParker(until)
			return &p.Waiter, nil
		}
		c = &crossing{across: newAcross()}
		c.node.Arm(c)
		return &c.node, c.across
	})
	if o == waiting.Granted || !here {
		return here, nil
	}
	if c != nil { // The clock stands still meanwhile: a time in until is not used up.
		if p, err = c.wait(l, until); p == nil {
			return true, err
		}
	}
	if _, err := waiting.Wait(p, until, rowLine{l}); err != nil {
		return true, err
	}
	p.Put()
	return true, nil
}

// A crossing is a wait of a goroutine of a bubble for one outside.
type crossing struct {
	*across
	node waiting.Waiter
}

// wait returns when c holds l, or when the context of until has ended the wait, with its error; or
// with a parker that is in line in place of c.
func (c *crossing) wait(l bubbling, until waiting.Limit) (p *waiting.Parker, err error) {
	defer c.wakeAfter(until)()
	ended := false
	defer func() {
		if line := (rowLine{l}); !ended && !line.Unlink(&c.node) { // The context has panicked.
			line.GiveBack(c.node.N)
		}
	}()
	for c.node.Status() != waiting.StatusComplete {
		c.sleep()
		if err := until.Cancelled(); err != nil && (rowLine{l}).Unlink(&c.node) {
			ended = true
			return nil, err
		}
		deliver(l, goOver(l, &c.node, func() *waiting.Waiter {
			p = waiting.GetParker(until)
			return &p.Waiter
		}))
		if p != nil {
			ended = true
			return p, nil
		}
	}
	ended = true
	return nil, nil
}

// tryBubbled locks l if it is free and nobody waits for it. If this is no business of bubbles it
// does nothing and reports false.
//
//go:norace
func tryBubbled(l bubbling, hold int64) (ok, here bool) {
	o, here := join(l, hold, func(bool) (*waiting.Waiter, *across) { return nil, nil })
	return o == waiting.Granted, here
}
