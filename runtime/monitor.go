package rt

import (
	"time"

	"github.com/farad-go/farad/internal/xsync"
)

// monitorEvery is the time between two looks of the monitor.
const monitorEvery = 5 * time.Millisecond

// A monitor relieves workers whose poll takes long. A woken task goes to the worker that polled it
// last, which looks at its inbox between two polls. That is fast, and leaves the other workers
// asleep. But a long poll would hold up all tasks of its worker.
//
// So the monitor asks each worker from time to time, and the worker answers between two polls. A
// worker that has not answered by the next look is in a long poll. The monitor moves all its ready
// tasks, from its inbox and its queue, to the injection queue, at this look and at each further one
// until the worker answers. All workers take tasks from there, however busy they are.
//
// # The bound
//
// No ready task waits forever while others run. Let B be 2·monitorEvery, 10 ms.
//
//  1. A worker between two polls: its queue is first in, first out, and has its turn after at most
//     maxRunNext tasks from the inbox and one from the injection queue.
//  2. A worker in a long poll: its ready tasks are in the injection queue after B. Tasks that come
//     in later do not change that, because the monitor looks at what the worker has done, not at
//     its inbox.
//  3. The injection queue is first in, first out. Each worker takes the oldest task at every
//     injectionEvery-th look, and before it falls asleep. So the k-th task is taken before any one
//     worker has made k·injectionEvery further polls.
//
// The bound assumes that the polls of some worker end. If none do, nothing can run.
//
// The monitor is a timer, not a goroutine, and runs only while a worker is awake.
type monitor struct {
	ex *scheduler

	mu      xsync.Mutex
	clock   alarm // all guarded by mu
	armed   bool
	stopped bool
	moved   uint64 // tasks, for Stats
}

// rouse starts the monitor when a worker has woken.
func (ex *scheduler) rouse() {
	m := ex.monitor
	if m == nil {
		return
	}
	m.mu.Lock()
	if !m.armed && !m.stopped {
		m.armed = true
		m.clock.Reset(monitorEvery)
	}
	m.mu.Unlock()
}

// tick is called by the alarm.
func (m *monitor) tick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	ex := m.ex
	if m.stopped || int(ex.idle.word.Load()&sleepingMask) == len(ex.workers) {
		m.armed = false
		return
	}
	m.look()
	m.clock.Reset(monitorEvery)
}

// look asks all workers, and relieves those that have not answered since the last look.
func (m *monitor) look() {
	ex := m.ex
	var late list
	for _, w := range ex.workers {
		switch {
		case w.inbox.top.Load() == &asleep: // nothing is ready, and the worker looks when it wakes
		case w.asked.Load():
			w.relieve(&late)
		default:
			w.asked.Store(true)
		}
	}
	if late.size > 0 {
		m.moved += uint64(late.size)
		ex.injection.append(&late)
		ex.notify()
	}
}

// relieve moves the ready tasks of w to late. If the worker polls after all, this is a theft like
// any other.
func (w *worker) relieve(late *list) {
	inbox := w.inbox.takeAll()
	for t := inbox.popFront(); t != nil; t = inbox.popFront() {
		late.pushBack(t)
	}
	for range int(ringSize) { // at most: the worker may refill it meanwhile
		t := w.ring.pop()
		if t == nil {
			break
		}
		late.pushBack(t)
	}
}

func (m *monitor) stop() {
	m.mu.Lock()
	m.stopped = true
	m.clock.Stop()
	m.mu.Unlock()
}
