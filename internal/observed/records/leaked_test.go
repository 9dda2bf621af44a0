package records_test

import (
	"os"
	"path/filepath"
	"runtime/pprof"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

// A goroutine that waits for a lock that nobody else can reach is in the runtime's profile of
// leaked goroutines if the lock is observed with its holders. No switch has to be turned for that.
func TestLeakedWaitersAreInTheProfile(t *testing.T) {
	if pprof.Lookup("goroutineleak") == nil {
		t.Skip("this Go has no profile of leaked goroutines, or only with GOEXPERIMENT=goroutineleakprofile")
	}
	file := filepath.Join(t.TempDir(), "leaked.go")
	require.NoError(t, os.WriteFile(file, []byte(`package main

import (
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/keyed"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/sync/semaphore"
)

var ctx = context.Background()

func waitMutex(m *mutex.Mutex)          { m.Lock(); m.Lock() }
func waitWriter(l *rwlock.RWLock)       { l.Lock(); l.Lock() }
func waitReader(l *rwlock.RWLock)       { l.Lock(); l.RLock() }
func waitPermit(s *semaphore.Semaphore) { _ = s.Acquire(ctx, 1); _ = s.Acquire(ctx, 1) }
func waitSignal(c *sync.Cond)           { c.L.Lock(); c.Wait() }
func waitGroup(g *sync.WaitGroup)       { g.Add(1); g.Wait() }
func waitKey(m *keyed.Mutex[int])       { m.Lock(1); m.Lock(1) }

// leak has wait called for a lock that nobody else has, and that never lets it in.
func leak[T any](lock T, wait func(T)) {
	observe.Watch(lock, "", observe.LevelHolders)
	go wait(lock)
}

func main() {
	leak(new(mutex.Mutex), waitMutex)
	leak(new(rwlock.RWLock), waitWriter)
	leak(new(rwlock.RWLock), waitReader)
	leak(semaphore.New(1), waitPermit)
	leak(sync.NewCond(new(sync.Mutex)), waitSignal)
	leak(new(sync.WaitGroup), waitGroup)
	leak(new(keyed.Mutex[int]), waitKey)
	missing := []string{"waitMutex", "waitWriter", "waitReader", "waitPermit", "waitSignal", "waitGroup", "waitKey"}
	for end := time.Now().Add(time.Minute); len(missing) > 0 && time.Now().Before(end); {
		var found strings.Builder
		_ = pprof.Lookup("goroutineleak").WriteTo(&found, 1)
		missing = slices.DeleteFunc(missing, func(w string) bool { return strings.Contains(found.String(), "main."+w) })
	}
	fmt.Println("missing:", missing)
}
`), 0o600))
	require.Equal(t, "missing: []\n", locktest.GoTool(t, "run", file))
}
