package sim

import (
	"slices"
	"time"
)

// A worker is a goroutine: it acquires, holds, releases, thinks, and begins again.
type worker struct {
	p       *process
	id      int
	waits   *request
	holding *request
	served  int
}

func (g *worker) think() {
	w := g.p.w
	g.p.at(w.takes(w.Think), func() {
		if !w.ended {
			g.ask()
		}
	})
}

func (g *worker) ask() {
	w := g.p.w
	n := int64(1)
	switch {
	case w.rw() && w.chance(w.Writers):
		n = w.Size
	case !w.rw() && w.Largest > 1:
		n += w.rng.Int64N(w.Largest)
	}
	r := &request{by: g, n: n, since: w.now}
	g.waits = r
	if w.chance(w.Cancel) {
		g.p.at(w.upTo(20*time.Millisecond), func() {
			if g.waits == r {
				g.cancel(r)
			}
		})
	}
	g.p.request(r)
}

func (g *worker) cancel(r *request) {
	p := g.p
	p.w.log("process %d: %d gives up", p.id, g.id)
	if i := slices.Index(p.pending, r); i >= 0 {
		p.pending = slices.Delete(p.pending, i, i+1)
	} else {
		r.engine.cancel(r)
		p.ring(r.engine)
	}
	g.fail()
}

// fail ends the request without success.
func (g *worker) fail() {
	g.waits = nil
	g.think()
}

func (g *worker) serve(r *request) {
	w := g.p.w
	w.log("process %d: %d has %d", g.p.id, g.id, r.n)
	g.waits, g.holding = nil, r
	g.served++
	if !w.ended {
		w.result.Served[g.p.id]++
	}
	w.result.Wait = max(w.result.Wait, time.Duration(w.now-r.since))
	w.result.Turns = max(w.result.Turns, r.turns)
	if r.turns > 2 && w.prompt() {
		w.fail("lease %d got %d blocks before its oldest request was served", r.token.Lease, r.turns)
	}
	hold := w.takes(w.Hold)
	if w.gated() {
		for range 3 {
			g.p.at(w.rng.Int64N(hold+1), func() {
				if g.holding == r {
					w.use(r)
				}
			})
		}
	}
	g.p.at(hold, func() {
		if g.holding == r {
			g.release()
		}
	})
}

func (g *worker) release() {
	r, w := g.holding, g.p.w
	g.holding = nil
	w.leave(r)
	if w.trace {
		w.log("process %d: %d releases", g.p.id, g.id)
	}
	r.engine.release(r.n)
	g.p.ringForRelease(r.engine)
	if len(g.p.workers) > 0 {
		g.think()
	}
}
