package signal

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestReceiveWithin(t *testing.T) {
	s := New(1)
	var timer Timer
	for range 3 {
		go s.Send()
		require.True(t, s.ReceiveWithin(&timer, time.Hour))
		require.False(t, timer.t.Stop(), "no timer is left running")
		start := time.Now()
		require.False(t, s.ReceiveWithin(&timer, 5*time.Millisecond))
		require.GreaterOrEqual(t, time.Since(start), 5*time.Millisecond)
	}
}

func TestReceiveOr(t *testing.T) {
	s := New(1)
	done := make(chan struct{})
	s.TrySend()
	s.TrySend() // no room: nothing happens
	require.True(t, s.ReceiveOr(done))
	close(done)
	require.False(t, s.ReceiveOr(done))
}

func TestNoSignal(t *testing.T) {
	var s Signal
	s.TrySend()
	s.TryReceive()
	s.Close()
	require.Nil(t, s.C())
}

func TestClosed(t *testing.T) {
	s := New(0)
	go s.Close()
	for range 3 {
		s.Receive()
		Closed().Receive()
	}
}
