//go:build interleave

package twa_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/spec"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/twa"
)

// A counter is what an EventCount or a Sequencer is, as a sequential program; and what a goroutine
// waits for in an array.
type counter struct {
	n     int64
	ended bool // the context
}

// An observer is a thread of a history, and what it has done.
type observer struct {
	x     *interleave.Run
	e     *twa.EventCount
	s     *twa.Sequencer
	id    int
	ctx   *interleave.Context
	calls []spec.Call[counter]

	a *twa.Array
	v *interleave.Int64 // what is waited for there
}

// do records a call, of which f says what came of it.
func (o *observer) do(f func() (name string, step func(*counter) bool)) {
	began := o.x.Invoke()
	name, step := f()
	o.calls = append(
		o.calls,
		spec.Call[counter]{Client: o.id, Name: name, Call: began, Return: o.x.Respond(), Step: step},
	)
}

func (o *observer) advance() {
	o.do(func() (string, func(*counter) bool) {
		n := o.e.Advance()
		return fmt.Sprintf("Advance() = %d", n), func(c *counter) bool { c.n++; return c.n == n }
	})
}

func (o *observer) read() {
	o.do(func() (string, func(*counter) bool) {
		n := o.e.Read()
		return fmt.Sprintf("Read() = %d", n), func(c *counter) bool { return c.n == n }
	})
}

// await waits for n events, for as long as it takes.
func (o *observer) await(n int64) {
	o.awaits(bg, "Await", n, func(ctx context.Context) error { return o.e.Await(ctx, n) })
}

// awaitWithin is await until the context ends.
func (o *observer) awaitWithin(n int64) {
	o.awaits(o.ctx, "Await", n, func(ctx context.Context) error { return o.e.Await(ctx, n) })
}

// until waits in the array for n changes, until the context ends.
func (o *observer) until(n int64) {
	o.awaits(o.ctx, "WaitUntil", n, func(ctx context.Context) error {
		return o.a.WaitUntil(ctx, o.v, func() bool { return o.v.Load() >= n })
	})
}

// awaits records a wait for n: it ends when there are n, and the context has not ended yet, or has.
func (o *observer) awaits(ctx context.Context, name string, n int64, wait func(context.Context) error) {
	o.do(func() (string, func(*counter) bool) {
		if err := wait(ctx); err != nil {
			o.x.Assert(err == ctx.Err(), "not the context's error: %v", err) //nolint:errorlint // that very error
			return name + " given up", func(c *counter) bool { return c.ended }
		}
		return fmt.Sprintf("%s(%d)", name, n), func(c *counter) bool {
			return c.n >= n && (ctx == bg || !c.ended)
		}
	})
}

// cancel ends the context.
func (o *observer) cancel() {
	o.do(func() (string, func(*counter) bool) {
		o.ctx.Cancel()
		return "Cancel()", func(c *counter) bool { c.ended = true; return true }
	})
}

// change is what until waits for, and politely one that only those who wait so learn of.
func (o *observer) change()   { o.changes((*twa.Array).Signal) }
func (o *observer) politely() { o.changes((*twa.Array).SignalPolite) }

func (o *observer) changes(signal func(*twa.Array, any)) {
	o.do(func() (string, func(*counter) bool) {
		n := o.v.Add(1)
		signal(o.a, o.v)
		return fmt.Sprintf("change to %d", n), func(c *counter) bool { c.n++; return c.n == n }
	})
}

func (o *observer) ticket() {
	o.do(func() (string, func(*counter) bool) {
		n := o.s.Ticket()
		return fmt.Sprintf("Ticket() = %d", n), func(c *counter) bool { c.n++; return c.n == n+1 }
	})
}

// Every history is one of a counter: no goroutine sees it go back, nor sees an event before it
// happens or misses one that has; and a wait whose context has ended before what it waits for
// fails.
func TestModelEventHistories(t *testing.T) {
	awaits := func(n int64) func(*observer) { return func(o *observer) { o.await(n); o.read() } }
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
			func(o *observer) { o.advance(); o.await(2) }, func(o *observer) { o.await(1); o.advance() }}},
		{"await/given up", []func(*observer){
			(*observer).advance, func(o *observer) { o.awaitWithin(1); o.read() }, (*observer).cancel,
		}},
		{"await/cancel before", []func(*observer){
			func(o *observer) { o.cancel(); o.advance() }, func(o *observer) { o.awaitWithin(1) },
		}},
		{"await/cancel between", []func(*observer){
			func(o *observer) { o.advance(); o.cancel(); o.advance() },
			func(o *observer) { o.awaitWithin(1); o.awaitWithin(2) },
		}},
		{"until/given up", []func(*observer){
			(*observer).change, func(o *observer) { o.until(1) }, (*observer).cancel,
		}},
		{"until/cancel before", []func(*observer){
			func(o *observer) { o.cancel(); o.change() }, func(o *observer) { o.until(1) },
		}},
		{"until/cancel before/politely", []func(*observer){
			func(o *observer) { o.cancel(); o.politely() }, func(o *observer) { o.until(1) },
		}},
		{"until/cancel between", []func(*observer){
			func(o *observer) { o.change(); o.cancel(); o.politely() },
			func(o *observer) { o.until(1); o.until(2) },
		}},
		{"ticket", []func(*observer){ticketTwice, ticketTwice}},
		{"ticket/3", []func(*observer){(*observer).ticket, (*observer).ticket, ticketTwice}},
	} {
		t.Run(h.name, func(t *testing.T) {
			judge := spec.NewMachine[counter]()
			interleave.Check(t, interleave.Options{Mode: interleave.Bounded, Bound: 3}, func(x *interleave.Run) {
				*parking.Default() = *parking.New(1) // abandoned executions left their sleepers there
				e, s, ctx := new(twa.EventCount), new(twa.Sequencer), x.NewContext()
				a, v := twa.NewArray(1), new(interleave.Int64)
				x.Name("e", e)
				x.Name("s", s)
				x.Name("v", v)
				os := make([]observer, len(h.observers))
				for i, f := range h.observers {
					os[i] = observer{x: x, e: e, s: s, id: i, ctx: ctx, a: a, v: v}
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
