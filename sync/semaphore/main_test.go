package semaphore_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

var requireIdle, queued = semtest.RequireIdle, semtest.Queued

func bind(s semtest.Semaphore, f *waiter.Future, n int64) { s.(*semaphore.Semaphore).Bind(f, n) }

// kind is that of the semaphores that New makes with such options.
func kind(opts ...semaphore.Option) semtest.Kind {
	return semtest.Kind{
		New:  func(n int64) semtest.Semaphore { return semaphore.New(n, opts...) },
		Bind: bind,
	}
}

// anyNumber is a cap that is none.
func anyNumber(any) int64 { return -1 }

// accounts are the kinds of semaphores with an account for each tenant.
var accounts = map[string][]semaphore.Option{
	"caps": {semaphore.WithShares(nil), semaphore.WithMaxInUse(anyNumber)},
	"time": {semaphore.WithShares(nil), semaphore.WithDebit(semaphore.DebitTime)},
	"cost": {semaphore.WithShares(nil), semaphore.WithDebit(semaphore.DebitCost)},
}

// within puts users within teams, and these within one organisation. Who names no tenant is a user.
func within(tenant any) any {
	switch tenant {
	case "team":
		return "organisation"
	case "organisation":
		return nil
	default:
		return "team"
	}
}
