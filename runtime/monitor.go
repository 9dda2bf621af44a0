package rt

import (
	"time"

	"github.com/farad-go/farad/internal/xsync"
)

// monitorEvery is how often the monitor looks.
const monitorEvery = 5 * time.Millisecond

// A monitor sees to what a blocked worker does not come to. A task that is woken goes to the worker
// that polled it last, which looks between two polls. That is quick, and leaves the others asleep.
// But if a poll takes long, what that worker has would wait as long.
//
// So the monitor asks each worker now and then, and the worker answers between two polls. One that
// has not answered by the next look is in a poll that takes long. The monitor moves all that this
// worker has ready, its inbox and its queue, to the injection queue, at this and at every further
// look until the worker answers. There every worker looks, however busy it is.
//
// # The bound
//
// Nothing that is ready waits for ever while others run. Let B be 2·monitorEvery, 10 ms.
//
//  1. A worker between two polls: its queue is first in, first out, and has its turn after at most
//     maxRunNext tasks from the inbox and one from the injection queue.
//  2. A worker in a poll that takes long: what it has ready is in the injection queue after B. This
//     does not depend on what comes in later, because the monitor looks at what the worker has
//     done, and not at what is in its inbox.
//  3. The injection queue is first in, first out. Each worker takes the oldest at every
//     injectionEvery-th look for a task, and before it falls asleep. So the k-th task is taken
//     before any one worker has made k·injectionEvery further polls.
//
// All of it supposes that some worker's polls end. If none does, nothing can run.
//
// It is a timer, not a goroutine, and runs only while some worker is awake.
type monitor struct {
	ex *scheduler

	mu      xsync.Mutex
	clock   alarm // all guarded by mu
	armed   bool
	stopped bool
	moved   uint64 // tasks, for Stats
}

// rouse is called when a worker has woken: there is something to look at.
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
		case w.inbox.top.Load() == &asleep: // nothing is ready there, and it will look
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

// relieve takes what w has ready. The worker may be at work all the same: then it is a theft like
// any other.
func (w *worker) relieve(late *list) {
	inbox := w.inbox.takeAll()
	for t := inbox.popFront(); t != nil; t = inbox.popFront() {
		late.pushBack(t)
	}
	for range int(ringSize) { // and no more: the worker may fill it meanwhile
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
