package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Cancel gives up what the owner was not told of, and leaves to the future what he was told of.
func TestCancelOfFutures(t *testing.T) {
	d := alone(t, kindSemaphore, 2) // one is this process's
	s := &Semaphore{d}
	var f AcquireFuture
	f.Cancel() // before Init

	f.Init(s, 1)
	f.Cancel() // before it has begun
	require.True(t, s.TryAcquire(1))
	f.Init(s, 1)
	require.False(t, f.Poll(nil))
	f.Cancel()
	require.Zero(t, s.Waiting(), "it has given up")
	s.Release(1)

	f.Init(s, 1)
	require.True(t, f.Poll(nil))
	f.Cancel()
	require.EqualValues(t, 1, s.Available(), "nobody was told")

	f.Init(s, 1)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	f.Cancel()
	f.Cancel()
	require.Zero(t, s.Available(), "the owner was told")
	p := f.Permit()
	f.Cancel()
	require.Zero(t, s.Available(), "the permit has it")
	p.Release()
	require.EqualValues(t, 1, s.Available())

	f.Init(s, 1)
	require.True(t, f.Poll(nil))
	d.loseAll()
	require.ErrorIs(t, f.Err(), ErrLost)
	f.Cancel()
	f.Init(s, 1)
	require.True(t, f.Poll(nil), "it begins again")
	require.NoError(t, f.Err())
	f.Release()
	require.EqualValues(t, 1, s.Available())
}
