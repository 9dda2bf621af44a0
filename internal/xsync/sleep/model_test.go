//go:build interleave

package sleep

import (
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
)

// newSleeper returns a sleeper of this execution.
func newSleeper(x *interleave.Run) *Sleeper {
	start = func(f func()) { x.Go("timer", f) }
	s := new(Sleeper)
	s.Init(true)
	return s
}

var unbounded interleave.Options

var scenarios = []struct {
	name string
	body func(x *interleave.Run)
	o    interleave.Options
}{
	{"token", func(x *interleave.Run) {
		s := newSleeper(x)
		x.Go("owner", func() { x.Assert(s.Sleep() == Token, "the token") })
		x.Go("waker", func() { s.Wake(Token) })
	}, unbounded},
	{"token and nudge at once", func(x *interleave.Run) {
		s := newSleeper(x)
		x.Go("owner", func() {
			got := s.Sleep()
			for got != Token|Nudge {
				more := s.Sleep()
				x.Assert(more != 0 && got&more == 0, "%d after %d", more, got)
				got |= more
			}
			x.Assert(s.Pending() == 0, "something is left")
		})
		x.Go("claimer", func() { s.Wake(Token) })
		x.Go("watch", func() { s.Wake(Nudge) })
	}, unbounded},
	{"one token after the other", func(x *interleave.Run) {
		s, back := newSleeper(x), newSleeper(x)
		x.Go("owner", func() {
			x.Assert(s.Sleep() == Token, "the first")
			back.Wake(Token)
			x.Assert(s.Sleep() == Token, "the second")
		})
		x.Go("waker", func() { s.Wake(Token); back.Sleep(); s.Wake(Token) })
	}, unbounded},
	{"what was written before is seen after", func(x *interleave.Run) {
		s := newSleeper(x)
		written := 0
		x.Go("owner", func() {
			s.Sleep()
			x.Assert(written == 1, "written")
		})
		x.Go("waker", func() { written = 1; s.Wake(Token) })
	}, unbounded},
	{"select", func(x *interleave.Run) {
		s, ctx := newSleeper(x), x.NewContext()
		x.Go("owner", func() { s.orDone(x, ctx) })
		x.Go("waker", func() { s.Wake(Token) })
		x.Go("canceller", ctx.Cancel)
	}, unbounded},
	{"select twice", func(x *interleave.Run) {
		s, back, ctx := newSleeper(x), newSleeper(x), x.NewContext()
		x.Go("owner", func() { s.orDone(x, ctx); back.Wake(Token); s.orDone(x, ctx) })
		x.Go("waker", func() { s.Wake(Token); back.Sleep(); s.Wake(Token) })
		x.Go("canceller", ctx.Cancel)
	}, interleave.Options{Mode: interleave.Bounded, Bound: 2}},
	{"timed", func(x *interleave.Run) {
		s := newSleeper(x)
		x.Go("owner", func() { s.timed(x) })
		x.Go("waker", func() { s.Wake(Token) })
	}, unbounded},
	{"timed twice", func(x *interleave.Run) { // with one timer
		s, back := newSleeper(x), newSleeper(x)
		x.Go("owner", func() { s.timed(x); back.Wake(Token); s.timed(x) })
		x.Go("waker", func() { s.Wake(Token); back.Sleep(); s.Wake(Token) })
	}, interleave.Options{Mode: interleave.Bounded, Bound: 2}},
}

// orDone waits for a token, by a select if ctx is not done.
func (s *Sleeper) orDone(x *interleave.Run, ctx *interleave.Context) {
	got := s.SleepOr(ctx.Done())
	if got == 0 {
		got = s.Sleep()
	}
	x.Assert(got == Token, "%d instead of the token", got)
	x.Assert(s.Pending() == 0, "something is left")
}

// timed waits for a token, for some time with a timer.
func (s *Sleeper) timed(x *interleave.Run) {
	s.StartTimer(time.Second)
	if !s.SleepTimed() {
		x.Assert(s.Sleep() == Token, "the token that comes later")
	}
	x.Assert(s.Pending() == 0, "something is left")
}

func TestModel(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			interleave.Check(t, s.o, func(x *interleave.Run) {
				s.body(x)
				x.Wait()
			})
		})
	}
}
