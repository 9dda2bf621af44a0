//go:build interleave

package capacitor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/waiter"
)

// A hall is what a lock under exploration protects. It knows the goroutines inside.
type hall struct {
	*interleave.Run
	l      *RWLock
	inside interleave.Int64 // readers, and writers at a thousand each
	panics interleave.Int32 // of unlocks

	tooMany int32  // unlocks there are more than locks
	ended   bool   // the context has ended within a write lock, which guards it
	after   func() // what is left to do when all threads have ended; nil: nothing
}

const aWriter = 1000

func (h *hall) come(who int64) {
	n := h.inside.Add(who)
	h.Assert(n < aWriter || n == aWriter, "%d writers beside %d readers", n/aWriter, n%aWriter)
}

func (h *hall) readIf(ok bool) {
	if ok {
		h.come(1)
		h.inside.Add(-1)
		h.l.RUnlock()
	}
}

func (h *hall) writeIf(ok bool) {
	if ok {
		h.come(aWriter)
		h.inside.Add(-aWriter)
		h.l.Unlock()
	}
}

// cancelWithin ends ctx inside a write lock.
func (h *hall) cancelWithin(ctx *interleave.Context) {
	h.l.Lock()
	ctx.Cancel()
	h.ended = true
	h.l.Unlock()
}

// inTime reports whether a way in with that context was successful, which it may only be if it was
// before the end.
func (h *hall) inTime(err error) bool {
	h.Assert(err != nil || !h.ended, "let in, though the context had ended before the unlock")
	return err == nil
}

func (h *hall) read()         { h.l.RLock(); h.readIf(true) }
func (h *hall) write()        { h.l.Lock(); h.writeIf(true) }
func (h *hall) tryRead()      { h.readIf(h.l.TryRLock()) }
func (h *hall) tryWrite()     { h.writeIf(h.l.TryLock()) }
func (h *hall) hastyRead()    { h.readIf(h.l.RLockTimeout(time.Second)) }
func (h *hall) hastyWrite()   { h.writeIf(h.l.LockTimeout(time.Second)) }
func (h *hall) readAndWrite() { h.read(); h.write() }
func (h *hall) writeAndRead() { h.write(); h.read() }

// together reads until two do.
func (h *hall) together(both *interleave.Int32) {
	h.l.RLock()
	for both.Add(1); both.Load() < 2; {
		interleave.Yield()
	}
	h.l.RUnlock()
}

func (h *hall) unlock(unlock func()) {
	if p := interleave.Panics(unlock); p != nil {
		h.Assert(p != "capacitor: permit lost", "noticed too late")
		h.panics.Add(1)
	}
}

func (h *hall) threads(fs ...func()) {
	for i, f := range fs {
		h.Go(fmt.Sprintf("t%d", i+1), f)
	}
}

type rwScenario struct {
	name  string
	long  bool // not for -short
	bound int  // preemptions, in tier two; 0: any number
	body  func(h *hall)
}

