//go:build interleave

package mutextest

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/waiter"
)

// one is a mutex as the semaphore of one permit that it is. What it only embeds is not called.
type one struct {
	semtest.Semaphore
	m Mutex
}

func (s *one) Acquire(ctx context.Context, _ int64) error {
	if ctx == bg {
		s.m.Lock()
		return nil
	}
	return s.m.LockContext(ctx)
}

func (s *one) AcquireTimeout(d time.Duration, _ int64) error {
	if !s.m.LockTimeout(d) {
		return context.DeadlineExceeded
	}
	return nil
}

func (s *one) TryAcquire(int64) bool { return s.m.TryLock() }
func (s *one) Release(int64)         { s.m.Unlock() }

// What a client may do, all with the one permit.
var (
	locks    = semtest.Locks(1)
	tries    = does((*semtest.Client).Try)
	hurries  = does((*semtest.Client).LockTimeout)
	awaits   = does((*semtest.Client).Await)
	polls    = does((*semtest.Client).Poll)
	drops    = does((*semtest.Client).Drop)
	loses    = does((*semtest.Client).Lose)
	releases = does((*semtest.Client).Release)

	awaitsAndReleases = does((*semtest.Client).AwaitRelease)
	pollsAndReleases  = does((*semtest.Client).PollRelease)

	within = func(c *semtest.Client, ctx context.Context) { c.LockContext(ctx, 1) }
	twice  = semtest.Does(func(c *semtest.Client) { c.Lock(1); c.Lock(1) })
)

func does(f func(c *semtest.Client, n int64)) semtest.Body {
	return semtest.Does(func(c *semtest.Client) { f(c, 1) })
}

var histories = []semtest.History{
	{Name: "lock", Size: 1, Clients: semtest.Bodies(locks, locks)},
	{Name: "lock twice", Size: 1, Clients: semtest.Bodies(twice, locks)},
	{Name: "lock/3", Size: 1, Large: true, Clients: semtest.Bodies(locks, locks, locks)},
	{Name: "try", Size: 1, Clients: semtest.Bodies(twice, tries)},
	{Name: "try/3", Size: 1, Large: true, Clients: semtest.Bodies(locks, locks, tries)},
	{Name: "timeout", Size: 1, Clients: semtest.Bodies(locks, hurries)},
	{Name: "timeout/3", Size: 1, Large: true, Clients: semtest.Bodies(locks, locks, hurries)},
	{Name: "cancel", Size: 1, Cancel: true, Clients: semtest.Bodies(locks, within)},
	{Name: "future", Size: 1, Clients: semtest.Bodies(locks, awaits)},
	{Name: "future/poll", Size: 1, Clients: semtest.Bodies(locks, polls)},
	{Name: "future/try", Size: 1, Large: true, Clients: semtest.Bodies(locks, awaits, tries)},
	{Name: "future/release", Size: 1, Clients: semtest.Bodies(locks, awaitsAndReleases)},
	{Name: "future/poll and release", Size: 1, Clients: semtest.Bodies(locks, pollsAndReleases)},
	{Name: "future/drop", Size: 1, Clients: semtest.Bodies(locks, drops)},
	{Name: "future/drop/3", Size: 1, Large: true, Clients: semtest.Bodies(locks, locks, drops)},
	{Name: "future/lose", Size: 1, Clients: semtest.Bodies(locks, loses)},
	{Name: "unlock too many", Size: 1, Clients: semtest.Bodies(locks, locks, releases)},
}

// RunHistories checks that every history of the explorer's is one that a semaphore of one permit
// could have given, in which waiters stand in a queue. It skips the known ones.
func RunHistories[M any, PM mutexOf[M]](t *testing.T, known ...Known) {
	t.Helper()
	k := kindOf[M, PM]()
	semtest.CheckHistories(t, semtest.Kind{
		New:  func(int64) semtest.Semaphore { return &one{m: k.alone().(Mutex)} },
		Bind: func(s semtest.Semaphore, f *waiter.Future, _ int64) { k.bind(s.(*one).m, f) },
	}, histories, known...)
}
