//go:build interleave

package sync

import (
	"fmt"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// Every way of a future to wait and to be given up, at every point, beside goroutines that lock:
// never are two inside, no goroutine sleeps for ever, and in the end the lock and the gate are
// free.
func TestModelFuturesOfMutex(t *testing.T) {
	for _, used := range lanes() {
		t.Run(fmt.Sprintf("used %d", used), func(t *testing.T) {
			if used == 0 && testing.Short() {
				t.Skip("tier two")
			}
			mutextest.RunModelOf[Mutex](t, mutextest.Subject{
				New:   func() mutextest.Small { return newMutex(used) },
				Bound: 2,
				After: func(x *interleave.Run, m mutextest.Small) {
					x.Assert(m.(*Mutex).gate.isOpen(), "the gate is not open")
				},
			}, knownRaces()...)
		})
	}
}

// knownRaces are the scenarios that the race detector does not like.
func knownRaces() []mutextest.Known {
	if !interleave.RaceEnabled {
		return nil
	}
	return []mutextest.Known{{
		Test: "unlock beside locks",
		Why:  "to unlock what another locks is a race, and the holder's fields show it",
	}}
}

// The same of a read-write lock, by its writers.
func TestModelFuturesOfRWMutexAsMutex(t *testing.T) {
	mutextest.RunModelOf[RWMutex](t, mutextest.Subject{
		New:   func() mutextest.Small { return newRWMutex(Express - 1) },
		Bound: 2,
		After: func(x *interleave.Run, m mutextest.Small) { requireUnlocked(x, m.(*RWMutex)) },
	}, knownRaces()...)
}

// Futures of readers and writers that are polled to the end, released in any state, or dropped,
// beside goroutines: a writer is alone, no goroutine sleeps for ever, and in the end the lock is
// free.
func TestModelFuturesOfRWMutex(t *testing.T) {
	for _, s := range []struct {
		holder string // the first holder of the lock
		line   string // what each thread does: see rwFutures
		large  bool
	}{
		{holder: "w", line: "R W"},
		{holder: "w", line: "R R"},
		{holder: "r", line: "W R"},
		{holder: "r", line: "W w"},
		{holder: "w", line: "W r"},
		{holder: "w", line: "R r"},
		{holder: "w", line: "x R"},
		{holder: "w", line: "y R"},
		{holder: "w", line: "y W"},
		{holder: "r", line: "y R"},
		{holder: "r", line: "y r"},
		{holder: "w", line: "x w"},
		{holder: "w", line: "x y"},
		{holder: "w", line: "t R"},
		{holder: "w", line: "t x"},
		{holder: "r", line: "u R"},
		{holder: "r", line: "u y"},
		{holder: "r", line: "y t"},
		{holder: "w", line: "e r"},
		{holder: "r", line: "E w"},
		{holder: "w", line: "i R"},
		{holder: "r", line: "j W"},
		{holder: "r", line: "i y"},
		{holder: "w", line: "k K"},
		{holder: "w", line: "t t R", large: true},
		{holder: "w", line: "r x t", large: true},
		{holder: "w", line: "t K w", large: true},
		{holder: "r", line: "u k t", large: true},
		{holder: "r", line: "y x i", large: true},
		{holder: "w", line: "R R R", large: true},
		{holder: "w", line: "x R W", large: true},
		{holder: "r", line: "y R w", large: true},
	} {
		for _, used := range []int{0, Express} {
			t.Run(fmt.Sprintf("%s/%s/used %d", s.holder, s.line, used), func(t *testing.T) {
				if s.large && (testing.Short() || interleave.RaceEnabled) {
					t.Skip("tier two")
				}
				o := interleave.Options{Mode: interleave.Bounded, Bound: 2}
				interleave.Check(t, o, func(x *interleave.Run) { rwFutures(x, watching{}, s.holder, s.line, used) })
			})
		}
	}
}

// rwFutures has a holder leave, and a thread for each letter come: r and w lock for reading or for
// writing, t and u within a time, and i and j try. R and W poll a future to the end; x and y drop
// one. e and E leave the lock to the owner, who uses its own unlock. k and K have the waker
// release.
func rwFutures(x *interleave.Run, o watching, holder, line string, used int) {
	l := newRWMutex(used)
	o.begin(x, l)
	x.Name("l", l)
	var readers, writers interleave.Int32
	read := func(unlock func()) {
		readers.Add(1)
		x.Assert(writers.Load() == 0, "a reader beside a writer")
		readers.Add(-1)
		unlock()
	}
	write := func(unlock func()) {
		x.Assert(writers.Add(1) == 1 && readers.Load() == 0, "a writer is not alone")
		writers.Add(-1)
		unlock()
	}
	if holder == "r" {
		l.RLock()
		x.Go("holder", func() { read(l.RUnlock) })
	} else {
		l.Lock()
		x.Go("holder", func() { write(l.Unlock) })
	}
	polled := func(f *waiter.Future) {
		for t := semtest.NewTask(x); !f.Poll(t); t = semtest.NewTask(x) {
			t.Sleep()
		}
		x.Assert(f.Complete(), "polled to the end, and not complete")
	}
	for i, who := range line {
		var body func()
		switch who {
		case 'r':
			body = func() { l.RLock(); read(l.RUnlock) }
		case 'w':
			body = func() { l.Lock(); write(l.Unlock) }
		case 't':
			body = func() {
				if l.RLockTimeout(time.Second) {
					read(l.RUnlock)
				}
			}
		case 'u':
			body = func() {
				if l.LockTimeout(time.Second) {
					write(l.Unlock)
				}
			}
		case 'i':
			body = func() {
				if l.TryRLock() {
					read(l.RUnlock)
				}
			}
		case 'j':
			body = func() {
				if l.TryLock() {
					write(l.Unlock)
				}
			}
		case 'e', 'E':
			body = func() {
				var f waiter.Future
				if who == 'e' {
					l.BindRead(&f)
				} else {
					l.Bind(&f)
				}
				polled(&f)
				x.Assert(f.Take() == nil, "complete, and not locked")
				f.Release()
				if who == 'e' {
					read(l.RUnlock)
				} else {
					write(l.Unlock)
				}
				f.Release()
			}
		case 'k', 'K':
			f := new(waiter.Future)
			use := func() { read(f.Release) }
			if who == 'k' {
				l.BindRead(f)
			} else {
				l.Bind(f)
				use = func() { write(f.Release) }
			}
			body = func() {
				if f.Poll(waiter.WakerFunc(use)) {
					use()
				}
			}
		case 'R':
			body = func() {
				var f waiter.Future
				l.BindRead(&f)
				polled(&f)
				read(f.Release)
			}
		case 'W':
			body = func() {
				var f waiter.Future
				l.Bind(&f)
				polled(&f)
				write(f.Release)
			}
		case 'x', 'y':
			body = func() {
				var f waiter.Future
				if who == 'x' {
					l.BindRead(&f)
				} else {
					l.Bind(&f)
				}
				f.Poll(nil)
				f.Release()
				x.Assert(!f.Complete(), "complete after its release")
				f.Release()
			}
		default:
			continue
		}
		x.Go(fmt.Sprintf("%c%d", who, i), body)
	}
	x.Wait()
	x.Assert(l.opening.Load() == 0, "a goroutine still opens the gate")
	o.end(x, l)
	requireUnlocked(x, l)
}

// The bound holds for a future: no more later arrivals than the lane has places overtake the first
// of the line.
func TestModelFutureBypass(t *testing.T) {
	for used := range Express + 1 {
		t.Run(fmt.Sprintf("used %d", used), func(t *testing.T) {
			o := interleave.Options{Mode: interleave.Bounded, Bound: 3}
			if testing.Short() {
				o.Bound = 2
			}
			interleave.Check(t, o, func(x *interleave.Run) {
				m := freshMutex(0)
				x.Name("m", m)
				m.Lock()
				m.used = uint32(used) // the holder has been there for long
				var f waiter.Future
				m.Bind(&f)
				x.Assert(!f.Poll(nil), "not locked")
				var in, passed interleave.Int32 // the future has had the lock; so many had it before
				x.Go("holder", m.Unlock)
				x.Go("other", func() {
					for range Express + 1 {
						m.Lock()
						if in.Load() == 0 {
							n := passed.Add(1)
							x.Assert(int(n) <= Express-used, "overtaken %d times", n)
						}
						m.Unlock()
					}
				})
				x.Go("task", func() {
					interleave.Receive(f.Done())
					in.Store(1)
					f.Release()
				})
				x.Wait()
				x.Assert(m.TryLock(), "the lock was lost")
			})
		})
	}
}

// A future that was given up while its admission was under way is its owner's again although the
// lock stays locked.
func TestModelFutureIsLeftAtOnce(t *testing.T) {
	interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
		m := freshMutex(Express - 1)
		x.Name("m", m)
		gate := m.gate.tryPass() // as an admitted goroutine that gives up
		m.Lock()
		var f waiter.Future
		m.Bind(&f)
		x.Assert(gate && !f.Poll(nil), "locked")
		x.Go("opener", m.leave)
		x.Go("owner", func() {
			f.Release()
			m.Bind(&f) // waits for the claimer's last steps only
			x.Assert((*waiting.Future)(&f).Node().Status() == waiting.StatusIdle, "the future is still the claimer's")
		})
		x.Wait()
		x.Assert(m.Waiting() == 0, "a goroutine still waits")
		m.Unlock()
		x.Assert(m.gate.isOpen(), "the gate is not open")
	})
}
