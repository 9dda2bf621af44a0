package semaphore_test

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// A million wait, each a tenant of its own where there are tenants. They give up from the middle,
// the front and the back; the size falls and rises over all of them; the rest is closed. Each step
// takes time in proportion: were one quadratic, the test would not end. Then the memory is back.
func TestAMillionWaiters(t *testing.T) {
	locktest.SkipUnderRace(t)
	n := 1_000_000
	if !locktest.Stress() {
		n = 5_000
	}
	for name, opts := range map[string][]semaphore.Option{
		"plain":      nil,
		"array":      {semaphore.WithWaitingArray(nil)},
		"capacitor":  {semaphore.WithCapacitor(1, 64)},
		"shares":     {semaphore.WithShares(nil)},
		"priorities": {semaphore.WithPriorities(16, 16)},
		"queue":      {semaphore.WithQueue(semaphore.Queue{RefuseLate: true, Shed: semaphore.ShedCoDel})},
	} {
		for _, level := range []observed.Level{observed.Off, observed.Holders} {
			t.Run(name+[]string{"", "", "/observed"}[level], func(t *testing.T) {
				millionWait(t, n, name, level, opts)
			})
		}
	}
}

func millionWait(t *testing.T, n int, name string, level observed.Level, opts []semaphore.Option) {
	t.Helper()
	s := semaphore.New(1, opts...)
	if level != observed.Off {
		records.Watch(s, t.Name(), level)
	}
	// Each by itself: Go keeps the weak pointers into one object in a list, so to observe many
	// futures of one slice takes time with the square of their number.
	fs := make([]*waiter.Future, n)
	for i := range fs {
		fs[i] = new(waiter.Future)
	}
	start := time.Now()
	step := func(what string) {
		t.Logf("%-22s %8v", what, time.Since(start).Round(time.Microsecond))
		start = time.Now()
	}
	before := inUse()
	require.True(t, s.TryAcquire(1))
	for i := range fs {
		f := fs[i]
		tenant := any(i)
		if name == "priorities" {
			tenant = i % 16
		}
		s.As(tenant).Bind(f, 1)
		require.False(t, f.Poll(nil))
	}
	step("wait")
	require.Equal(t, n, s.Waiting())
	each := (inUse() - before) / int64(n)
	t.Logf("%d bytes each", each)
	require.Less(t, each, int64(700))
	start = time.Now()

	third := n / 3
	for i := third; i < 2*third; i++ {
		fs[i].Release()
	}
	for i := range third / 2 {
		fs[i].Release()
	}
	for i := range slices.Backward(fs[2*third:]) {
		if i%2 == 0 {
			fs[2*third+i].Release()
		}
	}
	step("give up")
	s.Release(1)
	s.Resize(0)
	s.Resize(int64(third / 8))
	step("resized")
	s.Close()
	step("closed")
	for i := range fs {
		fs[i].Release()
	}
	step("given back")
	require.Zero(t, s.Waiting())
	records.Unwatch(s)
	clear(fs)
	left := inUse() - before
	t.Logf("%d bytes left", left) // without the futures
	require.Less(t, left, int64(1<<20))
	runtime.KeepAlive(fs)
	runtime.KeepAlive(s)
}

// inUse returns how many bytes are in use after a collection.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