var rwScenarios = []rwScenario{
	{name: "read and write", body: func(h *hall) { h.threads(h.read, h.write) }},
	{name: "twice", body: func(h *hall) { h.threads(h.readAndWrite, h.writeAndRead) }},
	{name: "read twice and write twice", bound: 4, body: func(h *hall) {
		h.threads(func() { h.read(); h.read() }, func() { h.write(); h.write() })
	}},
	{name: "three times", long: true, bound: 3, body: func(h *hall) {
		h.threads(func() { h.readAndWrite(); h.read() }, func() { h.writeAndRead(); h.write() })
	}},
	{name: "reads", long: true, bound: 3, body: func(h *hall) { h.Same(3, "reader", func(int) { h.read() }) }},
	{
		name:  "reads and write",
		long:  true,
		bound: 3,
		body:  func(h *hall) { h.Same(2, "reader", func(int) { h.read() }); h.Go("writer", h.write) },
	},
	{
		name: "writes and read",
		long: true,
		body: func(h *hall) { h.Same(2, "writer", func(int) { h.write() }); h.Go("reader", h.read) },
	},
	{name: "reads and writes", long: true, bound: 2, body: func(h *hall) {
		h.Same(2, "reader", func(int) { h.read() })
		h.Same(2, "writer", func(int) { h.write() })
	}},

	// Readers share: each of these waits inside for the other, behind a writer and without one.
	{name: "share", body: func(h *hall) {
		both := new(interleave.Int32)
		h.Same(2, "reader", func(int) { h.together(both) })
	}},
	{name: "share behind a write", body: func(h *hall) {
		both := new(interleave.Int32)
		h.l.Lock()
		h.Same(2, "reader", func(int) { h.together(both) })
		h.Go("writer", h.l.Unlock)
	}},

	{name: "try", long: true, bound: 3, body: func(h *hall) { h.threads(h.tryRead, h.tryWrite, h.read) }},
	{name: "try and write", body: func(h *hall) { h.threads(h.tryRead, h.tryWrite, h.write) }},
	{name: "tries", body: func(h *hall) { h.Same(2, "reader", func(int) { h.tryRead() }); h.Go("writer", h.tryWrite) }},
	// Where no goroutine waits and no writer holds, a try to read does not fail because others come
	// and go.
	{name: "try beside readers", body: func(h *hall) {
		h.l.RLock()
		h.threads(h.read, func() {
			h.Assert(h.l.TryRLock(), "not let in beside readers")
			h.l.RUnlock()
		}, func() { h.Assert(!h.l.TryLock(), "a writer beside a reader") })
		h.after = h.l.RUnlock
	}},
	// Nor while there is a place, though a writer waits.
	{name: "tries beside a writer who sleeps", body: func(h *hall) {
		h.l.word.Store(rwReader | rwSleeping)
		h.Assert(h.l.gate.TakeOnly(), "the gate is not open")
		h.Same(Express, "trier", func(int) {
			h.Assert(h.l.TryRLock(), "there was a place")
			h.l.RUnlock()
		})
		h.after = func() {
			h.Assert(!h.l.TryRLock(), "there was no place")
			h.l.word.And(^rwSleeping)
			h.l.RUnlock()
			openGate(h.l.gateOf())
		}
	}},
	{name: "try beside who has given up", body: func(h *hall) {
		h.l.RLock()
		h.Assert(!h.l.LockTimeout(time.Second), "a writer beside a reader")
		h.threads(h.read, func() {
			h.Assert(h.l.TryRLock(), "not let in beside readers")
			h.l.RUnlock()
		})
		h.after = h.l.RUnlock
	}},

	{name: "timeout", body: func(h *hall) { h.threads(h.hastyRead, h.hastyWrite) }},
	{
		name:  "timeout and write",
		long:  true,
		bound: 3,
		body:  func(h *hall) { h.threads(h.hastyRead, h.hastyWrite, h.write) },
	},
	{
		name:  "timeout and read",
		long:  true,
		bound: 3,
		body:  func(h *hall) { h.threads(h.hastyRead, h.hastyWrite, h.read) },
	},
	{name: "timeouts behind a write", bound: 3, body: func(h *hall) {
		h.l.Lock()
		h.threads(h.hastyRead, h.hastyWrite, h.l.Unlock)
	}},
	// The unlock finds the waiter asleep, none asleep, and another one.
	{name: "timeout and read behind a write", bound: 3, body: func(h *hall) {
		h.l.Lock()
		h.threads(h.hastyWrite, h.read, h.l.Unlock)
	}},
	{name: "context", body: func(h *hall) {
		ctx := h.NewContext()
		h.threads(func() { h.readIf(h.l.RLockContext(ctx) == nil) }, h.write, ctx.Cancel)
	}},
	{name: "context of a writer", body: func(h *hall) {
		ctx := h.NewContext()
		h.threads(func() { h.writeIf(h.l.LockContext(ctx) == nil) }, h.read, ctx.Cancel)
	}},
	{name: "cancel before unlock", body: func(h *hall) {
		ctx := h.NewContext()
		h.threads(func() { h.cancelWithin(ctx) }, func() { h.readIf(h.inTime(h.l.RLockContext(ctx))) })
	}},
	{name: "cancel before unlock, of a writer", body: func(h *hall) {
		ctx := h.NewContext()
		h.threads(func() { h.cancelWithin(ctx) }, func() { h.writeIf(h.inTime(h.l.LockContext(ctx))) })
	}},
	{name: "context among three", long: true, bound: 2, body: func(h *hall) {
		ctx := h.NewContext()
		h.threads(func() { h.writeIf(h.l.LockContext(ctx) == nil) }, h.read, h.write, ctx.Cancel)
	}},
	// Who stands behind a writer that gives up is let in although a reader stays.
	{name: "writer gives up", bound: 3, body: func(h *hall) {
		h.l.RLock()
		h.threads(func() { h.Assert(!h.l.LockTimeout(time.Second), "a writer beside a reader") }, h.read, h.read)
		h.after = h.l.RUnlock
	}},

	{name: "double unlock", body: func(h *hall) {
		h.l.Lock()
		h.tooMany = 2
		h.Same(3, "unlocker", func(int) { h.unlock(h.l.Unlock) })
	}},
	{name: "double read-unlock", body: func(h *hall) {
		h.l.RLock()
		h.l.RLock()
		h.tooMany = 1
		h.Same(3, "unlocker", func(int) { h.unlock(h.l.RUnlock) })
	}},
	{name: "wrong unlock", body: func(h *hall) {
		h.l.Lock()
		h.tooMany = 1
		h.threads(h.read, func() { h.unlock(h.l.RUnlock); h.l.Unlock() })
	}},
	{name: "wrong unlock of readers", body: func(h *hall) {
		h.l.RLock()
		h.tooMany = 1
		h.threads(h.write, func() { h.unlock(h.l.Unlock); h.l.RUnlock() })
	}},
}

