//go:build interleave

package engine

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/waiter"
)

// FuzzModel makes scenarios of bytes, and explores a few hundred executions of each. The first byte
// is the size; every other one is a step of one of three threads: bits 0 and 1 say how many
// permits, 2 to 5 what to do, 6 and 7 who.
func FuzzModel(f *testing.F) {
	f.Add([]byte{1, 0x00, 0x40, 0x80, 0x00, 0x40, 0x80})                   // three lock
	f.Add([]byte{2, 0x01, 0x44, 0x88, 0x10, 0x54, 0x98})                   // timeouts, futures
	f.Add([]byte{3, 0x1c, 0x42, 0x85, 0x1d, 0x48, 0x95, 0x1e, 0x50, 0x8c}) // resizes against all
	f.Add([]byte{2, 0x20, 0x41, 0x84, 0x10, 0x4c, 0x98})                   // close
	f.Add([]byte{1, 0x18, 0x44, 0x84, 0x00, 0x58, 0x80})                   // cancel
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 2 {
			return
		}
		const perThread = 4
		var steps [3][]byte
		for _, b := range data[1:] {
			if t := b >> 6 % 3; len(steps[t]) < perThread {
				steps[t] = append(steps[t], b)
			}
		}
		size := int64(1 + data[0]%3)
		o := interleave.Options{Executions: 200}
		if data[0]&0x80 != 0 {
			o = interleave.Options{Mode: interleave.PCT, Executions: 200, Depth: 4, Seed: uint64(data[0])}
		}
		r := interleave.Explore(o, func(x *interleave.Run) {
			w := newWorld(x, scenario{size: size})
			ctx := x.NewContext()
			ctx.Watchable = data[0]&0x40 != 0
			for i, l := range steps {
				x.Go("t"+string(rune('1'+i)), func() {
					for _, b := range l {
						w.doAnything(b>>2&15, 1+int64(b&3)%3, i == 0, ctx)
					}
				})
			}
			x.Wait()
			w.finish()
		})
		if r.Failure != nil {
			t.Fatal(r.Failure)
		}
	})
}

// doAnything does what a byte says. Only the first thread resizes, so that the size at the end is
// known.
func (w *world) doAnything(what byte, n int64, mayResize bool, ctx *interleave.Context) {
	ended := []error{waiter.ErrTooLarge, waiter.ErrClosed, context.Canceled}
	future := func(err error) { w.endOr(err, n, ended) }
	switch what {
	case 0:
		w.useOr(bg, n, ended...)
	case 1:
		w.useFor(n, ended...)
	case 2:
		w.tryUse(n)
	case 3:
		future(w.await(w.future(n), n))
	case 4:
		w.drop(w.future(n), n)
	case 5:
		future(w.awaitDone(w.future(n), n))
	case 6:
		w.useOr(ctx, n, ended...)
	case 7:
		if mayResize {
			w.resize(n)
		}
	case 8:
		if n == 2 {
			w.e.Close()
		}
	case 9:
		ctx.Cancel()
	case 10:
		w.Assert(w.e.Waiting() <= 2, "more wait than there are threads")
	case 11: // No thread holds as much. By the thread that resizes, for one that races with a resize may be overlooked.
		if mayResize {
			w.Assert(!w.e.From(w.base).Release(w.most()+1), "an over-release was accepted")
		}
	case 12:
		if err := w.acquire(bg, n); err == nil {
			for range n {
				w.release(1)
			}
		}
	default:
		w.useOr(bg, 1, ended...)
	}
}
