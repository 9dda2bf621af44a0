package rt

import (
	"reflect"

	"github.com/farad-go/farad/waiter"
)

// Select waits in a straight-line task for the first of several futures, and returns its index and
// its Err. The others are cancelled; of what they were being granted nothing is lost. If several
// are complete at the same time, the first of them in the list wins: so what matters more comes
// first. It allocates nothing.
//
// If the task is cancelled, all futures are, and Select returns -1 and [ErrCancelled].
func Select(cx *Context, fs ...Future) (int, error) {
	if len(fs) == 0 {
		panic("rt: Select of nothing")
	}
	checkNil("Select", fs)
	if len(fs) <= few { // of more pollFirst looks, when it makes a difference: a look at all pairs would take too long
		checkPairs("Select", fs)
	}
	t := cx.straightLine()
	for {
		if t.isCancelled() {
			cancelBut(fs, -1, t.cancel)
			return -1, ErrCancelled
		}
		if i := pollFirst(fs, t.poll, t.cancel); i >= 0 {
			if cx.spent() {
				cx.pause()
			}
			return i, fs[i].Err()
		}
		t.waits = selected(min(len(fs), 255))
		cx.pause()
		t.waits = nil
	}
}

// pollFirst polls the futures in turn until one is complete, cancels the others and returns its
// index; otherwise -1.
func pollFirst(fs []Future, poll func(Future) bool, cancel func(Future)) int {
	for i, f := range fs {
		if poll(f) {
			if len(fs) > few {
				checkWinner(fs, i, cancel)
			}
			cancelBut(fs, i, cancel)
			return i
		}
	}
	return -1
}

func cancelBut(fs []Future, winner int, cancel func(Future)) {
	for i, f := range fs {
		if i != winner {
			cancel(f)
		}
	}
}

// checkList panics if a future is nil, or twice in the list: a select would cancel the one that
// has won, and a join would take one permit for two.
func checkList(what string, fs []Future) {
	checkNil(what, fs)
	if len(fs) <= few {
		checkPairs(what, fs)
		return
	}
	seen := make(map[Future]struct{}, len(fs))
	for _, f := range fs {
		if !isObject(f) {
			continue
		}
		if _, twice := seen[f]; twice {
			panicTwice(what)
		}
		seen[f] = struct{}{}
	}
}

func checkNil(what string, fs []Future) {
	for _, f := range fs {
		if f == nil {
			panic("rt: nil future in " + what)
		}
	}
}

func checkPairs(what string, fs []Future) {
	for i, f := range fs {
		for _, g := range fs[:i] {
			if same(f, g) {
				panicTwice(what)
			}
		}
	}
}

// checkWinner panics if the winner is among the losers, too, after it has cancelled them all.
func checkWinner(fs []Future, winner int, cancel func(Future)) {
	for i, f := range fs {
		if i != winner && same(f, fs[winner]) {
			cancelBut(fs, -1, cancel)
			panicTwice("Select")
		}
	}
}

func panicTwice(what string) { panic("rt: the same future twice in " + what) }

// same reports whether two futures are one.
func same(f, g Future) bool {
	return reflect.TypeOf(f) == reflect.TypeOf(g) && isObject(f) && f == g
}

// isObject reports whether f is a pointer to something: only then are equal futures the same one.
func isObject(f Future) bool {
	t := reflect.TypeOf(f)
	return t.Kind() == reflect.Pointer && t.Elem().Size() > 0
}

// FirstOf returns the futures as one, which completes with the first of them. See [Select].
func FirstOf(fs ...Future) *First {
	if len(fs) == 0 {
		panic("rt: the first of no futures")
	}
	checkList("FirstOf", fs)
	return &First{fs: fs, winner: -1}
}

// First is the first of several futures: see [FirstOf].
type First struct {
	fs     []Future
	winner int
}

// Poll reports whether one of the futures is complete. The first that is found so has won, and the
// others are cancelled.
func (f *First) Poll(w waiter.Waker) bool {
	if f.winner < 0 {
		f.winner = pollFirst(f.fs, func(g Future) bool { return g.Poll(w) }, Future.Cancel)
	}
	return f.winner >= 0
}

// Index returns which future has won, -1 if none has.
func (f *First) Index() int { return f.winner }

// Err returns that of the winner, [waiter.ErrPending] without one.
func (f *First) Err() error {
	if f.winner < 0 {
		return waiter.ErrPending
	}
	return f.fs[f.winner].Err()
}

// Cancel cancels all of the futures. Afterwards they can race again.
func (f *First) Cancel() {
	f.winner = -1
	cancelBut(f.fs, -1, Future.Cancel)
}

// selected stands in a task for the number of futures that it selects on.
type selected uint8
