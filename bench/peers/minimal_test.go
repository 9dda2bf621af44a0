package peers

import (
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The minimal lock is there exactly where the module's own sleep uses gopark.
func TestGateOfTheMinimalLock(t *testing.T) {
	const theirs = "../../internal/xsync/sleep/"
	for ours, file := range map[string]string{
		"minimal_gopark.go": theirs + "gopark.go",
		"minimal_absent.go": theirs + "portable.go",
	} {
		require.Equal(t, firstLine(t, file), firstLine(t, ours), ours)
	}
}

func firstLine(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	line, _, _ := strings.Cut(string(text), "\n")
	require.Contains(t, line, "//go:build ")
	return line
}

func TestMinimalLockExcludes(t *testing.T) {
	if !HasMinimalLock {
		t.Skip("not in this build")
	}
	const goroutines, turns = 16, 20_000
	l := NewMinimal()
	var inside atomic.Int32
	var wg sync.WaitGroup
	for range goroutines {
		mine := OfGoroutine(l)
		wg.Go(func() {
			for i := range turns {
				_ = mine.Acquire(t.Context(), 1) // never fails
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				if i%64 == 0 {
					runtime.Gosched()
				}
				inside.Add(-1)
				mine.Release(1)
			}
		})
	}
	wg.Wait()
	require.Zero(t, l.word.Load())
	require.Nil(t, l.head)
	require.Nil(t, l.tail)
}

// Those that wait get the lock in the order of their coming.
func TestMinimalLockIsFIFO(t *testing.T) {
	if !HasMinimalLock {
		t.Skip("not in this build")
	}
	const waiters = 100
	l := NewMinimal()
	require.NoError(t, l.Acquire(t.Context(), 1))
	var order []int
	var wg sync.WaitGroup
	for i := range waiters {
		mine := OfGoroutine(l)
		last := l.last()
		wg.Go(func() {
			_ = mine.Acquire(t.Context(), 1)
			order = append(order, i)
			mine.Release(1)
		})
		for l.last() == last {
			runtime.Gosched()
		}
	}
	l.Release(1)
	wg.Wait()
	for i, who := range order {
		require.Equal(t, i, who)
	}
	require.Len(t, order, waiters)
}

func (l *MinimalLock) last() *MinimalNode {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail
}
