//go:build interleave

package sync

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A section is what a lock under exploration protects. It knows the goroutines inside.
type section struct {
	*interleave.Run
	l      *RWMutex
	inside interleave.Int64 // readers, and writers at a thousand each
	panics interleave.Int32 // of unlocks

	tooMany int32  // unlocks there are more than locks
	ends    bool   // an unlock too many ends the process, and what follows does not count
	ended   bool   // the context has ended within a write lock, which guards it
	after   func() // what is left to do when all threads have ended; nil: nothing
}

const aWriter = 1000

func (cs *section) come(who int64) {
	n := cs.inside.Add(who)
	cs.Assert(n < aWriter || n == aWriter, "%d writers beside %d readers", n/aWriter, n%aWriter)
}

func (cs *section) readIf(ok bool) {
	if ok {
		cs.come(1)
		cs.inside.Add(-1)
		cs.l.RUnlock()
	}
}

func (cs *section) writeIf(ok bool) {
	if ok {
		cs.come(aWriter)
		cs.writeEnds()
	}
}

func (cs *section) writeEnds() {
	cs.inside.Add(-aWriter)
	cs.l.Unlock()
}

// cancelWithin ends ctx inside a write lock.
func (cs *section) cancelWithin(ctx *interleave.Context) {
	cs.l.Lock()
	ctx.Cancel()
	cs.ended = true
	cs.l.Unlock()
}

// inTime reports whether a way in with that context was successful, which it may only be if it was
// before the end.
func (cs *section) inTime(err error) bool {
	cs.Assert(err != nil || !cs.ended, "let in, though the context had ended before the unlock")
	return err == nil
}

func (cs *section) read()         { cs.l.RLock(); cs.readIf(true) }
func (cs *section) write()        { cs.l.Lock(); cs.writeIf(true) }
func (cs *section) tryRead()      { cs.readIf(cs.l.TryRLock()) }
func (cs *section) tryWrite()     { cs.writeIf(cs.l.TryLock()) }
func (cs *section) hastyRead()    { cs.readIf(cs.l.RLockTimeout(time.Second)) }
func (cs *section) hastyWrite()   { cs.writeIf(cs.l.LockTimeout(time.Second)) }
func (cs *section) readAndWrite() { cs.read(); cs.write() }
func (cs *section) writeAndRead() { cs.write(); cs.read() }

// together reads until two do.
func (cs *section) together(both *interleave.Int32) {
	cs.l.RLock()
	for both.Add(1); both.Load() < 2; {
		interleave.Yield()
	}
	cs.l.RUnlock()
}

func (cs *section) unlock(unlock func()) {
	if p := interleave.Panics(unlock); p != nil {
		cs.Assert(p != "sync: permit lost", "noticed too late")
		cs.panics.Add(1)
	}
}

func (cs *section) threads(fs ...func()) {
	for i, f := range fs {
		cs.Go(fmt.Sprintf("t%d", i+1), f)
	}
}

type rwScenario struct {
	name  string
	long  bool // not for -short
	bound int  // preemptions, in tier two; 0: any number
	body  func(cs *section)
}

