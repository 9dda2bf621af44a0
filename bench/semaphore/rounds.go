package semaphore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// work is the loop that all lockers are measured with. It is not inlined, so that no caller lets
// the compiler see which locker it is. The first operation is published at once, for the warm-up to
// see.
//
//go:noinline
func work(ctx context.Context, l peers.Locker, w Workload, x uint64, stop *atomic.Bool, n *measure.Counter) error {
	batch := measure.Batch(w.goroutines)
	for done, todo := int64(0), int64(1); ; todo = batch {
		for range todo {
			if err := l.Acquire(ctx, 1); err != nil {
				n.Publish(done, x)
				return err
			}
			x = measure.Xorshift(x)
			if w.yield {
				runtime.Gosched()
			}
			l.Release(1)
		}
		done += todo
		if stop.Load() {
			n.Publish(done, x)
			return nil
		}
		n.Count.Store(done)
	}
}

// measureCell measures im in c once, with new goroutines, contexts and a new lock.
func measureCell(c Cell, im Implementation, t measure.Timing) (measure.Sample, error) {
	ctxs, cancels := c.Form.Contexts(c.goroutines)
	defer func() {
		for _, cancel := range cancels {
			cancel()
		}
	}()
	s, err := measure.Loops(c.goroutines, t, func(g *measure.Gang) {
		if im.start != nil {
			im.start(g, c)
			return
		}
		l := im.make(int64(c.permits))
		for i := range c.goroutines {
			mine := peers.OfGoroutine(l)
			g.Spawn(
				i,
				func(n *measure.Counter) error { return work(ctxs[i], mine, c.Workload, uint64(i+1), &g.Stop, n) },
			)
		}
	})
	if err != nil {
		return measure.Sample{}, fmt.Errorf("%s/%s: %w", c, im.Name, err)
	}
	return s, nil
}

// A Result is what all rounds gave for one cell.
type Result struct {
	Name    string                          `json:"cell"`
	Samples measure.Samples[measure.Sample] `json:"samples"`

	cell  Cell
	Impls []Implementation `json:"-"`
}

// Plan returns the cells and implementations that match picks by the name cell/implementation, as
// in contended-8x1/shared/x/sync.
func Plan(impls []Implementation, match func(string) bool) []*Result {
	var rs []*Result
	for _, c := range Cells() {
		r := &Result{Name: c.String(), Samples: make(measure.Samples[measure.Sample]), cell: c}
		for _, im := range impls {
			if (im.serves == nil || im.serves(c.Workload)) && match(r.Name+"/"+im.Name) {
				r.Impls = append(r.Impls, im)
			}
		}
		if r.Impls != nil {
			rs = append(rs, r)
		}
	}
	return rs
}

// RunRound measures each cell once, and calls measured after every measurement.
func RunRound(round int, rs []*Result, t measure.Timing, measured func(string)) error {
	rng := rand.New(rand.NewPCG(2, uint64(round)))
	for _, r := range rs {
		for _, im := range measure.Shuffled(rng, r.Impls) {
			s, err := measureCell(r.cell, im, t)
			if err != nil {
				return err
			}
			r.Samples[im.Name] = append(r.Samples[im.Name], s)
			measured(r.Name + "/" + im.Name)
		}
	}
	return nil
}

// Link finds what the lines that were read belong to.
func Link(rs []*Result) {
	for _, c := range rs {
		name, f := c.Name, ""
		if i := strings.LastIndexByte(c.Name, '/'); i >= 0 {
			name, f = c.Name[:i], c.Name[i+1:]
		}
		c.cell = Cell{Workload{Name: name}, measure.Form(f)}
		c.Impls = measure.Present(
			Implementations,
			c.Samples,
			func(im Implementation) string { return im.Name },
			func(name string) Implementation { return Implementation{Name: name} },
		)
	}
}
