package waiting

import (
	"path"
	"reflect"

	"github.com/farad-go/farad/internal/xsync"
)

// A Future is a [waiter.Future], which converts to it: a node, and the request of a lock.
type Future struct {
	_ noCopy

	node  Waiter  // what stands in the line
	r     Request // kept for the next round; nil before the first Bind
	bound bool    // a round is under way
	seen  bool    // the record of the lock has the outcome
}

// The methods of a future are those of package waiter, which has their contracts.

// Poll makes the request if need be, and replaces the waker.
func (f *Future) Poll(waker Waker) bool {
	f.requireBound()
	s := f.node.Status()
	switch s {
	case StatusIdle:
		return f.start(waker)
	case StatusWaiting:
		s = f.node.Rearm(waker)
	default:
	}
	if s == StatusBusy && waker != nil {
		waker.Wake()
	}
	return s == StatusComplete
}

// Done makes the request if need be.
func (f *Future) Done() <-chan struct{} {
	f.requireBound()
	f.awaitClaimer()
	if f.node.Status() == StatusIdle {
		f.start(nil)
	}
	for { // At most two turns: after a claimer's last steps the request is complete.
		if ch := f.node.Chan(); ch != nil {
			return ch
		}
		f.awaitClaimer()
	}
}

// Complete only looks.
func (f *Future) Complete() bool { return f.node.Status() == StatusComplete }

// Err returns the outcome, and has the record see it once.
func (f *Future) Err() error {
	if f.node.Status() != StatusComplete {
		return ErrPending
	}
	f.node.forget()
	err := f.node.Outcome().Err()
	if !f.seen {
		f.seen = true
		if to := f.recorder(); to != nil {
			to.FutureSeen(&f.node, err)
		}
	}
	if err != nil {
		if r, ok := f.r.(Explainer); ok {
			return r.Explain(err, f.node.N)
		}
	}
	return err
}

// Take ends the round without a release.
func (f *Future) Take() error {
	err := f.Err()
	if err != nil {
		return err
	}
	f.node.Reset()
	f.bound = false
	if to := f.recorder(); to != nil {
		to.FutureEnded(&f.node)
	}
	return nil
}

// Release ends the round in every state.
func (f *Future) Release() {
	ok := false
	if to := f.recorder(); to != nil {
		ok = f.endRecorded(to)
	} else {
		ok = f.end()
	}
	if !ok {
		panic("farad: Release of a future whose grant the lock's own method has given back already, without Take")
	}
}

// endRecorded is end, recorded by to.
func (f *Future) endRecorded(to Recorder) bool {
	to.FutureReleasing(&f.node)
	defer to.FutureEnded(&f.node)
	return f.end()
}

// end reports false if the grant was given back by other means.
func (f *Future) end() bool {
	f.bound = false
	switch f.node.Status() {
	case StatusIdle:
		return true
	case StatusComplete:
	default:
		if f.r.Unlink(&f.node) {
			f.node.Reset()
			return true
		}
		if f.node.Abandon() {
			return true
		}
		if f.node.Status() != StatusComplete {
			return true // ended twice: it has been left to its claimer
		}
	}
	mine := f.node.Outcome() == Granted
	n := f.node.N
	f.node.Reset()
	return !mine || n == 0 || f.r.GiveBack(n)
}

// String names the package of the lock, which may stand behind its request.
func (f *Future) String() string {
	if f.r == nil {
		return "future of no lock"
	}
	lock := any(f.r)
	if r, ok := lock.(interface{ Behind() any }); ok {
		lock = r.Behind()
	}
	t := reflect.TypeOf(lock)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return "future of package " + path.Base(t.PkgPath())
}

// start makes the request, and reports whether it is complete.
func (f *Future) start(waker Waker) bool {
	f.seen = false
	o := f.r.Start(&f.node, waker)
	if o == Pending {
		return false
	}
	f.node.Finish(o)
	return true
}

func (f *Future) requireBound() {
	if !f.bound {
		panic("farad: future without Bind")
	}
}

// awaitClaimer waits for the last steps of a claimer that has begun with this node.
func (f *Future) awaitClaimer() {
	for f.node.Status() == StatusBusy {
		xsync.Yield()
	}
}

// recorder returns what records the rounds of f, nil if nothing does.
func (f *Future) recorder() Recorder {
	if !mayRecord() {
		return nil
	}
	return f.recorderSlow()
}

func (f *Future) recorderSlow() Recorder {
	if r, ok := f.r.(Recorded); ok {
		return r.Recorder()
	}
	return nil
}

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