// Every way to lock and to give up, at every point, with so many places of the lane used: never a
// reader beside a writer, no goroutine sleeps for ever, and in the end the lock is free and its
// gate open.
func TestModelRWLock(t *testing.T) {
	for used := range Express + 1 {
		for _, s := range rwScenarios {
			t.Run(fmt.Sprintf("%s/used %d", s.name, used), func(t *testing.T) {
				o := interleave.Options{}
				switch {
				case testing.Short() || interleave.RaceEnabled:
					if s.long {
						t.Skip("tier two")
					}
					o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
				case s.bound > 0:
					o = interleave.Options{Mode: interleave.Bounded, Bound: s.bound}
				}
				interleave.Check(t, o, func(x *interleave.Run) {
					h := &hall{Run: x, l: newRWLock(used)}
					x.Name("l", h.l)
					x.Name("inside", &h.inside)
					s.body(h)
					x.Wait()
					if h.after != nil {
						h.after()
					}
					x.Assert(
						h.panics.Load() == h.tooMany,
						"%d unlocks panicked, %d were too many",
						h.panics.Load(),
						h.tooMany,
					)
					requireUnlocked(x, h.l)
				})
			})
		}
	}
}

// newRWLock returns an unlocked lock of whose express lane so many places have been used, when
// no goroutine sleeps anywhere: executions that were given up have left their sleepers in the
// table.
func newRWLock(used int) *RWLock {
	*parking.Default() = *parking.New(1)
	l := new(RWLock)
	l.word.Store(int64(used) * rwPlace)
	return l
}

func requireUnlocked(x *interleave.Run, l *RWLock) {
	x.Assert(l.Waiting() == 0, "a goroutine still waits")
	x.Assert(l.word.Load()&^rwLane == 0, "the lock was lost, or a flag left: %x", l.word.Load())
	x.Assert(l.gateOf().Available() == 1 && l.gate.Waiting() == 0, "the gate is not open")
	x.Assert(l.TryLock(), "the lock was lost")
	x.Assert(!l.TryRLock() && !l.TryLock(), "two locks were made of one")
	l.Unlock()
}

