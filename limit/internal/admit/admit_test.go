package admit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/internal/admit"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestAWaitEndsByWhateverIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limit.New(semaphore.New(0), &limit.AIMD{Min: 1, Max: 1})
		held, err := admit.Wait(t.Context(), l, admit.Request{N: 1, Longest: time.Second})
		require.NoError(t, err)

		began := time.Now()
		p, err := admit.Wait(t.Context(), l, admit.Request{N: 1, Longest: time.Second})
		require.Equal(t, context.DeadlineExceeded, err)
		require.Nil(t, p)
		require.Equal(t, time.Second, time.Since(began))

		began = time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		p, err = admit.Wait(ctx, l, admit.Request{N: 1})
		require.Equal(t, context.Canceled, err)
		require.Nil(t, p)
		require.Equal(t, time.Minute, time.Since(began))

		time.AfterFunc(time.Second, held.Ignore)
		p, err = admit.Wait(t.Context(), l, admit.Request{N: 1, Longest: time.Minute})
		require.NoError(t, err)
		require.EqualValues(t, 1, l.InFlight())
		p.Ignore()
	})
}

func TestATenantIsTheSemaphores(t *testing.T) {
	sem := semaphore.New(0, semaphore.WithPriorities(2, 100))
	l := limit.New(sem, &limit.AIMD{Min: 1, Max: 1})
	for _, r := range []admit.Request{{N: 1}, {N: 1, Tenant: 1, Named: true}} {
		p, err := admit.Wait(t.Context(), l, r)
		require.NoError(t, err)
		require.EqualValues(t, 1, l.InFlight())
		p.Ignore()
		require.EqualValues(t, 1, sem.Available())
	}
	require.Panics(t, func() { _, _ = admit.Wait(t.Context(), l, admit.Request{N: 1, Named: true}) }) // no class
	sem.Close()
	p, err := admit.Wait(t.Context(), l, admit.Request{N: 1, Tenant: 1, Named: true})
	require.Equal(t, semaphore.ErrClosed, err)
	require.Nil(t, p)
}

func TestARepetitionIsSuggestedWhereItMayHelp(t *testing.T) {
	require.Equal(t, time.Second, admit.RetryAfter(semaphore.ErrQueueFull))
	require.Equal(t, time.Second, admit.RetryAfter(&semaphore.Refusal{Err: semaphore.ErrShed}))
	known := &semaphore.Refusal{Err: semaphore.ErrWouldExpire, RetryAfter: time.Minute}
	require.Equal(t, time.Minute, admit.RetryAfter(fmt.Errorf("wrapped: %w", known)))
	require.Equal(t, time.Second, admit.RetryAfter(context.DeadlineExceeded))
	require.Zero(t, admit.RetryAfter(semaphore.ErrTooLarge))
	require.Zero(t, admit.RetryAfter(fmt.Errorf("wrapped: %w", errors.Join(semaphore.ErrClosed))))
}
