//go:build interleave

package sync

import (
	"fmt"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
)

// lanes are how many places of the express lane have been used, up to all.
func lanes() []int { return []int{0, 1, Express} }

// freshMutex is newMutex when no goroutine sleeps anywhere: executions that were given up have left
// their sleepers in the table.
func freshMutex(used int) *Mutex {
	*parking.Default() = *parking.New(1)
	return newMutex(used)
}

// Every way to lock and to give up, at every point: never two inside, no goroutine sleeps for ever,
// and in the end the lock is free.
func TestModelMutex(t *testing.T) {
	bound := 0
	if testing.Short() {
		bound = 2
	}
	for _, used := range lanes() {
		t.Run(fmt.Sprintf("used %d", used), func(t *testing.T) {
			mutextest.RunSmallModel(t, mutextest.Subject{
				New:   func() mutextest.Small { return newMutex(used) },
				Bound: bound,
				After: func(x *interleave.Run, m mutextest.Small) {
					x.Assert(m.(*Mutex).gate.isOpen(), "the gate is not open")
				},
			})
		})
	}
}

func TestModelTimeout(t *testing.T) {
	for _, used := range lanes() {
		t.Run(fmt.Sprintf("used %d", used), func(t *testing.T) {
			o := interleave.Options{}
			if testing.Short() { // all schedules are for tier two
				o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
			}
			interleave.Check(t, o, func(x *interleave.Run) {
				m, inside := freshMutex(used), new(interleave.Int32)
				x.Name("m", m)
				x.Same(2, "hasty", func(int) {
					if m.LockTimeout(time.Second) {
						x.Assert(inside.Add(1) == 1, "two inside")
						inside.Add(-1)
						m.Unlock()
					}
				})
				x.Go("locker", func() {
					m.Lock()
					x.Assert(inside.Add(1) == 1, "two inside")
					inside.Add(-1)
					m.Unlock()
				})
				x.Wait()
				x.Assert(m.TryLock(), "the lock was lost")
				m.Unlock()
				x.Assert(m.gate.isOpen(), "the gate is not open")
			})
		})
	}
}

// The bound: at most (p + 1) · Express later arrivals overtake the p'th in the queue. The queue
// exists before the others arrive. The test counts how many of them get in first.
func TestModelBypass(t *testing.T) {
	for _, s := range []struct {
		p      int // the watched goroutine's place in the queue
		others []int
	}{
		{p: 0, others: []int{3}},
		{p: 0, others: []int{2, 1}},
		{p: 0, others: []int{1, 1, 1}},
		{p: 1, others: []int{5}},
	} {
		t.Run(fmt.Sprintf("place %d/others %v", s.p, s.others), func(t *testing.T) {
			o := interleave.Options{Mode: interleave.Bounded, Bound: 2}
			switch small := s.p == 0 && len(s.others) < 3; {
			case !small && (testing.Short() || interleave.RaceEnabled):
				t.Skip("tier two")
			case small && !testing.Short():
				o.Bound = 3
			}
			most := 0
			interleave.Check(t, o, func(x *interleave.Run) { most = max(most, bypass(x, watching{}, s.p, s.others)) })
			if !interleave.RaceEnabled {
				require.Equal(t, (s.p+1)*Express, most, "the bound is not tight")
			}
		})
	}
}

// bypass returns how often the p'th was overtaken.
func bypass(x *interleave.Run, o watching, p int, others []int) int {
	m := freshMutex(0)
	o.begin(x, m)
	x.Name("m", m)
	var in interleave.Int32     // the watched goroutine has been in
	var passed interleave.Int32 // so many got in before
	m.Lock()
	m.used = 0 // the holder has been there for long
	x.Go("holder", m.Unlock)
	for i := range p + 1 {
		q := stand(m, rwWriter)
		x.Go(fmt.Sprintf("queued %d", i), func() {
			q.await()
			_ = m.compete(waiting.UntilDone(x.NewContext()), true)
			if i == p {
				in.Store(1)
			}
			m.Unlock()
		})
	}
	for _, n := range others {
		x.Go("other", func() {
			for range int(n) {
				m.Lock()
				if in.Load() == 0 {
					n := passed.Add(1)
					x.Assert(int(n) <= (p+1)*Express, "overtaken %d times", n)
				}
				m.Unlock()
			}
		})
	}
	x.Wait()
	o.end(x, m)
	x.Assert(m.TryLock(), "the lock was lost")
	return int(passed.Load())
}

// A mutex becomes bubbled beside a lock or an unlock: the row and the goroutine agree on who holds
// it.
func TestModelMutexBecomesBubbled(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprintf("held %v", held), func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				m := freshMutex(0)
				other := func() bool { return m.takeLane(1) } // takes it before, and the row has a holder, or does not
				if held {
					m.Lock()
					other = m.unlock // gives it back before, or leaves it to the row
				}
				var done, writing bool
				x.Go("other", func() { done = other() })
				x.Go("bubble", func() { _, writing, _ = m.toBubbled() })
				x.Wait()
				x.Assert(writing == (done != held), "held in the row: %v", writing)
				x.Assert(m.isBubbled(), "not bubbled")
				m.fromBubbled()
				x.Assert(!m.isBubbled() && m.TryLock(), "not plain again")
			})
		})
	}
}
