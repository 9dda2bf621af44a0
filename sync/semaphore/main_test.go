package semaphore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// requireIdle checks that all permits are back and nobody waits.
func requireIdle(t *testing.T, s *semaphore.Semaphore) {
	t.Helper()
	require.Zero(t, s.Waiting(), "somebody still waits")
	require.Equal(t, s.Size(), s.Available(), "permits were lost or made")
}

// queued starts an acquire of n in a goroutine of its own and returns when it waits.
func queued(t *testing.T, ctx context.Context, s *semaphore.Semaphore, n int64) <-chan error {
	t.Helper()
	before := s.Waiting()
	c := make(chan error, 1)
	go func() { c <- s.Acquire(ctx, n) }()
	locktest.AwaitWaiting(t, s, before+1)
	return c
}
