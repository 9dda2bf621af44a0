//go:build interleave

package engine

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/waiter"
)

// newNeighbours returns two biased locks that have one table, and one column in it, as any two
// locks of a process may.
func newNeighbours(x *interleave.Run, rows int) (a, b *world) {
	biased := scenario{base: Everyone, size: Everyone, bias: true}
	a, b = newWorld(x, biased), newWorld(x, biased)
	shared := newTable(rows)
	for i, w := range []*world{a, b} {
		w.e.Opts.bias.table, w.e.Opts.bias.id = shared, int64(i+1)
	}
	return a, b
}

// Two locks whose readers hide in the same slots: neither counts the other's readers as its own, or
// lets them keep out its writers, whichever lock ends its bias. A reader that finds the table full
// is counted.
func TestModelNeighboursInTheTable(t *testing.T) {
	for _, s := range []struct {
		name  string
		rows  int
		bound int  // preemptions, in tier one; 0: any number
		long  bool // not for -short
		body  func(a, b *world)
	}{
		{"reads and write", 1, 0, false, func(a, b *world) {
			a.Go("a reads", a.read)
			b.Go("b reads", b.read)
			a.Go("a writes", func() { a.use(Everyone) })
		}},
		{"reads and write, with room", 2, 3, true, func(a, b *world) {
			a.Go("a reads", a.read)
			b.Go("b reads", b.read)
			a.Go("a writes", func() { a.use(Everyone) })
		}},
		{"read of one beside writes of the other", 1, 0, false, func(a, b *world) {
			a.Go("a reads", func() { a.read(); a.read() })
			b.Go("b writes", func() { b.use(Everyone) })
			b.Go("b writes, too", func() { b.use(Everyone) })
		}},
		{"ends", 1, 2, false, func(a, b *world) {
			a.Go("a reads", a.read)
			b.Go("b reads", b.read)
			a.Go("ends a's", a.rw.Unbias)
			b.Go("ends b's", b.rw.Unbias)
		}},
		{"all read and write", 2, 2, true, func(a, b *world) {
			a.Go("a reads", a.read)
			b.Go("b reads", b.read)
			a.Go("a writes", func() { a.use(Everyone) })
			b.Go("b writes", func() { b.use(Everyone) })
		}},
	} {
		t.Run(s.name, func(t *testing.T) {
			if s.long && (testing.Short() || interleave.RaceEnabled) {
				t.Skip("tier two")
			}
			o := unbounded
			if s.bound > 0 {
				o = interleave.Options{Mode: interleave.Bounded, Bound: s.bound}
			}
			full := false
			interleave.Check(t, o, func(x *interleave.Run) {
				a, b := newNeighbours(x, s.rows)
				bias := &a.e.Opts.bias
				x.Always(func() {
					n := 0
					for row := range bias.rows() {
						if bias.slot(row).Load() != 0 {
							n++
						}
					}
					full = full || n == s.rows
				})
				s.body(a, b)
				x.Wait()
				a.finish()
				b.finish()
				for row := range bias.rows() {
					x.Assert(bias.slot(row).Load() == 0, "a reader is left in the table")
				}
			})
			if !interleave.RaceEnabled {
				require.True(t, full, "the table was never full")
			}
		})
	}
}

// moreOr is more where the wait may end with one of the errors; the thread then still holds what it
// held.
func (w *world) moreOr(n int64, errs ...error) bool {
	if w.permits().TryAcquire(n) {
		w.held.Add(n)
		return true
	}
	w.front[w.Running()] = true
	err := w.permits().Acquire(waiting.UntilDone(bg), n, AtFront)
	w.front[w.Running()] = false
	if err != nil {
		w.Assert(len(errs) > 0 && err == errs[0], "acquire: %v", err) //nolint:errorlint // that very error
		return false
	}
	w.took(n)
	return true
}

// Requests at the front of the line, while the lock is closed or its size changes.
func TestModelFrontOfTheLine(t *testing.T) {
	for _, s := range []scenario{
		{name: "close, of a read-write lock", base: Everyone, size: Everyone, body: each(
			func(w *world) {
				if w.acquire(bg, Upgradable) != nil {
					return
				}
				if w.moreOr(Everyone-Upgradable, waiter.ErrClosed) {
					w.release(Everyone)
				} else {
					w.release(Upgradable)
				}
			},
			func(w *world) { w.useOr(bg, Reader, waiter.ErrClosed) },
			func(w *world) { w.e.Close() },
		)},
		{name: "close, before others who wait", size: 4, body: func(w *world) {
			w.begin(2)
			w.Go("holder", func() {
				if w.moreOr(2, waiter.ErrClosed) {
					w.release(2)
				}
				w.release(2)
			})
			w.Go("behind", func() { w.useOr(bg, 3, waiter.ErrClosed) })
			w.Go("closer", func() { w.e.Close() })
		}},
		{name: "growth lets it in", size: 3, body: func(w *world) {
			w.begin(2)
			w.Go("holder", func() { w.more(2); w.release(2); w.release(2) })
			w.Go("behind", func() { w.use(3) })
			w.Go("resizer", func() { w.resize(4) })
		}},
		{name: "shrinking refuses it", size: 4, body: func(w *world) {
			w.begin(3)
			w.begin(1)
			w.Go("holder", func() {
				if w.moreOr(3, waiter.ErrTooLarge) {
					w.release(3)
				}
				w.release(3)
			})
			w.Go("other", func() { w.release(1) })
			w.Go("resizer", func() { w.resize(2); w.resize(6) })
		}},
	} {
		explore(t, unbounded, s)
	}
}
