//go:build !interleave

package twa

import (
	"context"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// The explorer's atomics take too long for this.

// A request that Close has ended stays ended, however far Resizes move the numbers after the Close.
// That holds for tickets taken before and after.
func TestClosedOutIsNotGrantedByResizes(t *testing.T) {
	locktest.SkipUnderRace(t) // for its length
	const most = MaxPermits
	s := New(most, WithWaitingArray(NewArray(1)))
	require.True(t, s.TryAcquire(most))
	var ends [4]int64
	for i := range ends {
		ends[i] = s.t.take(1)
	}
	s.Close()
	s.Release(most)
	resized := 0
	for i, times := range []int{0, 1 << 21, 1<<22 + 1<<14, 3 << 21} {
		for ; resized < times; resized++ {
			s.Resize(1 << 10)
			s.Resize(most)
		}
		for _, end := range []int64{ends[i], s.t.take(1)} {
			err := s.t.await(waiting.UntilDone(context.Background()), zero, 1, end)
			require.ErrorIs(t, err, ErrClosed, "after %d Resizes", times)
		}
	}
	require.Equal(t, most, s.Available())
}
