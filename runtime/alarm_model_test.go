//go:build interleave

package rt

import (
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A timeLab is a clock that a thread moves on: always to the time that the alarm is set for.
type timeLab struct {
	l   *lab
	now interleave.Int64
	at  interleave.Int64 // what the alarm is set for; 0: it is not set
}

// timed gives the executor a clock. Time begins at 1.
func (l *lab) timed() *timeLab {
	c := &timeLab{l: l}
	c.now.Store(1)
	ts := &l.ex.timers
	ts.now, ts.clock = func() time.Duration { return time.Duration(c.now.Load()) }, c
	l.Name("clock", c)
	l.Name("timers", ts)
	return c
}

// Reset implements alarm.
func (c *timeLab) Reset(d time.Duration) bool {
	return c.at.Swap(c.now.Load()+int64(d)) != 0
}

// Stop implements alarm.
func (c *timeLab) Stop() bool { return c.at.Swap(0) != 0 }

// run lets time pass while tasks live. The function of an alarm may come late.
func (c *timeLab) run() {
	c.l.Go("clock", func() {
		for {
			await(func() bool { return c.at.Load() != 0 || c.l.left.Load() == 0 })
			at := c.at.Swap(0)
			if at == 0 {
				return
			}
			c.now.Store(max(at, c.now.Load()))
			c.l.ex.timers.fire()
		}
	})
}

// finish is that of the lab, and no timer is left.
func (c *timeLab) finish() {
	c.l.finish()
	c.l.Assert(len(c.l.ex.timers.heap) == 0, "a timer was left in the heap")
}

// sleeper is a task that ends when its timer of d has fired.
func (c *timeLab) sleeper(d time.Duration) *subject {
	timer := new(Timer)
	timer.Init(d)
	from := int64(0)
	return c.l.task("sleeper", func(s *subject, cx *Context, polls int32) bool {
		if polls == 1 {
			from = c.now.Load()
		}
		if !s.poll(cx, timer) {
			return false
		}
		if cx.Err() == nil {
			c.l.Assert(timer.Err() == nil && c.now.Load() >= from+int64(d), "too early")
		}
		return true
	})
}

var alarmScenarios = []experiment{
	{"one", func(x *interleave.Run) {
		c := newLab(x, 1).timed()
		c.l.start(c.sleeper(1))
		c.run()
		c.finish()
	}, 0},
	{"two", func(x *interleave.Run) { // in one heap, behind one alarm
		c := newLab(x, 1).timed()
		c.l.start(c.sleeper(2), c.sleeper(1))
		c.run()
		c.finish()
	}, 2},
	{"cancel", func(x *interleave.Run) { // against the alarm
		c := newLab(x, 1).timed()
		t := c.sleeper(1)
		c.l.start(t)
		c.run()
		x.Go("canceller", t.Abort)
		c.finish()
	}, 2},
	{"cancel of the first of two", func(x *interleave.Run) { // the other one fires
		c := newLab(x, 1).timed()
		first := c.sleeper(1)
		c.l.start(first, c.sleeper(2))
		c.run()
		x.Go("canceller", first.Abort)
		c.finish()
	}, 1},
	{"again", func(x *interleave.Run) { // one that was cancelled as it fired is used once more
		c := newLab(x, 1).timed()
		var timer Timer
		timer.Init(1)
		cancelled := false
		t := c.l.task("t", func(s *subject, cx *Context, _ int32) bool {
			if !cancelled {
				if cx.Poll(&timer) {
					return true
				}
				cancelled = true
				timer.Release()
				timer.Release()
				c.l.Assert(timer.Err() == waiter.ErrPending, "complete after a cancel")
				timer.Init(1)
			}
			return s.poll(cx, &timer)
		})
		c.l.start(t)
		c.run()
		c.finish()
	}, 2},
	{"select against a grant", func(x *interleave.Run) { // the loser gives back, whatever it was getting
		c := newLab(x, 1).timed()
		s := held(1)
		var timer Timer
		timer.Init(1)
		first := FirstOf(request(s), &timer)
		t := c.l.task("t", func(me *subject, cx *Context, _ int32) bool {
			if !me.poll(cx, first) {
				return false
			}
			if first.Index() == 0 {
				c.l.Assert(first.Err() == nil, "lost")
				s.Release(1)
			}
			return true
		})
		c.l.start(t)
		c.run()
		x.Go("releaser", func() { s.Release(1) })
		c.finish()
		c.l.requireIdle(s)
	}, 2},
	{"alone", func(x *interleave.Run) { // without an executor: cancelled as it fires, and used again
		var timer Timer
		timer.Init(1)
		woken := interleave.NewSignal(2)
		w := waiter.WakerFunc(woken.TrySend)
		first, second := new(loneAlarm), new(loneAlarm)
		alarms := []*loneAlarm{first, second}
		newAlarm = func(_ time.Duration, f func()) alarm {
			a := alarms[0]
			alarms = alarms[1:]
			a.f = f
			a.set.Store(true)
			return a
		}
		x.Go("owner", func() {
			if !timer.Poll(w) {
				timer.Release()
			}
			await(func() bool { // a claimer may be at its last steps
				s := timer.f.Node().Status()
				return s == waiting.StatusIdle || s == waiting.StatusComplete
			})
			timer.Init(1)
			for !timer.Poll(w) {
				woken.Receive()
				if timer.f.Node().Status() == waiting.StatusBusy { // it has woken itself
					interleave.Yield()
				}
			}
			x.Assert(timer.Err() == nil, "it has not fired")
		})
		x.Go("first", func() { first.fire() })
		x.Go("second", func() { second.fire() })
		x.Wait()
	}, 0},
}

// A loneAlarm fires once, when a thread has it do so, unless it was stopped before.
type loneAlarm struct {
	set interleave.Bool
	off interleave.Bool // stopped, or about to call
	f   func()
}

func (a *loneAlarm) Reset(time.Duration) bool { panic("reset") }
func (a *loneAlarm) Stop() bool               { return !a.off.Swap(true) }

func (a *loneAlarm) fire() {
	await(a.set.Load)
	if !a.off.Swap(true) {
		a.f()
	}
}

func TestModelAlarm(t *testing.T) {
	defer func(old func(time.Duration, func()) alarm) { newAlarm = old }(newAlarm)
	for _, e := range alarmScenarios {
		o := interleave.Options{}
		if e.bound > 0 {
			o = interleave.Options{Mode: interleave.Bounded, Bound: e.bound}
		}
		run(t, o, []experiment{e})
	}
}
