package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Who is said to be first-in-first-out is.
func TestLocksKeepTheOrderTheyPromise(t *testing.T) {
	const waiters = 6
	tested := 0
	for _, l := range everyLocks {
		if l.name == nameFifomu { // whose channels go from one bubble to the next, which Go does not allow
			continue
		}
		if l.order != orderFIFO {
			require.NotEqual(t, boundNone, l.bound, l.name)
			continue
		}
		tested++
		t.Run(l.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, boundNone, l.bound)
				lock := l.create()
				var order, want []int
				lock.Lock()
				for g := range waiters {
					go func() {
						lock.Lock()
						order = append(order, g)
						lock.Unlock()
					}()
					synctest.Wait() // until it waits
					want = append(want, g)
				}
				lock.Unlock()
				synctest.Wait()
				require.Equal(t, want, order)
			})
		})
	}
	require.Greater(t, tested, 8)
}

// Nobody who waits alone is overtaken more often than promised, by one who comes again and again.
func TestLocksKeepTheirBounds(t *testing.T) {
	bounds := map[string]int{boundNone: 0, boundLane: 256, boundPlatoon: 9, boundWrappedLane: 2 * 256}
	for _, l := range everyLocks {
		bound, ok := bounds[l.bound]
		if !ok || l.name == nameFifomu ||
			strings.HasPrefix(
				l.name,
				"wrapped sync.Mutex",
			) { // where who waits for the inner lock is not durably blocked
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock := l.create()
				lock.Lock()
				overtaken, served := 0, false
				go func() {
					lock.Lock()
					served = true
					lock.Unlock()
				}()
				synctest.Wait()
				for range 10_000 {
					lock.Unlock()
					lock.Lock()
					if served {
						break
					}
					overtaken++
				}
				lock.Unlock()
				require.True(t, served)
				require.LessOrEqual(t, overtaken, bound)
			})
		})
	}
}

// A wait ends with its context, and the lock is as it was, if that is said of it.
func TestLocksCancelAsTheySay(t *testing.T) {
	says := map[string]int{}
	for _, l := range everyLocks {
		says[l.cancels()]++
		if l.cancels() == "no" {
			require.True(
				t,
				slices.Contains([]string{nameMutex, nameRWMutex, nameRBMutex}, l.name),
				"%s can be cancelled",
				l.name,
			)
			continue
		}
		lock := l.create().(interface {
			LockContext(ctx context.Context) error
			Unlock()
		})
		require.NoError(t, lock.LockContext(t.Context()))
		if l.cancels() == "yes" {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			require.ErrorIs(t, lock.LockContext(ctx), context.DeadlineExceeded, l.name)
			cancel()
		}
		lock.Unlock()
		require.NoError(t, lock.LockContext(t.Context()))
		lock.Unlock()
	}
	require.Equal(t, map[string]int{"yes": len(everyLocks) - 5, "at the gate": 2, "no": 3}, says)
}

// Who is said to allocate nothing while many wait allocates nothing.
func TestLocksAllocateAsTheySay(t *testing.T) {
	limits := timing{warmup: 2 * time.Millisecond, window: 10 * time.Millisecond, limit: 10 * time.Second}
	for _, l := range everyLocks {
		s, err := measureLock(4, handsOver(l.newLock), limits)
		require.NoError(t, err, l.name)
		if l.allocates {
			require.Greater(t, s.AllocsPerOp, 0.5, l.name)
		} else {
			require.Less(t, s.AllocsPerOp, 0.1, l.name)
		}
	}
}

// The table of promises is in the README as it is in a report.
func TestLocksPromiseWhatTheREADMESays(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the README has the sizes of 64-bit machines")
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, l := range everyLocks {
		hasAll(t, string(readme), fmt.Sprintf("| %s |\n", strings.Join(l.promises(), " | ")))
	}
}

func TestEveryTable(t *testing.T) {
	r := &report{Locks: planLocks(func(name string) bool {
		return strings.HasPrefix(name, "locks/every-") && strings.HasSuffix(name, "/farad, mutex.Word")
	})}
	require.Len(t, r.Locks, len(everySizes))
	for i, l := range r.Locks {
		l.Samples[nameWord] = []lockSample{{sample: sample{NsPerOp: float64(10 * (i + 1)), Fairness: 0.5}}}
	}
	md := r.markdown()
	require.Contains(
		t,
		md,
		"| farad, mutex.Word | barging | none, but who was woken 8 times is next | yes | no | 4 | 10.0 (0.50) | 20.0 (0.50) | 30.0 (0.50) |",
	)
	require.NotContains(t, md, "| sync.Mutex | barging", "which was not measured")
	require.NotContains(t, md, "Mutexes and read-write locks", "a table of its own is enough")
}
