//go:build !interleave

package semaphore_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// TestWaitingAllocatesNothing counts the allocations of waits that really wait, in the steady
// state.
func TestWaitingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	shared, cancel := context.WithCancel(bg)
	defer cancel()
	deadline, stop := context.WithTimeout(bg, time.Hour)
	defer stop()
	under := context.WithValue(shared, ctxKey{}, 1)
	foreign := locktest.NewForeignContext()
	for name, acquire := range map[string]func(*semaphore.Semaphore) error{
		"background":  func(s *semaphore.Semaphore) error { return s.Acquire(bg, 1) },
		"cancellable": func(s *semaphore.Semaphore) error { return s.Acquire(shared, 1) },
		"deadline":    func(s *semaphore.Semaphore) error { return s.Acquire(deadline, 1) },
		"value":       func(s *semaphore.Semaphore) error { return s.Acquire(under, 1) },
		"foreign":     func(s *semaphore.Semaphore) error { return s.Acquire(foreign, 1) },
		"timeout":     func(s *semaphore.Semaphore) error { return s.AcquireTimeout(time.Hour, 1) },
		"two":         func(s *semaphore.Semaphore) error { s.Release(1); return s.Acquire(bg, 2) },
	} {
		for kind, opts := range kinds {
			t.Run(kind+"/"+name, func(t *testing.T) {
				size := int64(1)
				if name == "two" {
					size = 2
				}
				s := semaphore.New(size, opts...)
				hold := func() { require.True(t, s.TryAcquire(size)) }
				letGo := func() { s.Release(1) }
				require.Less(t, locktest.AllocsPerWait(s, hold, letGo, func() {
					if err := acquire(s); err != nil {
						t.Error(err)
					}
					s.Release(size)
				}), 0.05)
			})
		}
	}
}

// kinds are the semaphores that cost nothing in the steady state.
var kinds = map[string][]semaphore.Option{
	"plain":            nil,
	"array":            {semaphore.WithWaitingArray(nil)},
	"capacitor":        {semaphore.WithCapacitor(1, 64)},
	"capacitor, array": {semaphore.WithCapacitor(1, 64), semaphore.WithWaitingArray(nil)},
	"shares":           {semaphore.WithShares(nil)},
	"priorities":       {semaphore.WithPriorities(3, 16)},
	"caps":             {semaphore.WithShares(nil), semaphore.WithMaxInUse(anyNumber)},
	"time":             {semaphore.WithShares(nil), semaphore.WithDebit(semaphore.DebitTime)},
	"tree":             {semaphore.WithShares(nil), semaphore.WithParent(within)},
	"queue":            {semaphore.WithQueue(semaphore.Queue{MaxWaiting: 100, RefuseLate: true, Shed: semaphore.ShedCoDel})},
}

type ctxKey struct{}

func TestUncontendedAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for kind, opts := range kinds {
		s := semaphore.New(2, opts...)
		require.Zero(t, locktest.AllocsPerRun(200, func() {
			_ = s.Acquire(ctx, 1)
			_ = s.TryAcquire(1)
			s.Release(2)
		}), kind)
		require.EqualValues(t, 1, locktest.AllocsPerRun(200, func() {
			p, _ := s.TryAcquirePermit(1)
			p.Release()
		}), "%s: a permit handle is one allocation", kind)
	}
}

// A request that is refused waits for nothing, and leaves nothing behind. Only the error of one
// that could never be granted has numbers, and is made for it.
func TestRefusalAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	for kind, opts := range kinds {
		s := semaphore.New(1, opts...)
		require.ErrorIs(t, s.Acquire(bg, 2), semaphore.ErrTooLarge, kind)
		s.Close()
		require.Zero(t, locktest.AllocsPerRun(200, func() {
			if err := s.Acquire(bg, 2); !errors.Is(err, semaphore.ErrClosed) {
				t.Errorf("%s: %v", kind, err)
			}
		}), kind)
	}
}

func TestNewAllocatesNothingBesides(t *testing.T) {
	var s *semaphore.Semaphore
	require.EqualValues(t, 1, locktest.AllocsPerRun(200, func() { s = semaphore.New(1) }), "without options")
	requireIdle(t, s)
}

