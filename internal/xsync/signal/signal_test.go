package signal

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

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

func TestClosed(*testing.T) {
	s := New(0)
	go s.Close()
	for range 3 {
		s.Receive()
		Closed().Receive()
	}
}
