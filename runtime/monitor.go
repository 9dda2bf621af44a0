package runtime

import (
	"sync"
	"time"
)

// monitorEvery is how often the monitor looks.
const monitorEvery = 5 * time.Millisecond

// A monitor sees to what a busy worker does not come to. A task that is woken goes to the worker that polled it last,
// which looks between two polls; that is quick and leaves the others asleep. But if a poll takes long, its inbox would
// wait as long. So the monitor looks now and then, and if the newest task of an inbox is the one that it has seen there
// before, the inbox is overdue: anybody may have it.
//
// It is a timer, not a goroutine, and runs only while some worker is awake.
type monitor struct {
	ex *Executor

	mu      sync.Mutex
	timer   *time.Timer // all guarded by mu
	armed   bool
	stopped bool
}

func newMonitor(ex *Executor) *monitor {
	m := &monitor{ex: ex}
	m.timer = time.AfterFunc(time.Hour, m.tick)
	m.timer.Stop()
	return m
}

// rouse is called when a worker has woken: there is something to look at.
func (ex *Executor) rouse() {
	m := ex.monitor
	if m == nil {
		return
	}
	m.mu.Lock()
	if !m.armed && !m.stopped {
		m.armed = true
		m.timer.Reset(monitorEvery)
	}
	m.mu.Unlock()
}

// tick looks.
func (m *monitor) tick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	ex := m.ex
	if m.stopped || int(ex.idle.word.Load()&sleepingMask) == len(ex.workers) {
		m.armed = false
		return
	}
	late := false
	for _, w := range ex.workers {
		top := w.inbox.top.Load()
		if top != nil && top != &asleep && top == w.seen {
			w.overdue.Store(true)
			late = true
		}
		w.seen = top
	}
	if late {
		ex.notify()
	}
	m.timer.Reset(monitorEvery)
}

func (m *monitor) stop() {
	m.mu.Lock()
	m.stopped = true
	m.timer.Stop()
	m.mu.Unlock()
}
