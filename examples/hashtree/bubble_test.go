//go:build !interleave

package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/sync/semaphore"
)

// What waits in a bubble must not be used outside, nor the other way round. The semaphore has to find out whether it
// runs in a test binary, and the tests of a main package are the ones that are easily taken for a program.
func TestBubblesInTheTestsOfAProgram(t *testing.T) {
	s := semaphore.New(1)
	wait := func(t *testing.T) {
		for range 10 {
			require.NoError(t, s.Acquire(context.Background(), 1))
			time.AfterFunc(time.Millisecond, func() { s.Release(1) })
			require.NoError(t, s.AcquireTimeout(time.Hour, 1))
			time.AfterFunc(time.Millisecond, func() { s.Release(1) })
			require.NoError(t, s.Acquire(context.Background(), 1))
			s.Release(1)
		}
	}
	for range 3 {
		synctest.Test(t, wait)
		wait(t)
	}
}
