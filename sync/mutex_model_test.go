//go:build interleave

package sync

import (
	"fmt"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/waiter"
)

// lanes are the lengths of the express lane, up to the longest.
func lanes() []int { return []int{0, 1, Express} }

// Every way to lock and to give up, at every point: never two inside, no goroutine sleeps for ever,
// and in the end the lock is free.
func TestModelMutex(t *testing.T) {
	bound := 0
	if testing.Short() {
		bound = 2
	}
	for _, q := range lanes() {
		t.Run(fmt.Sprintf("express %d", q), func(t *testing.T) {
			mutextest.RunSmallModel(t, mutextest.Subject{
				New:   func() mutextest.Small { return newMutex(q) },
				Bound: bound,
				After: func(x *interleave.Run, m mutextest.Small) {
					gate := m.(*Mutex).gateOf()
					x.Assert(gate.Available() == 1 && gate.Waiting() == 0, "the gate is not open")
				},
			})
		})
	}
}

func TestModelTimeout(t *testing.T) {
	for _, q := range lanes() {
		t.Run(fmt.Sprintf("express %d", q), func(t *testing.T) {
			o := interleave.Options{}
			if testing.Short() { // all schedules are for tier two
				o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
			}
			interleave.Check(t, o, func(x *interleave.Run) {
				m, inside := newMutex(q), new(interleave.Int32)
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
				x.Assert(m.gateOf().Available() == 1, "the gate is not open")
			})
		})
	}
}

// The bound: at most (p + 1) · q later arrivals overtake the p'th in the queue. The queue exists
// before the others arrive. The test counts how many of them get in first.
func TestModelBypass(t *testing.T) {
	for _, s := range []struct {
		q, p   int // the lane's length; the watched goroutine's place in the queue
		others []int
	}{
		{q: 0, p: 0, others: []int{1, 1}},
		{q: 1, p: 0, others: []int{2}},
		{q: 1, p: 0, others: []int{1, 1}},
		{q: 2, p: 0, others: []int{2, 1}},
		{q: 0, p: 1, others: []int{2}},
		{q: 1, p: 1, others: []int{3}},
	} {
		t.Run(fmt.Sprintf("express %d/place %d/others %v", s.q, s.p, s.others), func(t *testing.T) {
			o := interleave.Options{}
			if len(s.others) > 1 || s.p > 0 {
				if testing.Short() || interleave.RaceEnabled {
					t.Skip("tier two")
				}
				o = interleave.Options{Mode: interleave.Bounded, Bound: 2}
			}
			interleave.Check(t, o, func(x *interleave.Run) { bypass(x, s.q, s.p, s.others) })
		})
	}
}

func bypass(x *interleave.Run, q, p int, others []int) {
	m := newMutex(q)
	x.Name("m", m)
	var in interleave.Int32     // the watched goroutine has been in
	var passed interleave.Int32 // so many got in before
	m.Lock()
	x.Go("holder", m.Unlock)
	for i := range p + 1 {
		f := new(waiter.Future)
		f.Init(m.gateOf(), 1)
		f.Poll(nil)
		x.Go(fmt.Sprintf("queued %d", i), func() {
			interleave.Receive(f.Done())
			x.Assert(f.Err() == nil, "not admitted")
			_ = m.compete(waiter.UntilDone(x.NewContext()), true)
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
					x.Assert(int(n) <= (p+1)*q, "overtaken %d times", n)
				}
				m.Unlock()
			}
		})
	}
	x.Wait()
	x.Assert(m.TryLock(), "the lock was lost")
}
