package twa_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/twa"
)

// What AcquireFuture promises is tested in TestContract, for all semaphores alike, and what
// LockFuture does in TestMutexContract.

// A ticket semaphore does not tell anybody: whoever waits for it asks.
func TestTicketsHaveNoFutures(t *testing.T) {
	s := twa.NewTicket(1)
	var f twa.AcquireFuture
	for _, n := range []int64{0, 1, 2} {
		require.PanicsWithValue(t, "twa: future of a ticket semaphore", func() { f.Init(&s.Semaphore, n) })
	}
	require.PanicsWithValue(t, "twa: future without Init", func() { f.Poll(nil) }, "nothing has begun")
	other := twa.New(1)
	f.Init(other, 1)
	require.PanicsWithValue(t, "twa: future of a ticket semaphore", func() { f.Init(&s.Semaphore, 1) })
	require.True(t, f.Poll(nil), "it is still a request to the other")
	f.Cancel()
	requireIdle(t, s)
	requireIdle(t, other)
}
