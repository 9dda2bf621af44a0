package semaphore_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

var requireIdle, queued = semtest.RequireIdle, semtest.Queued

// future is an AcquireFuture for the tests that all semaphores share.
type future struct{ semaphore.AcquireFuture }

func (f *future) Init(s semtest.Semaphore, n int64) {
	f.AcquireFuture.Init(s.(*semaphore.Semaphore), n)
}

// kind is that of the semaphores that New makes with such options.
func kind(opts ...semaphore.Option) semtest.Kind {
	return semtest.Kind{
		New:       func(n int64) semtest.Semaphore { return semaphore.New(n, opts...) },
		NewFuture: func() semtest.Future { return new(future) },
	}
}
