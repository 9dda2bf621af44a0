//go:build interleave

package twa_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/spec"
	"github.com/farad-go/farad/twa"
)

// A counter is what an EventCount or a Sequencer is, as a sequential program.
type counter int64

// An observer is a thread of a history, and what it has done.
type observer struct {
	x     *interleave.Run
	e     *twa.EventCount
	s     *twa.Sequencer
	id    int
	ctx   context.Context
	calls []spec.Call[counter]
}

// do records a call, of which f says what came of it.
func (o *observer) do(f func() (name string, step func(*counter) bool)) {
	began := o.x.Invoke()
	name, step := f()
	o.calls = append(o.calls, spec.Call[counter]{Client: o.id, Name: name, Call: began, Return: o.x.Respond(), Step: step})
}

func (o *observer) advance() {
	o.do(func() (string, func(*counter) bool) {
		n := counter(o.e.Advance())
		return fmt.Sprintf("Advance() = %d", n), func(c *counter) bool { *c++; return *c == n }
	})
}

func (o *observer) read() {
	o.do(func() (string, func(*counter) bool) {
		n := counter(o.e.Read())
		return fmt.Sprintf("Read() = %d", n), func(c *counter) bool { return *c == n }
	})
}

func (o *observer) await(ctx context.Context, n int64) {
	o.do(func() (string, func(*counter) bool) {
		if err := o.e.Await(ctx, n); err != nil {
			o.x.Assert(err == ctx.Err(), "not the context's error: %v", err) //nolint:errorlint // that very error
			return "Await given up", func(*counter) bool { return true }
		}
		return fmt.Sprintf("Await(%d)", n), func(c *counter) bool { return int64(*c) >= n }
	})
}

func (o *observer) ticket() {
	o.do(func() (string, func(*counter) bool) {
		n := counter(o.s.Ticket())
		return fmt.Sprintf("Ticket() = %d", n), func(c *counter) bool { *c++; return *c == n+1 }
	})
}

// Every history is one of a counter: nobody sees it go back, nor sees an event before it happens or misses one that has.
func TestModelEventHistories(t *testing.T) {
	bg := context.Background()
	awaits := func(n int64) func(*observer) { return func(o *observer) { o.await(bg, n); o.read() } }
	ticketTwice := func(o *observer) { o.ticket(); o.ticket() }
	for _, h := range []struct {
		name      string
		observers []func(*observer)
	}{
		{"read", []func(*observer){(*observer).advance, func(o *observer) { o.read(); o.read() }}},
		{"read/two advance", []func(*observer){(*observer).advance, (*observer).advance, func(o *observer) { o.read(); o.read() }}},
		{"await", []func(*observer){(*observer).advance, awaits(1)}},
		{"await/what the second brings", []func(*observer){(*observer).advance, (*observer).advance, awaits(2)}},
		{"await/two", []func(*observer){(*observer).advance, awaits(1), awaits(1)}},
		{"await/two numbers", []func(*observer){func(o *observer) { o.advance(); o.advance() }, awaits(1), awaits(2)}},
		{"await/advance", []func(*observer){ // each waits for the other
			func(o *observer) { o.advance(); o.await(bg, 2) }, func(o *observer) { o.await(bg, 1); o.advance() }}},
		{"await/given up", []func(*observer){
			(*observer).advance, func(o *observer) { o.await(o.ctx, 1); o.read() }, func(o *observer) { o.ctx.(*interleave.Context).Cancel() },
		}},
		{"ticket", []func(*observer){ticketTwice, ticketTwice}},
		{"ticket/3", []func(*observer){(*observer).ticket, (*observer).ticket, ticketTwice}},
	} {
		t.Run(h.name, func(t *testing.T) {
			judge := spec.NewMachine[counter]()
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
				*parking.Default() = *parking.New(1) // executions that were given up have left their sleepers in the table
				e, s, ctx := new(twa.EventCount), new(twa.Sequencer), x.NewContext()
				x.Name("e", e)
				x.Name("s", s)
				os := make([]observer, len(h.observers))
				for i, f := range h.observers {
					os[i] = observer{x: x, e: e, s: s, id: i, ctx: ctx}
					x.Go("observer"+string(rune('1'+i)), func() { f(&os[i]) })
				}
				x.Wait()
				var calls []spec.Call[counter]
				for i := range os {
					calls = append(calls, os[i].calls...)
				}
				if !judge.Linearizable(calls) {
					x.Fail("not linearizable:\n%v", spec.DescribeCalls(calls))
				}
			})
			t.Logf("%d different histories", judge.Judged())
		})
	}
}
