//go:build interleave

package semaphore_test

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// A count of the waiters reads every bucket of the given array, and no other.
func TestModelWaitersSleepInTheArrayGiven(t *testing.T) {
	stepsIn := func(a *twa.Array) int {
		return interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
			s := semaphore.New(1, semaphore.WithWaitingArray(a))
			x.Go("reader", func() { s.Waiting() })
			x.Wait()
		}).Steps
	}
	one := stepsIn(twa.NewArray(1))
	require.Greater(t, one, 0)
	require.Greater(t, stepsIn(twa.NewArray(8)), 4*one)
	require.Equal(t, one, stepsIn(nil), "that of the process has one bucket here")
}

// A future goes from one kind to the other at any moment of a grant that it does not want any more.
func TestModelFutureChangesKinds(t *testing.T) {
	plain, array, capacitor := modelKind(), modelArray(), modelKind(semaphore.WithCapacitor(1, 1))
	for name, kinds := range map[string][2]func(n int64) *semaphore.Semaphore{
		"plain to array":         {plain, array},
		"array to plain":         {array, plain},
		"array to array":         {array, array},
		"plain to capacitor":     {plain, capacitor},
		"capacitor to array":     {capacitor, array},
		"capacitor to capacitor": {capacitor, capacitor},
	} {
		t.Run(name, func(t *testing.T) {
			interleave.Check(t, interleave.Options{}, func(x *interleave.Run) {
				var s [2]*semaphore.Semaphore
				for i := range s {
					s[i] = kinds[i](1)
					x.Assert(s[i].TryAcquire(1), "not free")
				}
				x.Name("from", s[0])
				x.Name("to", s[1])
				var f waiter.Future
				s[0].Bind(&f, 1)
				x.Assert(!f.Poll(nil), "it does not have to wait")
				x.Go("holder", func() { s[0].Release(1); s[1].Release(1) })
				x.Go("owner", func() {
					refused := interleave.Panics(func() { s[1].Bind(&f, 1) })
					x.Assert(refused != nil, "it has not ended")
					f.Release()
					s[1].Bind(&f, 1)
					interleave.Receive(f.Done())
					x.Assert(f.Take() == nil, "not granted")
					s[1].Release(1)
				})
				x.Wait()
				for _, s := range s {
					x.Assert(s.Available() == 1 && s.Waiting() == 0, "%d of 1 permits are back", s.Available())
				}
			})
		})
	}
}
