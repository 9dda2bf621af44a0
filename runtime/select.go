package runtime

import "github.com/farad-go/farad/waiter"

// Select waits in a straight-line task for the first of several futures, and returns its index and its Err. The others
// are cancelled; of what they were being granted nothing is lost. If several are complete at the same time, the first
// of them in the list wins: so what matters more comes first. It allocates nothing.
//
// If the task is cancelled, all futures are, and Select returns -1 and [ErrCancelled].
func Select(cx *Context, fs ...Future) (int, error) {
	if len(fs) == 0 {
		panic("runtime: Select of nothing")
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

// pollFirst polls the futures in turn until one is complete, cancels the others and returns its index; otherwise -1.
func pollFirst(fs []Future, poll func(Future) bool, cancel func(Future)) int {
	for i, f := range fs {
		if poll(f) {
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

// FirstOf returns the futures as one, which completes with the first of them. See [Select].
func FirstOf(fs ...Future) *First {
	if len(fs) == 0 {
		panic("runtime: the first of no futures")
	}
	return &First{fs: fs, winner: -1}
}

// First is the first of several futures: see [FirstOf].
type First struct {
	fs     []Future
	winner int
}

// Poll reports whether one of the futures is complete. The first that is found so has won, and the others are cancelled.
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
