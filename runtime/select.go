package rt

import (
	"reflect"

	"github.com/farad-go/farad/waiter"
)

// Select waits in a straight-line task for the first of several futures. It returns the index of
// that future and its Err, and releases the others. The winner keeps what it has obtained. If
// several are complete, the first of them in the list wins. Select panics if the list is empty, or
// if a future is nil or found twice in it. It allocates nothing.
//
// If the task is aborted, Select releases all futures and returns -1 and [ErrCancelled].
func Select(cx *Context, fs ...Future) (int, error) {
	if len(fs) == 0 {
		panic("rt: Select of nothing")
	}
	checkNil("Select", fs)
	if len(fs) <= few { // All pairs of more would take too long: pollFirst looks when it matters.
		checkPairs("Select", fs)
	}
	t := cx.straightLine()
	for {
		if t.isCancelled() {
			releaseBut(fs, -1, t.release)
			return -1, ErrCancelled
		}
		if i := pollFirst(fs, t.poll, t.release); i >= 0 {
			if cx.spent() {
				cx.pause()
			}
			return i, fs[i].Err()
		}
		t.waits = selected(min(len(fs), 255))
		if t.ex.attended.Load() {
			t.noteSelect(fs)
		}
		cx.pause()
		t.waits = nil
	}
}

// pollFirst polls the futures in turn until one is complete. It then releases the others and
// returns the index. Otherwise it returns -1.
func pollFirst(fs []Future, poll func(Future) bool, release func(Future)) int {
	for i, f := range fs {
		if poll(f) {
			if len(fs) > few {
				checkWinner(fs, i, release)
			}
			releaseBut(fs, i, release)
			return i
		}
	}
	return -1
}

func releaseBut(fs []Future, winner int, release func(Future)) {
	for i, f := range fs {
		if i != winner {
			release(f)
		}
	}
}

// checkList panics if a future is nil, or twice in the list. A select would release the winner, and
// a join would take one permit for two.
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

// checkWinner panics if the winner is also among the losers, after it has released all.
func checkWinner(fs []Future, winner int, release func(Future)) {
	for i, f := range fs {
		if i != winner && same(f, fs[winner]) {
			releaseBut(fs, -1, release)
			panicTwice("Select")
		}
	}
}

func panicTwice(what string) { panic("rt: the same future twice in " + what) }

// same reports whether f and g are the same future.
func same(f, g Future) bool {
	return reflect.TypeOf(f) == reflect.TypeOf(g) && isObject(f) && f == g
}

// isObject reports whether f is a pointer to a type that is not empty. Only then are equal futures
// the same.
func isObject(f Future) bool {
	t := reflect.TypeOf(f)
	return t.Kind() == reflect.Pointer && t.Elem().Size() > 0
}

// FirstOf returns a Future that completes with the first of the futures, and releases the others.
// See [Select].
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

// Poll polls the futures in turn. The first that is complete wins, and the others are released.
func (f *First) Poll(w waiter.Waker) bool {
	if f.winner < 0 {
		f.winner = pollFirst(f.fs, func(g Future) bool { return g.Poll(w) }, Future.Release)
	}
	return f.winner >= 0
}

// Index returns the index of the winner, or -1.
func (f *First) Index() int { return f.winner }

// Err returns the Err of the winner, or [waiter.ErrPending] if there is none.
func (f *First) Err() error {
	if f.winner < 0 {
		return waiter.ErrPending
	}
	return f.fs[f.winner].Err()
}

// Release releases all futures. They can then race again, once those of locks are bound again.
func (f *First) Release() {
	f.winner = -1
	releaseBut(f.fs, -1, Future.Release)
}

// selected stands in Task.waits for the number of futures of a select.
type selected uint8