var rwScenarios = []rwScenario{
	{name: "read and write", body: func(cs *section) { cs.threads(cs.read, cs.write) }},
	{name: "twice", body: func(cs *section) { cs.threads(cs.readAndWrite, cs.writeAndRead) }},
	{name: "read twice and write twice", bound: 4, body: func(cs *section) {
		cs.threads(func() { cs.read(); cs.read() }, func() { cs.write(); cs.write() })
	}},
	{name: "three times", long: true, bound: 3, body: func(cs *section) {
		cs.threads(func() { cs.readAndWrite(); cs.read() }, func() { cs.writeAndRead(); cs.write() })
	}},
	{name: "reads", long: true, bound: 3, body: func(cs *section) { cs.Same(3, "reader", func(int) { cs.read() }) }},
	{
		name:  "reads and write",
		long:  true,
		bound: 3,
		body:  func(cs *section) { cs.Same(2, "reader", func(int) { cs.read() }); cs.Go("writer", cs.write) },
	},
	{
		name:  "writes and read",
		long:  true,
		bound: 4,
		body:  func(cs *section) { cs.Same(2, "writer", func(int) { cs.write() }); cs.Go("reader", cs.read) },
	},
	{name: "reads and writes", long: true, bound: 2, body: func(cs *section) {
		cs.Same(2, "reader", func(int) { cs.read() })
		cs.Same(2, "writer", func(int) { cs.write() })
	}},

	// Readers share: each of these waits inside for the other, behind a writer and without one.
	{name: "share", body: func(cs *section) {
		both := new(interleave.Int32)
		cs.Same(2, "reader", func(int) { cs.together(both) })
	}},
	{name: "share behind a write", bound: 4, body: func(cs *section) {
		both := new(interleave.Int32)
		cs.l.Lock()
		cs.Same(2, "reader", func(int) { cs.together(both) })
		cs.Go("writer", cs.l.Unlock)
	}},

	{name: "try", long: true, bound: 3, body: func(cs *section) { cs.threads(cs.tryRead, cs.tryWrite, cs.read) }},
	{name: "try and write", body: func(cs *section) { cs.threads(cs.tryRead, cs.tryWrite, cs.write) }},
	{name: "tries", body: func(cs *section) {
		cs.Same(2, "reader", func(int) { cs.tryRead() })
		cs.Go("writer", cs.tryWrite)
	}},
	// Where no goroutine waits and no writer holds, a try to read does not fail because others come
	// and go.
	{name: "try beside readers", body: func(cs *section) {
		cs.l.RLock()
		cs.threads(cs.read, func() {
			cs.Assert(cs.l.TryRLock(), "not let in beside readers")
			cs.l.RUnlock()
		}, func() { cs.Assert(!cs.l.TryLock(), "a writer beside a reader") })
		cs.after = cs.l.RUnlock
	}},
	// Nor while there is a place, though a writer waits.
	{name: "tries beside a writer who sleeps", body: func(cs *section) {
		cs.l.word.Store(cs.l.word.Load()&rwObserved | rwReader | rwSleeping | rwCrowded)
		cs.Assert(cs.l.gate.tryPass(), "the gate is not open")
		cs.Same(Express, "trier", func(int) {
			cs.Assert(cs.l.TryRLock(), "there was a place")
			cs.l.RUnlock()
		})
		cs.after = func() {
			cs.Assert(!cs.l.TryRLock(), "there was no place")
			cs.l.word.And(^rwSleeping)
			cs.l.RUnlock()
			cs.l.gate.open(cs.l)
		}
	}},
	{name: "try beside who has given up", body: func(cs *section) {
		cs.l.RLock()
		cs.Assert(!cs.l.LockTimeout(time.Second), "a writer beside a reader")
		cs.threads(cs.read, func() {
			cs.Assert(cs.l.TryRLock(), "not let in beside readers")
			cs.l.RUnlock()
		})
		cs.after = cs.l.RUnlock
	}},

	{name: "timeout", body: func(cs *section) { cs.threads(cs.hastyRead, cs.hastyWrite) }},
	{
		name:  "timeout and write",
		long:  true,
		bound: 3,
		body:  func(cs *section) { cs.threads(cs.hastyRead, cs.hastyWrite, cs.write) },
	},
	{
		name:  "timeout and read",
		long:  true,
		bound: 3,
		body:  func(cs *section) { cs.threads(cs.hastyRead, cs.hastyWrite, cs.read) },
	},
	{name: "timeouts behind a write", bound: 3, body: func(cs *section) {
		cs.l.Lock()
		cs.threads(cs.hastyRead, cs.hastyWrite, cs.l.Unlock)
	}},
	// The unlock finds the waiter asleep, none asleep, and another one.
	{name: "timeout and read behind a write", bound: 3, body: func(cs *section) {
		cs.l.Lock()
		cs.come(aWriter)
		cs.threads(cs.hastyWrite, cs.read, cs.writeEnds)
	}},
	// The reader in line is let in, and gives up.
	{name: "read and timeout of a reader behind a write", bound: 3, body: func(cs *section) {
		cs.l.Lock()
		cs.come(aWriter)
		cs.threads(cs.read, cs.hastyRead, cs.writeEnds)
	}},
	// The admitted one gives up while another tries.
	{name: "timeout, read and try behind a write", long: true, bound: 3, body: func(cs *section) {
		cs.l.Lock()
		cs.threads(cs.hastyWrite, cs.read, cs.tryRead, cs.l.Unlock)
	}},
	// The future of a writer sleeps, and is given up or granted, beside a reader who comes in vain.
	{name: "future and read", body: func(cs *section) {
		f := new(waiter.Future)
		cs.l.Bind(f)
		cs.l.RLock()
		cs.Assert(!f.Poll(nil), "a writer beside a reader")
		cs.threads(cs.read, cs.l.RUnlock, func() {
			if f.Complete() {
				cs.come(aWriter)
				cs.inside.Add(-aWriter)
			}
			f.Release()
		})
	}},
	{name: "context", body: func(cs *section) {
		ctx := cs.NewContext()
		cs.threads(func() { cs.readIf(cs.l.RLockContext(ctx) == nil) }, cs.write, ctx.Cancel)
	}},
	{name: "context of a writer", body: func(cs *section) {
		ctx := cs.NewContext()
		cs.threads(func() { cs.writeIf(cs.l.LockContext(ctx) == nil) }, cs.read, ctx.Cancel)
	}},
	{name: "cancel before unlock", body: func(cs *section) {
		ctx := cs.NewContext()
		cs.threads(func() { cs.cancelWithin(ctx) }, func() { cs.readIf(cs.inTime(cs.l.RLockContext(ctx))) })
	}},
	{name: "cancel before unlock, of a writer", body: func(cs *section) {
		ctx := cs.NewContext()
		cs.threads(func() { cs.cancelWithin(ctx) }, func() { cs.writeIf(cs.inTime(cs.l.LockContext(ctx))) })
	}},
	{name: "context among three", long: true, bound: 2, body: func(cs *section) {
		ctx := cs.NewContext()
		cs.threads(func() { cs.writeIf(cs.l.LockContext(ctx) == nil) }, cs.read, cs.write, ctx.Cancel)
	}},
	// Who stands behind a writer that gives up is let in although a reader stays.
	{name: "writer gives up", bound: 3, body: func(cs *section) {
		cs.l.RLock()
		cs.threads(func() { cs.Assert(!cs.l.LockTimeout(time.Second), "a writer beside a reader") }, cs.read, cs.read)
		cs.after = cs.l.RUnlock
	}},

	{name: "double unlock", body: func(cs *section) {
		cs.l.Lock()
		cs.tooMany = 2
		cs.Same(3, "unlocker", func(int) { cs.unlock(cs.l.Unlock) })
	}},
	{name: "double read-unlock", body: func(cs *section) {
		cs.l.RLock()
		cs.l.RLock()
		cs.tooMany = 1
		cs.Same(3, "unlocker", func(int) { cs.unlock(cs.l.RUnlock) })
	}},
	{name: "wrong unlock", body: func(cs *section) {
		cs.l.Lock()
		cs.tooMany = 1
		cs.threads(cs.tryRead, func() { cs.unlock(cs.l.RUnlock); cs.l.Unlock() })
	}},
	// It may remove a reader who is coming, who then notices it, too. The first to notice ends the
	// process.
	{name: "wrong unlock beside a reader", body: func(cs *section) {
		cs.l.Lock()
		cs.ends = true
		cs.threads(func() {
			in := false
			cs.unlock(func() { cs.l.RLock(); in = true })
			cs.readIf(in)
		}, func() { cs.unlock(cs.l.RUnlock); cs.l.Unlock() })
	}},
	{name: "wrong unlock of readers", body: func(cs *section) {
		cs.l.RLock()
		cs.tooMany = 1
		cs.threads(cs.write, func() { cs.unlock(cs.l.Unlock); cs.l.RUnlock() })
	}},
}

