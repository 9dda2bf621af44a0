package order

import (
	queue "container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// A sim is a semaphore in virtual time whose line is an Order. Like the engine, it keeps one
// request staged: popped, and granted as soon as its permits are free.
type sim struct {
	t      testing.TB
	order  *Order
	now    int64
	free   int64
	size   int64
	staged *job
	due    events
	jobs   map[*waiting.Waiter]*job
	rng    *rand.Rand
}

// A job is a request, and for how long it holds its permits.
type job struct {
	w        waiting.Waiter
	tenant   any
	hold     time.Duration
	deadline int64
	arrived  int64
	wait     time.Duration // of a request that was granted
	done     func()        // when it has released its permits
	lost     func()        // when it was shed
	outcome  waiting.Outcome
	expired  bool          // it was given up at its deadline
	delay    time.Duration // as it was predicted when it came
	cost     int64         // of DebitCost only
}

type event struct {
	at  int64
	seq int
	do  func()
}

type events struct {
	list []event
	seq  int
}

func (e *events) Len() int { return len(e.list) }
func (e *events) Less(i, j int) bool {
	a, b := e.list[i], e.list[j]
	return a.at < b.at || a.at == b.at && a.seq < b.seq
}
func (e *events) Swap(i, j int) { e.list[i], e.list[j] = e.list[j], e.list[i] }
func (e *events) Push(x any)    { e.list = append(e.list, x.(event)) }
func (e *events) Pop() any {
	x := e.list[len(e.list)-1]
	e.list = e.list[:len(e.list)-1]
	return x
}

func newSim(t testing.TB, permits int64, c Config) *sim {
	return &sim{
		t: t, order: New(c), now: 1, free: permits, size: permits, jobs: map[*waiting.Waiter]*job{},
		rng: rand.New(rand.NewPCG(1, 2)),
	}
}

func (s *sim) after(d time.Duration, do func()) {
	s.due.seq++
	queue.Push(&s.due, event{s.now + int64(d), s.due.seq, do})
}

// run lets the time pass.
func (s *sim) run(d time.Duration) {
	end := s.now + int64(d)
	for s.due.Len() > 0 && s.due.list[0].at <= end {
		e := queue.Pop(&s.due).(event)
		s.now = e.at
		e.do()
	}
	s.now = end
}

// exp is a random time whose distribution is exponential.
func (s *sim) exp(mean time.Duration) time.Duration {
	return time.Duration(s.rng.ExpFloat64() * float64(mean))
}

// ask has j ask for n permits.
func (s *sim) ask(j *job, n int64) {
	j.w.N, j.arrived = n, s.now
	if s.staged == nil && s.free >= n {
		s.grant(j)
		return
	}
	s.jobs[&j.w] = j
	j.delay = s.order.Delay(j.tenant, s.order.Weigh(j.tenant), n)
	j.w.Arm(waiter.WakerFunc(func() {
		j.outcome = j.w.Outcome()
		delete(s.jobs, &j.w)
		if j.lost != nil {
			j.lost()
		}
	}))
	staged := s.staged != nil
	var wake waiting.WakeList
	by := By{j.tenant, s.order.Weigh(j.tenant), j.deadline, s.size}
	ticket, outcome := s.order.Push(&j.w, &by, s.now, staged, &wake)
	if outcome != waiting.Pending {
		j.outcome = outcome
		j.w.Reset()
		delete(s.jobs, &j.w)
	} else if j.deadline != 0 {
		s.after(time.Duration(j.deadline-s.now), func() { s.expire(j, ticket) })
	}
	if !staged {
		s.stage(&wake)
	}
	wake.Wake()
}

// expire gives j up, if it waits still.
func (s *sim) expire(j *job, ticket *Ticket) {
	switch {
	case s.order.Remove(ticket, &j.w):
		delete(s.jobs, &j.w)
		j.expired = true
	case s.staged == j:
		j.expired = true
		var wake waiting.WakeList
		s.stage(&wake)
		wake.Wake()
		s.release(0) // to who may need less
	}
}

func (s *sim) stage(wake *waiting.WakeList) {
	s.staged = nil
	if w := s.order.Pop(s.now, wake); w != nil {
		s.staged = s.jobs[w]
		delete(s.jobs, w)
	}
}

func (s *sim) grant(j *job) {
	s.free -= j.w.N
	j.outcome, j.wait = waiting.Granted, time.Duration(s.now-j.arrived)
	s.after(j.hold, func() {
		s.release(j.w.N)
		if j.done != nil {
			j.done()
		}
	})
}

func (s *sim) release(n int64) {
	var wake waiting.WakeList
	s.free += n
	for s.staged != nil && s.free >= s.staged.w.N {
		s.grant(s.staged)
		s.stage(&wake)
	}
	wake.Wake()
}

// loop has a client ask again and again.
func (s *sim) loop(tenant any, n func() int64, hold func() time.Duration, granted func(j *job)) {
	var again func()
	again = func() {
		j := &job{tenant: tenant, hold: hold()}
		j.done = func() {
			granted(j)
			again()
		}
		s.ask(j, n())
	}
	again()
}

// open has requests for one permit come at random, so many a second, for as long as d. next makes
// them.
func (s *sim) open(rate float64, d time.Duration, next func() *job) (all []*job) {
	end := s.now + int64(d)
	for {
		s.run(s.exp(time.Duration(float64(time.Second) / rate)))
		if s.now >= end {
			return all
		}
		j := next()
		all = append(all, j)
		s.ask(j, 1)
	}
}
