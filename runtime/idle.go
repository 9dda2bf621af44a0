package rt

import (
	"slices"

	"github.com/farad-go/farad/internal/xsync"
)

// idle knows which workers sleep, and how many search: those are awake without a task.
//
// A worker that finds no task falls asleep. It is woken in one of two ways. A woken task goes into
// the inbox of the worker that polled it last, and the waker that finds this inbox asleep wakes its
// worker. Work for any worker (in the injection queue, or in the queue of a busy worker) wakes one
// sleeping worker if none is searching. That worker searches, and wakes the next one if it finds
// more than it takes.
//
// Why no work waits while a worker sleeps and none is busy:
//
//  1. Work for one worker: the push into the inbox and falling asleep are compare-and-swaps of one
//     word. The second of them sees the first. (TestModel/park/wake)
//  2. Work for any worker: it is in its queue before its producer reads the word. If the word
//     shows a searching worker, that worker either finds a task, and looks again at the word and
//     the queues after it has stopped searching (endSearch); or it falls asleep, and looks again
//     at the queues after its inbox says so (sleep). If it then finds work, it searches again. If
//     the word shows no sleeper, a worker that falls asleep later looks after that.
//     (TestModelLarge/park)
//  3. Only a worker counts itself as searching, or the waker that wakes it does: the count never
//     includes a worker that does not run.
type idle struct {
	word xsync.Uint32 // searching workers · 2¹⁶ + sleeping ones

	mu       xsync.Mutex
	sleepers []*worker // guarded by mu
}

const (
	oneSleeping  = uint32(1)
	oneSearching = uint32(1) << 16
	sleepingMask = oneSearching - 1
)

// wanted reports whether to wake a worker for work that any worker may take.
func (i *idle) wanted() bool {
	s := i.word.Load()
	return s&sleepingMask != 0 && s < oneSearching
}

// sub subtracts d from the word.
func (i *idle) sub(d uint32) { i.word.Add(-d) }

// enter lists w as sleeping.
func (i *idle) enter(w *worker) {
	i.mu.Lock()
	d := oneSleeping
	if w.searching {
		w.searching = false
		d -= oneSearching
	}
	i.word.Add(d)
	w.listed = true
	i.sleepers = append(i.sleepers, w)
	i.mu.Unlock()
}

// leave takes w off the list, unless its waker has done so.
func (i *idle) leave(w *worker) {
	i.mu.Lock()
	if w.listed {
		i.remove(w)
	}
	i.mu.Unlock()
}

// resume is leave for a worker that did not sleep after all. The worker counts as searching again:
// there may be more work than it has seen, from producers that relied on the search that it gave
// up.
func (i *idle) resume(w *worker) {
	i.mu.Lock()
	i.remove(w)
	if !w.solo {
		w.searching = true
		i.word.Add(oneSearching)
	}
	i.mu.Unlock()
}

func (i *idle) remove(w *worker) {
	k := slices.Index(i.sleepers, w)
	i.sleepers = slices.Delete(i.sleepers, k, k+1)
	w.listed = false
	i.sub(oneSleeping)
}

// wakeOne wakes the worker that fell asleep last, to search. Workers that are about to sleep or to
// wake look for themselves.
func (i *idle) wakeOne() {
	i.mu.Lock()
	var woken *worker
	if i.wanted() {
		for _, w := range slices.Backward(i.sleepers) {
			if w.inbox.wake() {
				woken = w
				w.searching = true
				i.word.Add(oneSearching)
				i.remove(w)
				break
			}
		}
	}
	i.mu.Unlock()
	if woken != nil {
		woken.sleeper.Wake(xsync.Token)
	}
}

// notify is called after adding work that any worker may take.
func (ex *scheduler) notify() {
	if ex.idle.wanted() {
		ex.idle.wakeOne()
	}
}

// offer is notify for a worker that has a task to poll, if there is more work.
func (ex *scheduler) offer() {
	if ex.idle.wanted() && ex.available(nil) {
		ex.idle.wakeOne()
	}
}

// available reports whether there is work that any worker may take, not counting the queue of
// itself.
func (ex *scheduler) available(itself *worker) bool {
	if ex.injection.some.Load() {
		return true
	}
	for _, w := range ex.workers {
		if w != itself && !w.ring.empty() {
			return true
		}
	}
	return false
}

// sleep lets the worker sleep until it is woken. It returns false when the executor has stopped.
func (w *worker) sleep() bool {
	ex := w.ex
	w.counts.publish()
	ex.idle.enter(w)
	// Work that was added before the inbox says that the worker sleeps found no sleeper. So the
	// worker looks again. If a waker has won the inbox already, its signal is on its way.
	if !w.inbox.sleep() || (ex.stopped.Load() || ex.available(w)) && w.inbox.wake() {
		ex.idle.resume(w)
	} else {
		w.ring.forget()
		w.sleeper.SleepInline()
		w.sleeper.Sleep()
		w.counts.wakes++
		ex.idle.leave(w)
	}
	ex.rouse()
	return !ex.stopped.Load()
}

// stop ends all workers: sleeping ones now, busy ones after their poll.
func (ex *scheduler) stop() {
	ex.stopped.Store(true)
	for _, w := range ex.workers {
		if w.inbox.wake() {
			w.sleeper.Wake(xsync.Token)
		}
	}
}