// Every way to lock and to give up, at every point, with so many places of the lane used: never a
// reader beside a writer, no goroutine sleeps for ever, and in the end the lock is free and its
// gate open.
func TestModelRWMutex(t *testing.T) {
	for used := range Express + 1 {
		for _, s := range rwScenarios {
			t.Run(fmt.Sprintf("%s/used %d", s.name, used), func(t *testing.T) { s.check(t, used, watching{}) })
		}
	}
}

func (s rwScenario) check(t *testing.T, used int, o watching) {
	t.Helper()
	options := interleave.Options{}
	switch {
	case testing.Short() || interleave.RaceEnabled:
		if s.long {
			t.Skip("tier two")
		}
		options = interleave.Options{Mode: interleave.Bounded, Bound: 2}
	case s.bound > 0 || o.is():
		options = interleave.Options{Mode: interleave.Bounded, Bound: cmp.Or(s.bound, 3)}
	}
	interleave.Check(t, options, func(x *interleave.Run) {
		cs := &section{Run: x, l: newRWMutex(used)}
		o.begin(x, cs.l)
		x.Name("l", cs.l)
		x.Name("inside", &cs.inside)
		s.body(cs)
		x.Wait()
		if cs.after != nil {
			cs.after()
		}
		if cs.ends {
			x.Assert(cs.panics.Load() > 0, "no goroutine has noticed")
			return
		}
		x.Assert(
			cs.panics.Load() == cs.tooMany,
			"%d unlocks panicked, %d were too many",
			cs.panics.Load(),
			cs.tooMany,
		)
		o.end(x, cs.l)
		requireUnlocked(x, cs.l)
	})
}

