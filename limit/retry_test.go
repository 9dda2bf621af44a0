package limit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestARepetitionIsSuggestedWhereItMayHelp(t *testing.T) {
	require.Equal(t, time.Second, limit.RetryAfter(semaphore.ErrQueueFull))
	require.Equal(t, time.Second, limit.RetryAfter(&semaphore.Refusal{Err: semaphore.ErrShed}))
	known := &semaphore.Refusal{Err: semaphore.ErrWouldExpire, RetryAfter: time.Minute}
	require.Equal(t, time.Minute, limit.RetryAfter(fmt.Errorf("wrapped: %w", known)))
	require.Equal(t, time.Second, limit.RetryAfter(context.DeadlineExceeded))
	require.Zero(t, limit.RetryAfter(semaphore.ErrTooLarge))
	require.Zero(t, limit.RetryAfter(fmt.Errorf("wrapped: %w", errors.Join(semaphore.ErrClosed))))
}
