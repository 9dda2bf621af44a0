//go:build !interleave

package twa_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/twa"
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
	require.Zero(t, locktest.AllocsPerRun(100, func() {
		if s.AcquireTimeout(time.Nanosecond, 1) == nil {
			t.Error("granted")
		}
	}))
}

// sleeping tells how many sleep for any part of an object.
type sleeping struct {
	table  *parking.Table
	object any
}

func (s sleeping) Waiting() int {
	return s.table.Count(func(k parking.Key) bool { return k.Object == s.object })
}

func TestWaitingInAnArrayAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	a, changed := twa.NewArray(1), new(atomic.Int64)
	change := func() { changed.Add(1); a.Signal(changed) }
	lazy := a.Monitor(changed)
	events := new(twa.EventCount)
	for name, s := range map[string]struct {
		sleeping sleeping
		wait     func(ctx context.Context) error
		end      func()
	}{
		"WaitUntil": {sleeping{(*parking.Table)(a).OrDefault(), changed}, func(ctx context.Context) error {
			next := changed.Load() + 1
			return a.WaitUntil(ctx, changed, func() bool { return changed.Load() == next })
		}, change},
		"Wait": {sleeping{(*parking.Table)(a).OrDefault(), changed}, func(ctx context.Context) error {
			return a.Wait(ctx, changed, a.Monitor(changed))
		}, change},
		"WaitLazy": {sleeping{(*parking.Table)(a).OrDefault(), changed}, func(ctx context.Context) error {
			lazy = a.Monitor(changed)
			return a.WaitLazy(ctx, changed, &lazy)
		}, change},
		"Await": {sleeping{parking.Default(), events}, func(ctx context.Context) error {
			return events.Await(ctx, events.Read()+1)
		}, func() { events.Advance() }},
	} {
		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		for form, c := range map[string]context.Context{"background": bg, "context": ctx} {
			t.Run(name+"/"+form, func(t *testing.T) {
				require.Zero(t, locktest.AllocsPerWait(s.sleeping, func() {}, s.end, func() {
					if err := s.wait(c); err != nil {
						t.Error(err)
					}
				}))
			})
		}
	}
}

func TestUncontendedAllocatesNothing(t *testing.T) {
	s, m := twa.New(3), new(twa.Mutex)
	require.Zero(t, locktest.AllocsPerRun(100, func() {
		if s.Acquire(bg, 2) != nil || !s.TryAcquire(1) {
			t.Fail()
		}
		s.Release(3)
		m.Lock()
		m.Unlock()
	}))
}

func TestVetSeesCopies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copies.go")
	require.NoError(t, os.WriteFile(file, []byte(`package copies

import (
	"github.com/farad-go/farad/twa"
)

func a(s twa.Semaphore) {}
func b(m twa.Mutex) {}
`), 0o600))
	out := locktest.GoTool(t, "vet", file)
	require.Equal(t, 2, strings.Count(out, "passes lock by value"), out)
}