// newRWMutex returns an unlocked lock of whose express lane so many places have been used, when
// no goroutine sleeps anywhere: executions that were given up have left their sleepers in the
// table.
func newRWMutex(used int) *RWMutex {
	*parking.Default() = *parking.New(1)
	l := new(RWMutex)
	l.word.Store(int64(used) * rwPlace)
	return l
}

func requireUnlocked(x *interleave.Run, l *RWMutex) {
	x.Assert(l.Waiting() == 0, "a goroutine still waits")
	x.Assert(l.word.Load()&^rwLane == 0, "the lock was lost, or a flag left: %x", l.word.Load())
	x.Assert(l.gate.isOpen(), "the gate is not open")
	x.Assert(l.TryLock(), "the lock was lost")
	x.Assert(!l.TryRLock() && !l.TryLock(), "two locks were made of one")
	l.Unlock()
}

// The writers of a read-write lock are those of a mutex.
func TestModelRWMutexAsMutex(t *testing.T) {
	mutextest.RunSmallModel(t, mutextest.Subject{
		New:   func() mutextest.Small { return newRWMutex(Express - 1) },
		Bound: 2,
		After: func(x *interleave.Run, m mutextest.Small) { requireUnlocked(x, m.(*RWMutex)) },
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
				case strings.Contains(s.others, " ") && (testing.Short() || interleave.RaceEnabled):
					t.Skip("tier two")
				case small && !testing.Short():
					o.Bound = 3
				}
				most := 0
				interleave.Check(t, o, func(x *interleave.Run) {
					most = max(most, rwBypass(x, watching{}, holder, s.line, s.others))
				})
				if !interleave.RaceEnabled { // under which nothing is looked at
					require.Equal(t, len(s.line)*Express, most, "the bound is not tight")
				}
			})
		}
	}
}

