package rt

import (
	"slices"

	"github.com/farad-go/farad/internal/xsync"
)

// idle knows which workers sleep, and how many are awake without work, searching.
//
// A worker that finds nothing falls asleep, and is woken in one of two ways. A task that wakes goes
// into the inbox of the worker that polled it last, and whoever finds that inbox asleep wakes its
// worker. Work that anybody may take (the injection queue, what a busy worker has in its queue)
// wakes one worker, if one sleeps and none is searching; that one searches, and when it has found
// something it wakes the next if there is more.
//
// Why no work is left lying while a worker sleeps and none is busy:
//
//  1. Work for one worker: the push into its inbox and its falling asleep are compare-and-swaps of
//     one word. Whichever is second sees the first. (TestModel/park/wake)
//  2. Work for anybody: it is in its queue before the word is looked at. If the word shows a
//     searching worker, that worker either finds something, and looks once more at the word and the
//     queues after it has left off searching (endSearch), or it falls asleep, and looks at the
//     queues once more after its inbox says so (sleep); if it finds something then, it is searching
//     again. If the word shows nobody asleep, a worker that falls asleep later looks after that,
//     too. (TestModelLarge/park)
//  3. "searching" is counted up only by a worker for itself, or together with waking one: it never
//     speaks of nobody.
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

// wanted reports whether a worker should be woken for work that anybody may take.
func (i *idle) wanted() bool {
	s := i.word.Load()
	return s&sleepingMask != 0 && s < oneSearching
}

// sub takes d off the word.
func (i *idle) sub(d uint32) { i.word.Add(-d) }

// enter lists w among the sleepers.
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

// leave takes w off the list, unless that was done by whoever woke it.
func (i *idle) leave(w *worker) {
	i.mu.Lock()
	if w.listed {
		i.remove(w)
	}
	i.mu.Unlock()
}

// resume is leave for a worker that has not slept after all. It counts as searching again: there
// may be more work than the piece that it has seen, put in by those who relied on the search that
// it had just given up.
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

// wakeOne wakes the worker that fell asleep last, to search. Those that are on their way, in or
// out, look by themselves.
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
		woken.signal.Send()
	}
}

// notify is called when there is work that anybody may take.
func (ex *scheduler) notify() {
	if ex.idle.wanted() {
		ex.idle.wakeOne()
	}
}

// offer is notify for a worker that has a task in hand, if there are more.
func (ex *scheduler) offer() {
	if ex.idle.wanted() && ex.available(nil) {
		ex.idle.wakeOne()
	}
}

// available reports whether there is work that anybody may take; anybody but the worker itself, if
// one is given.
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

// sleep has the worker sleep until it is woken. It returns false when the executor has stopped.
func (w *worker) sleep() bool {
	ex := w.ex
	w.counts.publish()
	ex.idle.enter(w)
	// What came before the inbox says that the worker sleeps looked for a sleeper in vain. So this
	// one looks again; if somebody has undertaken to wake it already, the signal is on its way.
	if !w.inbox.sleep() || (ex.stopped.Load() || ex.available(w)) && w.inbox.wake() {
		ex.idle.resume(w)
	} else {
		w.ring.forget()
		w.signal.Receive()
		w.counts.wakes++
		ex.idle.leave(w)
	}
	ex.rouse()
	return !ex.stopped.Load()
}

// stop ends all workers: those that are busy after their poll, the others now.
func (ex *scheduler) stop() {
	ex.stopped.Store(true)
	for _, w := range ex.workers {
		if w.inbox.wake() {
			w.signal.Send()
		}
	}
}
