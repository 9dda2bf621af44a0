//go:build interleave

package rt

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
)

// withTimers gives the executor a heap of timers in which time passes only when the scenario says
// so. The alarm is deaf: the scenario fires. See alarm_model_test.go for alarms that go off.
func (l *lab) withTimers() {
	ts := &l.ex.timers
	ts.now, ts.clock = func() time.Duration { return time.Duration(l.now.Load()) }, deafAlarm{}
}

type deafAlarm struct{}

func (deafAlarm) Reset(time.Duration) bool { return false }
func (deafAlarm) Stop() bool               { return false }

// pass has all timers that are running be due, and the clock go off.
func (l *lab) pass() {
	l.now.Add(int64(100 * time.Hour))
	l.ex.timers.fire()
}

// passWhile is pass again and again, as a clock goes: whenever something of what is looked at has
// changed.
func (l *lab) passWhile(cond func() bool) {
	for cond() {
		l.pass()
		interleave.Yield()
	}
}

var timerScenarios = []experiment{
	{"timer/is told", func(x *interleave.Run) { // a timer that goes off at any moment of its poll ends the wait
		l := newLab(x, 1)
		l.withTimers()
		var timer Timer
		timer.Init(time.Hour)
		var polled interleave.Int32
		t := l.task("t", func(s *subject, cx *Context, _ int32) bool {
			done := s.poll(cx, &timer)
			polled.Add(1)
			if done {
				l.Assert(timer.Err() == nil, "complete, and not told so")
			}
			return done
		})
		l.start(t)
		x.Go("clock", func() {
			l.passWhile(func() bool { polled.Load(); return l.left.Load() > 0 })
		})
		l.finish()
		x.Assert(l.ex.timers.len() == 0, "a timer was left in the heap")
	}, 0},
	{"timer/two", func(x *interleave.Run) { // of two in the heap each wakes its own task, and one is cancelled
		l := newLab(x, 1)
		l.withTimers()
		var polled interleave.Int32
		timers := new([2]Timer)
		a := l.task("a", func(s *subject, cx *Context, _ int32) bool {
			done := s.poll(cx, &timers[0])
			polled.Add(1)
			return done
		})
		b := l.task("b", func(s *subject, cx *Context, polls int32) bool {
			if polls == 1 && !s.poll(cx, &timers[1]) {
				polled.Add(1)
				s.Waker().Wake()
				return false
			}
			timers[1].Release() // going off, or not
			timers[1].Release()
			return true
		})
		timers[0].Init(2 * time.Hour)
		timers[1].Init(time.Hour)
		l.start(a, b)
		x.Go("clock", func() {
			l.passWhile(func() bool { polled.Load(); return l.left.Load() > 0 })
		})
		l.finish()
		x.Assert(l.ex.timers.len() == 0, "a timer was left in the heap")
	}, 0},
	{"timer/again after a cancel", func(x *interleave.Run) { // a timer that goes off late does not end the next round
		l := newLab(x, 1)
		l.withTimers()
		var timer Timer
		timer.Init(time.Hour)
		var round interleave.Int32
		var before int64 // the second round
		t := l.task("t", func(s *subject, cx *Context, _ int32) bool {
			if round.Load() == 0 {
				if s.poll(cx, &timer) {
					return true
				}
				timer.Release()
				timer.Init(time.Hour)
				before = l.now.Load()
				round.Add(1)
			}
			if !s.poll(cx, &timer) {
				round.Add(1)
				return false
			}
			l.Assert(l.now.Load() > before, "it has gone off, and no time has passed")
			return true
		})
		l.start(t)
		x.Go("clock", func() {
			l.passWhile(func() bool {
				round.Load()
				return l.left.Load() > 0
			})
		})
		l.finish()
		x.Assert(l.ex.timers.len() == 0, "a timer was left in the heap")
	}, 0},
	{"timeout/against a grant", func(x *interleave.Run) { // exactly one of them: no permit is lost
		l := newLab(x, 1)
		l.withTimers()
		s := held(1)
		f := Timeout(request(s), time.Hour)
		var polled interleave.Int32
		t := l.task("t", func(sub *subject, cx *Context, _ int32) bool {
			done := sub.poll(cx, f)
			polled.Add(1)
			if !done {
				return false
			}
			err := f.Err()
			l.Assert(err == nil || errors.Is(err, context.DeadlineExceeded), "timeout: %v", err)
			f.Release()
			return true
		})
		l.start(t)
		x.Go("holder", func() { s.Release(1) })
		x.Go("clock", func() {
			await(func() bool { return polled.Load() > 0 })
			l.pass()
		})
		l.finish()
		l.requireIdle(s)
		x.Assert(l.ex.timers.len() == 0, "a timer was left in the heap")
	}, 0},
	{"timeout/cancelled", func(x *interleave.Run) { // a cancel of the task takes both back
		l := newLab(x, 1)
		l.withTimers()
		s := held(1)
		f := Timeout(request(s), time.Hour)
		var polled interleave.Int32
		t := l.task("t", func(sub *subject, cx *Context, _ int32) bool {
			done := sub.poll(cx, f)
			polled.Add(1)
			if done && f.Err() == nil { // and not because the task was cancelled
				s.Release(1)
			}
			return done
		})
		l.start(t)
		x.Go("holder", func() { s.Release(1) })
		x.Go("canceller", t.Abort)
		x.Go("clock", l.pass)
		l.finish()
		l.requireIdle(s)
		x.Assert(l.ex.timers.len() == 0, "a timer was left in the heap")
	}, 0},
	{"timer/stopped", func(x *interleave.Run) { // at the end of the executor, by whichever comes first
		l := newLab(x, 1)
		l.withTimers()
		var timer Timer
		timer.Init(time.Hour)
		t := l.task("t", func(s *subject, cx *Context, _ int32) bool { return s.poll(cx, &timer) })
		l.start(t)
		x.Go("closer", func() {
			l.ex.timers.stop()
			l.ex.close()
			l.ex.cancelAll(ErrShutdown)
		})
		x.Go("clock", l.pass)
		l.finish()
		x.Assert(l.ex.timers.len() == 0, "a timer was left in the heap")
	}, 0},
}

// A timer that fires, is cancelled, and restarts, at any moment.
func TestModelTimers(t *testing.T) {
	o := interleave.Options{Mode: interleave.Bounded, Bound: 2}
	if !testing.Short() {
		o.Bound = 3
	}
	run(t, o, timerScenarios)
}
