package spec

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// reference is the semaphore once more, written for the tests: a number and a list.
type reference struct {
	size, avail int64
	closed      bool
	cancelled   bool // the context has ended
	line        []*asked
	now         int // which step this is
}

// asked is one request.
type asked struct {
	n       int64
	context bool
	fate    Result
	ended   int // in which step
}

func (r *reference) end(a *asked, fate Result) {
	if fate == Granted && a.context && r.cancelled {
		fate = late
	}
	a.fate, a.ended = fate, r.now
}

func (r *reference) serve() {
	for len(r.line) > 0 && r.avail >= r.line[0].n {
		r.avail -= r.line[0].n
		r.end(r.line[0], Granted)
		r.line = r.line[1:]
	}
}

func (r *reference) try(n int64) bool {
	if r.closed || n > 0 && (len(r.line) > 0 || r.avail < n) {
		return false
	}
	r.avail -= n
	return true
}

func (r *reference) ask(a *asked) {
	switch {
	case r.try(a.n):
		r.end(a, Granted)
	case r.closed:
		r.end(a, Closed)
	case a.n > r.size:
		r.end(a, TooLarge)
	default:
		r.line = append(r.line, a)
	}
}

func (r *reference) release(n int64) bool {
	if r.avail+n > r.size {
		return false
	}
	r.avail += n
	r.serve()
	return true
}

func (r *reference) resize(n int64) {
	r.avail += n - r.size
	r.size = n
	r.drop(TooLarge, func(a *asked) bool { return a.n > n })
	r.serve()
}

func (r *reference) drop(fate Result, which func(*asked) bool) {
	var rest []*asked
	for _, a := range r.line {
		if which(a) {
			r.end(a, fate)
		} else {
			rest = append(rest, a)
		}
	}
	r.line = rest
}

// withdraw is a cancel: it reports whether a was granted and so has something to give back.
func (r *reference) withdraw(a *asked) bool {
	granted := a.fate == Granted || a.fate == late
	r.drop(None, func(b *asked) bool { return a == b })
	r.end(a, Cancelled)
	r.serve()
	return granted
}

// A play is an operation of a run, which takes one step or more.
type play struct {
	op          Op
	ask         *asked
	first, last int
}

type played struct {
	size  int64
	plays []*play
}

// run does n random operations on the reference, one step after the other.
func run(rng *rand.Rand, n int) *played {
	p := &played{size: rng.Int64N(4)}
	r := &reference{size: p.size, avail: p.size}
	did := map[int]*play{} // by step: the client that did it
	type late struct {
		n  int64
		by *play
	}
	var lates []late // permits of abandoned requests, on their way back through those that granted them
	for len(p.plays) < n || len(lates) > 0 || r.cancelled && p.unseen(rng, ofContext) != nil {
		r.now++
		if len(lates) > 0 && (len(p.plays) >= n || rng.IntN(2) == 0) {
			l := lates[0]
			lates = lates[1:]
			did[r.now] = l.by
			l.by.last = max(l.by.last, r.now)
			if !r.release(l.n) {
				return run(rng, n) // another has released permits that it did not hold
			}
			continue
		}
		a := p.unseen(rng, func(o *play) bool { return r.cancelled || !o.op.Context })
		if len(p.plays) >= n {
			a = p.unseen(rng, ofContext)
		}
		if a != nil && (len(p.plays) >= n || rng.IntN(4) == 0) {
			if a.op.Result = Cancelled; !a.op.Context {
				a.op.Result += Result(rng.IntN(2))
			}
			a.last = r.now
			did[r.now] = a
			by := did[a.ask.ended]
			switch back := r.withdraw(a.ask); {
			case back && a.op.Result == Abandoned:
				lates = append(lates, late{a.op.N, by})
			case back && !r.release(a.op.N):
				return run(rng, n)
			}
			continue
		}
		o := &play{first: r.now, last: r.now, op: Op{Client: len(p.plays)}}
		p.plays = append(p.plays, o)
		did[r.now] = o
		switch k := rng.IntN(34); {
		case k < 14:
			o.op.Kind, o.op.N = Acquire, rng.Int64N(4)
			o.op.Context = rng.IntN(3) == 0
			o.ask = &asked{n: o.op.N, context: o.op.Context}
			r.ask(o.ask)
		case k < 20:
			o.op.Kind, o.op.N, o.op.Result = TryAcquire, rng.Int64N(3), Refused
			if r.try(o.op.N) {
				o.op.Result = Granted
			}
		case k < 28:
			o.op.Kind, o.op.N, o.op.Result = Release, min(rng.Int64N(4), max(1, r.size-r.avail)), Done
			if !r.release(o.op.N) {
				o.op.Result = Panicked
			}
		case k < 31:
			o.op.Kind, o.op.N, o.op.Result = Resize, rng.Int64N(5), Done
			r.resize(o.op.N)
		case rng.IntN(2) == 0:
			o.op.Kind, o.op.Result = Cancel, Done
			r.cancelled = true
		default:
			o.op.Kind, o.op.Result = Close, Done
			r.closed = true
			r.drop(Closed, func(*asked) bool { return true })
		}
	}
	return p
}

