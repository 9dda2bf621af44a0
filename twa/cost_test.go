//go:build !interleave

package twa_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

func TestWaitingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for name, acquire := range map[string]func(s *twa.Semaphore){
		"background": func(s *twa.Semaphore) { _ = s.Acquire(bg, 1) },
		"context":    func(s *twa.Semaphore) { _ = s.Acquire(ctx, 1) },
		"timeout":    func(s *twa.Semaphore) { _ = s.AcquireTimeout(time.Hour, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			s := twa.New(1)
			require.Zero(t, locktest.AllocsPerWait(s, func() { s.TryAcquire(1) }, func() { s.Release(1) }, func() {
				acquire(s)
				s.Release(1)
			}))
		})
	}
}

func TestGivingUpAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	s := twa.New(1)
	require.True(t, s.TryAcquire(1))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if s.AcquireTimeout(time.Nanosecond, 1) == nil {
			t.Error("granted")
		}
	}))
}

func TestUncontendedAllocatesNothing(t *testing.T) {
	s, m := twa.New(3), new(twa.Mutex)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if s.Acquire(bg, 2) != nil || !s.TryAcquire(1) {
			t.Fail()
		}
		s.Release(3)
		m.Lock()
		m.Unlock() //nolint:staticcheck // nothing in between, on purpose
	}))
}

func TestFutureAllocatesNothing(t *testing.T) {
	s := twa.New(1)
	var f twa.AcquireFuture
	f.Init(s, 1)
	f.Done() // makes the channel
	require.NoError(t, f.Err())
	w := waiter.WakerFunc(func() {})
	require.Zero(t, testing.AllocsPerRun(200, func() {
		f.Init(s, 1)
		f.Poll(w)
		f.Poll(w)
		done := f.Done()
		s.Release(1)
		<-done
		if f.Err() != nil {
			t.Error("not granted")
		}
		f.Init(s, 1) // dropped while it waits
		f.Poll(w)
		f.Cancel()
	}))
	s.Release(1)
	requireIdle(t, s)
}

func TestVetSeesCopies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copies.go")
	require.NoError(t, os.WriteFile(file, []byte(`package copies

import "github.com/farad-go/farad/twa"

func a(s twa.Semaphore) {}
func b(m twa.Mutex) {}
func c(f twa.AcquireFuture) {}
func d(f twa.LockFuture) {}
`), 0o600))
	out := locktest.GoTool(t, "vet", file)
	require.Equal(t, 4, strings.Count(out, "passes lock by value"), out)
}