// The writers of a read-write lock are those of a mutex.
func TestModelRWLockAsMutex(t *testing.T) {
	mutextest.RunSmallModel(t, mutextest.Subject{
		New:   func() mutextest.Small { return newRWLock(Express - 1) },
		Bound: 2,
		After: func(x *interleave.Run, m mutextest.Small) { requireUnlocked(x, m.(*RWLock)) },
	})
}

// The bound: at most (p + 1) · Express later arrivals overtake the p'th in the line. The line
// exists before the others arrive. The step in which they get in shows their order.
func TestModelRWBypass(t *testing.T) {
	for _, s := range []struct {
		line   string // who stands there: readers and writers; the last one is watched
		others string // what each of the others does
	}{
		{line: "w", others: "rrr"},
		{line: "w", others: "wrw"},
		{line: "r", others: "rwr"},
		{line: "r", others: "www"},
		{line: "w", others: "rr rr"},
		{line: "ww", others: "rrrrr"},
		{line: "rw", others: "rrrrr"},
		{line: "wr", others: "rwrwr"},
	} {
		for _, holder := range []string{"r", "w"} {
			t.Run(fmt.Sprintf("%s behind %s/others %v", s.line, holder, s.others), func(t *testing.T) {
				o := interleave.Options{Mode: interleave.Bounded, Bound: 2}
				switch small := len(s.others) == 3 && len(s.line) == 1; {
				case !small && (testing.Short() || interleave.RaceEnabled):
					t.Skip("tier two")
				case small && !testing.Short():
					o.Bound = 3
				}
				most := 0
				interleave.Check(
					t,
					o,
					func(x *interleave.Run) { most = max(most, rwBypass(x, holder, s.line, s.others)) },
				)
				if !interleave.RaceEnabled { // under which nothing is looked at
					require.Equal(t, len(s.line)*Express, most, "the bound is not tight")
				}
			})
		}
	}
}

// rwBypass returns how often the last of the line was overtaken.
func rwBypass(x *interleave.Run, holder, line, others string) (passed int) {
	l := newRWLock(0)
	x.Name("l", l)
	holds := map[rune]int64{'r': rwReader, 'w': rwWriter}
	leave := map[rune]func(){'r': l.RUnlock, 'w': l.Unlock}
	x.Assert(l.express(l.word.Load(), holds[rune(holder[0])]), "not free")
	l.word.And(^rwLane) // the holder has been there for long
	x.Go("holder", leave[rune(holder[0])])

	var watched, other [8]bool // by thread
	in, before := false, l.word.Load()
	x.Always(func() {
		w := l.word.Load()
		switch me := x.Running(); {
		case w>>32 <= before>>32 && w&rwWriter <= before&rwWriter: // no goroutine has come in
		case watched[me]:
			in = true
		case other[me] && !in:
			passed++
			x.Assert(passed <= len(line)*Express, "overtaken %d times", passed)
		}
		before = w
	})
	for i, who := range line {
		f := new(waiter.Future)
		f.Init(l.gateOf(), 1)
		f.Poll(nil)
		x.Go(fmt.Sprintf("queued %d", i), func() {
			watched[x.Running()] = i == len(line)-1
			interleave.Receive(f.Done())
			x.Assert(f.Err() == nil, "not admitted")
			_ = l.compete(waiter.UntilDone(x.NewContext()), holds[who], true)
			leave[who]()
		})
	}
	for each := range strings.FieldsSeq(others) {
		x.Go("other "+each, func() {
			other[x.Running()] = true
			for _, who := range each {
				if !l.express(l.word.Load(), holds[who]) {
					l.lockSlow(holds[who])
				}
				leave[who]()
			}
		})
	}
	x.Wait()
	requireUnlocked(x, l)
	return passed
}