func ofContext(o *play) bool { return o.op.Context }

// unseen returns one of those acquires that have not returned yet.
func (p *played) unseen(rng *rand.Rand, of func(*play) bool) *play {
	var all []*play
	for _, o := range p.plays {
		if o.ask != nil && o.op.Result == None && of(o) {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[rng.IntN(len(all))]
}

// history gives each operation a time around its steps, at random, the longer the wider.
func (p *played) history(rng *rand.Rand, width float64) (size int64, ops []Op) {
	type moment struct {
		at float64
		to *int64
	}
	var moments []moment
	ops = make([]Op, len(p.plays))
	for i, o := range p.plays {
		if o.ask != nil && o.op.Result == None && o.ask.fate != None {
			o.op.Result = o.ask.fate
			o.last = o.ask.ended
		}
		ops[i] = o.op
		moments = append(moments, moment{float64(o.first) - 0.1 - width*rng.Float64(), &ops[i].Call})
		if ops[i].Return = Never; o.op.Result != None {
			moments = append(moments, moment{float64(o.last) + 0.1 + width*rng.Float64(), &ops[i].Return})
		}
	}
	slices.SortFunc(moments, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	for i, m := range moments {
		*m.to = int64(i + 1)
	}
	rng.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
	return p.size, ops
}

// search is Check by trying everything: it goes through the events in the order of time, and
// between them lets any operation that is under way take its next step.
func search(size int64, ops []Op) bool {
	var events []*int64 // where the times are
	for i := range ops {
		events = append(events, &ops[i].Call)
		if ops[i].Return != Never {
			events = append(events, &ops[i].Return)
		}
	}
	slices.SortFunc(events, func(a, b *int64) int { return cmp.Compare(*a, *b) })
	s := &searcher{ops: ops, events: events, seen: map[string]bool{}}
	return s.from(0, make([]int, len(ops)), newReplay(size, len(ops)))
}

type searcher struct {
	ops    []Op
	events []*int64
	seen   map[string]bool
}

// replay is the reference in a form that can be copied: the requests by the index of their
// operation.
type replay struct {
	reference
	asks []asked
}

func newReplay(size int64, n int) *replay {
	return &replay{reference{size: size, avail: size}, make([]asked, n)}
}

func (r *replay) clone() *replay {
	c := &replay{r.reference, slices.Clone(r.asks)}
	c.line = nil
	for _, a := range r.line {
		for i := range r.asks {
			if a == &r.asks[i] {
				c.line = append(c.line, &c.asks[i])
			}
		}
	}
	return c
}

func (r *replay) key(i int, steps []int) string {
	var b strings.Builder
	fmt.Fprint(&b, i, steps, r.size, r.avail, r.closed, r.cancelled)
	for j := range r.asks {
		fmt.Fprint(&b, " ", r.asks[j].fate, slices.Index(r.line, &r.asks[j]))
	}
	return b.String()
}

// from reports whether the history can go on from before event i. steps has how many each operation
// has taken.
func (s *searcher) from(i int, steps []int, r *replay) bool {
	key := r.key(i, steps)
	if ok, seen := s.seen[key]; seen {
		return ok
	}
	ok := s.event(i, steps, r)
	for j := 0; j < len(s.ops) && !ok; j++ {
		if i == 0 || *s.events[i-1] < s.ops[j].Call || i < len(s.events) && *s.events[i] <= s.ops[j].Call {
			continue // has not begun
		}
		if next := r.clone(); s.step(&s.ops[j], j, steps[j], i, next) {
			after := slices.Clone(steps)
			after[j]++
			ok = s.from(i, after, next)
		}
	}
	s.seen[key] = ok
	return ok
}

// event goes on to event i, if that may come now.
func (s *searcher) event(i int, steps []int, r *replay) bool {
	if i == len(s.events) {
		for j := range s.ops {
			o := &s.ops[j]
			if o.Return == Never && (slices.Index(r.line, &r.asks[j]) < 0 || o.Context && r.cancelled) {
				return false
			}
			if s.ops[j].Result == Abandoned && steps[j] < 3 {
				return false
			}
		}
		return true
	}
	for j := range s.ops {
		o := &s.ops[j]
		// The permits of an abandoned request may be on their way until the last operation returns
		// that can have granted them.
		if o.Result == Abandoned && steps[j] < 3 && *s.events[i] == s.until(o) {
			return false
		}
		if s.events[i] != &o.Return {
			continue
		}
		switch {
		case o.Kind != Acquire:
			if steps[j] < 1 {
				return false
			}
		case o.Result == Cancelled || o.Result == Abandoned:
			if steps[j] < 2 {
				return false
			}
		case r.asks[j].fate != o.Result:
			return false
		}
	}
	return s.from(i+1, steps, r)
}

func (s *searcher) until(o *Op) int64 {
	t := o.Return
	for _, g := range s.ops {
		switch {
		case g.Call > o.Return || g.Return < o.Return:
		case g.Kind == Release, g.Kind == Resize, g.Kind == Acquire && (g.Result == Cancelled || g.Result == Abandoned):
			t = max(t, g.Return)
		}
	}
	return t
}

// step has operation o, the j-th, take its next step, after k others.
func (s *searcher) step(o *Op, j, k, i int, r *replay) bool {
	over := i > 0 && *s.events[i-1] >= o.Return
	switch {
	case o.Kind == Acquire && k == 0:
		r.asks[j].n, r.asks[j].context = o.N, o.Context
		r.ask(&r.asks[j])
		return !over
	case o.Kind == Acquire && k == 1 && (o.Result == Cancelled || o.Result == Abandoned):
		if o.Context && !r.cancelled {
			return false
		}
		switch back := r.withdraw(&r.asks[j]); {
		case back && o.Result == Abandoned:
			r.asks[j].fate = Abandoned
		case back:
			return !over && r.release(o.N)
		}
		return !over
	case k == 2 && o.Result == Abandoned:
		if r.asks[j].fate == Abandoned {
			r.asks[j].fate = Cancelled
			return r.release(o.N)
		}
		return true
	case k > 0:
		return false
	}
	switch o.Kind {
	case TryAcquire:
		return r.try(o.N) == (o.Result == Granted)
	case Release:
		return r.release(o.N) == (o.Result == Done)
	case Resize:
		r.resize(o.N)
	case Close:
		r.closed = true
		r.drop(Closed, func(*asked) bool { return true })
	case Cancel:
		r.cancelled = true
	}
	return true
}