// TestPermitWordHasItsOwnCacheLine: nothing that lies behind a semaphore in memory shares a line
// with its permit word.
func TestPermitWordHasItsOwnCacheLine(t *testing.T) {
	line := uintptr(64)
	require.GreaterOrEqual(t, unsafe.Sizeof(semaphore.Semaphore{}), line)
	s := make([]*semaphore.Semaphore, 64)
	for i := range s {
		s[i] = semaphore.New(1)
	}
	for i := range s {
		for j := range i {
			a, b := uintptr(unsafe.Pointer(s[i])), uintptr(unsafe.Pointer(s[j]))
			require.True(t, a/line != b/line)
		}
	}
}

// The fast paths make no call: their atomic steps are inlined, their slow halves are not.
func TestFastPathsInline(t *testing.T) {
	engine := locktest.GoTool(t, "build", "-gcflags=-m", "./internal/engine")
	for _, f := range []string{"(*Engine).Look", "Permits.Fits", "(*Engine).Take", "(*Engine).Returns", "(*Engine).Give"} {
		require.Contains(t, engine, "can inline "+f)
	}
	sem := locktest.GoTool(t, "build", "-gcflags=-m", "./sync/semaphore")
	for _, call := range []string{"engine.(*Engine).Look", "engine.(*Engine).Take", "engine.(*Engine).Give", "engine.(*Engine).Returns", "engine.Permits.Fits"} {
		require.Contains(t, sem, "inlining call to "+call)
	}
}

// The fast paths of a plain semaphore have no instruction for tenants: none of their code refers to
// orders, and what the fast and the slow path call is what it was before there were any.
func TestPlainPathsKnowNoOrders(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the calls are read from this assembly")
	}
	// Not the cache of a build without -S, which prints nothing.
	out := locktest.GoTool(t, "build", "-gcflags=-S", "./sync/semaphore")
	const name = "github.com/farad-go/farad/sync/semaphore.(*Semaphore)."
	for f, calls := range map[string][]string{
		"Acquire": {
			"acquireNothing", "acquireObserved", "Permits.Keep",
			"Permits.Begin", "engine.End", "Permits.BeginUntil", "Permits.EndUntil", "namedSlow", "waiting.doneOf",
		},
		"TryAcquire": {"acquireNothing", "tryObserved"},
		"Release":    {"releaseObserved", "releaseElse", "Permits.Release"},
	} {
		_, code, ok := strings.Cut(out, name+f+" STEXT")
		require.True(t, ok, f)
		code, _, _ = strings.Cut(code, " STEXT")
		require.False(t, strings.Contains(code, "order"), code)
		found := regexp.MustCompile(`CALL\t(\S+)\(SB\)`).FindAllStringSubmatch(code, -1)
		require.NotZero(t, len(found))
		for _, call := range found {
			known := strings.HasPrefix(call[1], "runtime.") || slices.ContainsFunc(calls, func(s string) bool {
				return strings.HasSuffix(call[1], s)
			})
			require.True(t, known, "%s calls %s", f, call[1])
		}
	}
}

func TestVetSeesCopies(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "copies.go")
	require.NoError(t, os.WriteFile(file, []byte(`package copies

import (
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

func a(s semaphore.Semaphore) {}
func b(f waiter.Future) {}
func c(p semaphore.Permit) {}
`), 0o600))
	out := locktest.GoTool(t, "vet", file)
	require.Len(t, regexp.MustCompile(`passes lock by value`).FindAllString(out, -1), 3, out)
}

// Importing the locks pulls in no module but x/sys, and no executor.
func TestDependencies(t *testing.T) {
	out := locktest.GoTool(t, "list", "-deps", "-f", "{{.ImportPath}}", "./sync/...", "./waiter/...")
	for p := range strings.FieldsSeq(out) {
		first, _, _ := strings.Cut(p, "/")
		if strings.Contains(first, ".") && !strings.HasPrefix(p, "github.com/farad-go/farad/") {
			require.True(t, strings.HasPrefix(p, "golang.org/x/sys/"), "depends on %s", p)
		}
		require.True(t, p != "github.com/farad-go/farad/runtime")
	}
	require.Contains(t, out, "github.com/farad-go/farad/internal/engine")
}

func TestGivingUpAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	for kind, opts := range kinds {
		s := semaphore.New(1, opts...)
		require.NoError(t, s.Acquire(bg, 1))
		var f waiter.Future
		require.Zero(t, locktest.AllocsPerTimeout(200, func() {
			if s.AcquireTimeout(20*time.Microsecond, 1) == nil {
				panic("acquired")
			}
			s.Bind(&f, 1)
			f.Poll(nil)
			f.Release()
		}), kind)
		s.Release(1)
	}
}
