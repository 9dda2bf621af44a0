package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Release gives up the place in line, or gives back what the future has; not what a permit has.
func TestReleaseOfFutures(t *testing.T) {
	d := alone(t, kindSemaphore, 2) // one is this process's
	s := &Semaphore{d}
	var f Future
	f.Release() // before Bind

	s.Bind(&f, 1)
	f.Release() // before it has begun
	require.True(t, s.TryAcquire(1))
	s.Bind(&f, 1)
	require.False(t, f.Poll(nil))
	f.Release()
	require.Zero(t, s.Waiting(), "it has given up")
	s.Release(1)

	s.Bind(&f, 1)
	require.True(t, f.Poll(nil))
	f.Release()
	require.EqualValues(t, 1, s.Available(), "its owner has not looked")

	s.Bind(&f, 1)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	require.Zero(t, s.Available(), "Err only looks")
	f.Release()
	f.Release()
	require.EqualValues(t, 1, s.Available())
	require.Nil(t, f.Permit())

	s.Bind(&f, 1)
	require.True(t, f.Poll(nil))
	p := f.Permit()
	require.Nil(t, f.Permit(), "there is one")
	f.Release()
	require.Zero(t, s.Available(), "the permit has it")
	p.Release()
	require.EqualValues(t, 1, s.Available())

	s.Bind(&f, 1)
	require.True(t, f.Poll(nil))
	d.loseAll()
	require.ErrorIs(t, f.Err(), ErrLost)
	f.Release()
	s.Bind(&f, 1)
	require.True(t, f.Poll(nil), "it begins again")
	require.NoError(t, f.Err())
	f.Release()
	require.EqualValues(t, 1, s.Available())
}
