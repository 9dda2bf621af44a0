//go:build interleave

package semaphore_test

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/waiter"
)

// Release ends a future in every state, and gives back whatever it has, once; a second one does
// nothing.
func TestModelReleaseOfAFuture(t *testing.T) {
	for name, k := range modelKinds {
		for state, begin := range map[string]func(x *interleave.Run, f *waiter.Future){
			"only bound": func(*interleave.Run, *waiter.Future) {},
			"polled":     func(x *interleave.Run, f *waiter.Future) { f.Poll(semtest.NewTask(x)) },
			"done asked": func(_ *interleave.Run, f *waiter.Future) { f.Done() },
			"told":       func(_ *interleave.Run, f *waiter.Future) { interleave.Receive(f.Done()) },
			"looked at": func(x *interleave.Run, f *waiter.Future) {
				interleave.Receive(f.Done())
				x.Assert(f.Err() == nil, "not granted")
			},
		} {
			t.Run(name+"/"+state, func(t *testing.T) {
				interleave.Check(t, modelOptions(), func(x *interleave.Run) {
					s := k.make(2)
					x.Name("s", s)
					x.Assert(s.TryAcquire(1), "not free")
					x.Go("holder", func() { s.Release(1) })
					x.Go("owner", func() {
						var f waiter.Future
						f.Release() // before Bind
						s.Bind(&f, 2)
						begin(x, &f)
						f.Release()
						x.Assert(!f.Complete(), "complete after its release")
						f.Release()
					})
					if k.limit == 0 { // or it might be the one too many
						x.Go("other", func() {
							x.Assert(s.Acquire(bg, 1) == nil, "not acquired")
							s.Release(1)
						})
					}
					x.Wait()
					x.Assert(s.Available() == 2 && s.Waiting() == 0, "%d of 2 permits are back", s.Available())
				})
			})
		}
	}
}
