//go:build interleave

package spec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest/mutextest"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/internal/locktest/spec"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// The packages of the locks judge their histories by our search. Here porcupine judges them, too.
func TestModelHistoriesOfTheLocks(t *testing.T) {
	const inFlight = "documented: a release after the resize may grant who has tickets and does not sleep yet"
	semaphores := semtest.Kind{
		New: func(n int64) semtest.Semaphore { return semaphore.New(n) },
		Bind: func(s semtest.Semaphore, f *waiter.Future, n int64) {
			s.(*semaphore.Semaphore).Bind(f, n)
		},
	}
	tickets := semtest.Kind{
		New:  func(n int64) semtest.Semaphore { return twa.New(n, twa.WithWaitingArray(twa.NewArray(1))) },
		Bind: func(s semtest.Semaphore, f *waiter.Future, n int64) { s.(*twa.Semaphore).Bind(f, n) },
	}
	rwlocks := rwtest.Kind{
		Package: "rwlock",
		New:     func() rwtest.Lock { return new(rwlock.RWLock) },
		FIFO:    true,
	}
	words := mutextest.Subject{New: func() mutextest.Small { return new(mutex.Word) }}

	before := spec.Compared()
	t.Run("semaphore", func(t *testing.T) { semtest.RunHistories(t, semaphores) })
	t.Run("tickets", func(t *testing.T) {
		semtest.RunHistories(t, tickets, semtest.Known{Test: "resize too large", Why: inFlight},
			semtest.Known{Test: "resize twice", Why: inFlight})
	})
	t.Run("mutex", func(t *testing.T) { mutextest.RunHistories[mutex.Mutex](t) })
	t.Run("rwlock", func(t *testing.T) { rwtest.RunHistories(t, rwlocks) })
	t.Run("word", func(t *testing.T) { mutextest.RunSmallHistories(t, words) })
	require.Greater(t, spec.Compared()-before, int64(1000))
}