// rwBypass returns how often the last of the line was overtaken.
func rwBypass(x *interleave.Run, o watching, holder, line, others string) (passed int) {
	l := newRWMutex(0)
	o.begin(x, l)
	x.Name("l", l)
	holds := map[rune]int64{'r': rwReader, 'w': rwWriter}
	enter := map[rune]func(){'r': l.RLock, 'w': l.Lock}
	leave := map[rune]func(){'r': l.RUnlock, 'w': l.Unlock}
	x.Assert(l.takeLane(holds[rune(holder[0])]), "not free")
	l.word.And(^rwLane) // the holder has been there for long
	x.Go("holder", leave[rune(holder[0])])

	var watched, other [8]bool // by thread
	in, before := false, l.word.Load()
	var last place
	x.Always(func() {
		w := l.word.Load()
		in = in || last.p != nil && last.p.N == isIn
		came := w>>32 > before>>32 || w&rwWriter > before&rwWriter
		placed := w&rwLane > before&rwLane && before&rwCrowded != 0
		switch me := x.Running(); {
		case !came && !placed: // no goroutine has come in
		case other[me] && w-before == rwReader && w&(rwCrowded|rwWriter) != 0: // not yet, or in vain
		case other[me] && !came && w&rwLane > rwFull: // in vain
		case watched[me]:
			in = true
		case other[me] && !in:
			passed++
			x.Assert(passed <= len(line)*Express, "overtaken %d times", passed)
		}
		before = w
	})
	for i, who := range line {
		q := stand(l, holds[who])
		last = q
		if i == 0 && (holder == "w" || who == 'w') {
			x.Assert(!l.attempt(holds[who], false), "free") // Admitted at once, it waits from here on.
		} else if len(line) == 1 {
			l.setCrowded(true) // the same, of one for whom the lock is available
		}
		x.Go(fmt.Sprintf("queued %d", i), func() {
			watched[x.Running()] = i == len(line)-1
			if !q.await() {
				_ = l.compete(waiting.UntilDone(x.NewContext()), holds[who], true)
			}
			leave[who]()
		})
	}
	for each := range strings.FieldsSeq(others) {
		x.Go("other "+each, func() {
			other[x.Running()] = true
			for _, who := range each {
				enter[who]()
				leave[who]()
			}
		})
	}
	x.Wait()
	o.end(x, l)
	requireUnlocked(x, l)
	return passed
}

// Places that are used in vain stay few, however often writers give up beside a reader that stays:
// then nobody renews the lane. If each reader that comes in vain added one, their count would grow
// into the next bit. (Invariant 6.)
func TestModelRWPlacesInVainAreFew(t *testing.T) {
	const readers, rounds = 2, 3
	for used := range Express + 1 {
		t.Run(fmt.Sprintf("used %d", used), func(t *testing.T) {
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 2}, func(x *interleave.Run) {
				l := newRWMutex(used)
				x.Name("l", l)
				l.RLock()
				x.Always(func() {
					places := l.word.Load() & rwLane / rwPlace
					x.Assert(places < Express+readers, "%d places were used", places)
				})
				x.Same(readers, "reader", func(int) {
					for range rounds {
						l.RLock()
						l.RUnlock()
					}
				})
				x.Go("writer", func() {
					for range rounds {
						x.Assert(!l.LockTimeout(time.Second), "a writer beside a reader")
					}
				})
				x.Wait()
				l.RUnlock()
				requireUnlocked(x, l)
			})
		})
	}
}

// A lock becomes bubbled beside one who locks or unlocks it: the row and the goroutine agree on who
// holds it.
func TestModelRWMutexBecomesBubbled(t *testing.T) {
	for _, hold := range []int64{rwReader, rwWriter} {
		for _, held := range []bool{false, true} {
			t.Run(fmt.Sprintf("hold %#x, held %v", hold, held), func(t *testing.T) {
				interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
					l := newRWMutex(0)
					if held {
						x.Assert(l.try(hold, false), "not free")
					}
					var done, writing bool
					var readers int64
					x.Go("other", func() {
						if held {
							done = l.giveBack(hold)
						} else {
							done = l.takeLane(hold)
						}
					})
					x.Go("bubble", func() { readers, writing, _ = l.toBubbled() })
					x.Wait()
					inRow := done != held
					x.Assert(writing == (inRow && hold == rwWriter), "a writer in the row: %v", writing)
					x.Assert(readers == 1 == (inRow && hold == rwReader), "%d readers in the row", readers)
					x.Assert(l.isBubbled(), "not bubbled")
					l.fromBubbled()
					x.Assert(!l.isBubbled() && l.TryLock(), "not plain again")
				})
			})
		}
	}
}
