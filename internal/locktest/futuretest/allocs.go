//go:build !interleave

package futuretest

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/observedtest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

// After the first Bind, which may allocate what the lock needs, a round allocates the channel that
// Done makes for a request that waits, and nothing else.
func allocatesNothing(t *testing.T, k Kind) {
	observedtest.SkipUnderRace(t)
	l, f := k.New(), new(waiter.Future)
	var w locktest.CountingWaker
	round := func(wait func()) func() {
		return func() {
			l.Lock()
			l.Bind(f)
			f.Poll(&w)
			f.Release()
			l.Bind(f)
			f.Poll(&w)
			f.Poll(&w)
			wait()
			l.Unlock()
			<-f.Done() // complete: it needs no channel of its own
			if f.Take() != nil {
				t.Error("not granted")
			}
			l.GiveBack()
		}
	}
	require.Zero(t, testing.AllocsPerRun(200, round(func() {})))
	require.EqualValues(t, 1, testing.AllocsPerRun(200, round(func() { f.Done() })), "the channel")
	l.requireFree(t)
}
