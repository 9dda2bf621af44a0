package limitsim

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/farad-go/farad/internal/waiting"
)

// Bin is the time for which figures are kept apart.
const Bin = time.Second

// A Result is what came of a world.
type Result struct {
	World   string
	Limiter string

	Arrived, Refused, Good, Abandoned int

	Goodput float64       // Good ÷ what could have been answered in time: see Ideal
	P50     time.Duration // of the latencies of the admitted requests that were answered
	P99     time.Duration

	Highest int64           // limit that was seen
	Limits  []int64         // at the end of each bin
	Goods   []int           // of each bin, by the time of the answer
	Mean    []time.Duration // latency of those
	Ideal   []float64       // of each bin: the arrivals or the capacity, whichever is less

	// Converge is how long it took, after each step of the capacity, until three bins were good:
	// nine tenths of Ideal were answered, after half of the deadline on average; -1 if they never
	// were. Phases are the goodputs from a step to the next one.
	Converge []time.Duration
	Phases   []float64
}

type kind uint8

const (
	arrival kind = iota
	finished
	deadline
	look // at the limit
)

type event struct {
	at  time.Duration
	seq int // events of one time happen in the order in which they were planned
	kind
	*request
}

type events []event

func (e events) Len() int      { return len(e) }
func (e events) Swap(i, k int) { e[i], e[k] = e[k], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }

func (e events) Less(i, k int) bool {
	return e[i].at < e[k].at || e[i].at == e[k].at && e[i].seq < e[k].seq
}

func (e *events) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}

type request struct {
	Request
	permit  Permit
	working bool
	ended   bool
}

type run struct {
	*World
	limiter Limiter
	rand    *rand.Rand
	start   time.Time

	plan    events
	seq     int
	line    []*request // admitted, and no server has begun; ended ones are skipped
	busy    int
	answers []time.Duration
	result  *Result
	arrived []int // of each bin
}

// Run returns what a limiter makes of the world. It panics outside of a bubble, where it would take
// as long as it says.
func (w *World) Run(name string, l Limiter, seed uint64) *Result {
	if !waiting.InBubble() {
		panic("limitsim: Run outside of a bubble")
	}
	bins := int(w.Lasts / Bin)
	r := &run{
		World: w, limiter: l, rand: rand.New(rand.NewPCG(seed, 1)), start: time.Now(),
		result: &Result{
			World: w.Name, Limiter: name,
			Goods: make([]int, bins), Mean: make([]time.Duration, bins), Ideal: make([]float64, bins),
		},
		arrived: make([]int, bins),
	}
	r.next(0)
	for bin := range bins {
		r.at(Bin*time.Duration(bin+1)-1, look, nil)
	}
	for len(r.plan) > 0 {
		e := heap.Pop(&r.plan).(event)
		if e.at >= w.Lasts {
			break
		}
		time.Sleep(e.at - time.Since(r.start))
		r.happens(e)
	}
	r.finish()
	return r.result
}

func (r *run) at(t time.Duration, k kind, q *request) {
	r.seq++
	heap.Push(&r.plan, event{t, r.seq, k, q})
}

// next plans the next arrival.
func (r *run) next(after time.Duration) {
	if q, ok := r.Arrivals(r.rand, after); ok {
		r.at(q.At, arrival, &request{Request: q})
	}
}

func (r *run) happens(e event) {
	switch e.kind {
	case arrival:
		r.next(e.at)
		r.arrives(e.at, e.request)
	case finished:
		if !e.ended {
			r.ends(e.at, e.request)
			e.permit.Success()
			r.result.Good++
			r.result.Goods[e.at/Bin]++
			r.result.Mean[e.at/Bin] += e.at - e.At // divided at the end
			r.answers = append(r.answers, e.at-e.At)
		}
	case deadline:
		if !e.ended {
			r.ends(e.at, e.request)
			e.permit.Dropped()
			r.result.Abandoned++
		}
	case look:
		r.result.Limits = append(r.result.Limits, r.limiter.Limit())
		r.serve(e.at) // in case that servers were added
	}
	r.result.Highest = max(r.result.Highest, r.limiter.Limit())
}

func (r *run) arrives(at time.Duration, q *request) {
	r.result.Arrived++
	r.arrived[at/Bin]++
	var ok bool
	if q.permit, ok = r.limiter.TryAcquire(); !ok {
		r.result.Refused++
		return
	}
	r.at(at+r.Deadline, deadline, q)
	r.line = append(r.line, q)
	r.serve(at)
}

// ends takes a request out of the service, whether a server has begun with it or not.
func (r *run) ends(at time.Duration, q *request) {
	q.ended = true
	if q.working {
		r.busy--
		r.serve(at)
	}
}

// serve gives the servers that are free the requests that came first.
func (r *run) serve(at time.Duration) {
	for r.busy < r.Servers(at) && len(r.line) > 0 {
		q := r.line[0]
		r.line = r.line[1:]
		if q.ended {
			continue
		}
		work := q.Work
		if r.Slower != nil {
			work = time.Duration(float64(work) * r.Slower(at))
		}
		q.working = true
		r.busy++
		r.at(r.World.ends(at, max(1, work)), finished, q)
	}
}

func (r *run) finish() {
	o := r.result
	ideal := 0.0
	for i := range o.Ideal {
		at := Bin * time.Duration(i)
		o.Ideal[i] = min(float64(r.arrived[i]), r.Capacity(at)*Bin.Seconds())
		ideal += o.Ideal[i]
		o.Mean[i] /= time.Duration(max(1, o.Goods[i]))
	}
	o.Goodput = float64(o.Good) / ideal
	slices.Sort(r.answers)
	if n := len(r.answers); n > 0 {
		o.P50, o.P99 = r.answers[n/2], r.answers[n*99/100]
	}
	for i, step := range r.Steps {
		end := r.Lasts
		if i+1 < len(r.Steps) {
			end = min(end, r.Steps[i+1])
		}
		o.Converge = append(o.Converge, o.converged(step, end, r.Deadline/2))
		good, ideal := o.between(int(step/Bin), int(end/Bin))
		o.Phases = append(o.Phases, good/ideal)
	}
}

// between returns what was answered from one bin up to another, and what could have been.
func (o *Result) between(from, to int) (good, ideal float64) {
	for i := from; i < to; i++ {
		good += float64(o.Goods[i])
		ideal += o.Ideal[i]
	}
	return good, ideal
}

const (
	together   = 3   // bins in which enough is answered: fewer would be chance
	sufficient = 0.9 // of what could have been
)

// converged returns the time from a step until enough is answered, soon enough on average; -1 if
// that is not before the end.
func (o *Result) converged(step, end, soon time.Duration) time.Duration {
	for bin := int(step / Bin); bin+together <= int(end/Bin); bin++ {
		good, ideal := o.between(bin, bin+together)
		if good >= sufficient*ideal && slices.Max(o.Mean[bin:bin+together]) <= soon {
			return Bin*time.Duration(bin) - step
		}
	}
	return -1
}
