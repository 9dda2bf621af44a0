//go:build !interleave

package sync

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

func TestSizeIsAsDocumented(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 && !xsync.Races {
		require.EqualValues(t, 16, unsafe.Sizeof(Mutex{}))
		require.EqualValues(t, 24, unsafe.Sizeof(RWMutex{}))
	}
}

// No wait allocates, be it at the gate or behind it.
func TestWaitingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	forEachLane(t, func(t *testing.T, create func() *Mutex) {
		for name, wait := range map[string]func(m *Mutex){
			"Lock":        (*Mutex).Lock,
			"LockContext": func(m *Mutex) { _ = m.LockContext(ctx) },
			"LockTimeout": func(m *Mutex) { m.LockTimeout(time.Hour) },
		} {
			t.Run(name, func(t *testing.T) {
				m := create()
				allocs := locktest.AllocsPerWait(m, m.Lock, m.Unlock, func() { wait(m); m.Unlock() })
				require.Zero(t, allocs)
			})
		}
	})
}

// gateLock is a mutex of which only the gate matters.
type gateLock struct{ Mutex }

func (g *gateLock) Waiting() int { return g.gate.waiting() }

// Nor does one in the line of the gate.
func TestWaitingAtTheGateAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for name, limit := range map[string]func() waiting.Limit{
		"none":    func() waiting.Limit { return waiting.Limit{} },
		"context": func() waiting.Limit { return waiting.UntilDone(ctx) },
		"timeout": func() waiting.Limit { return waiting.After(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			g := new(gateLock)
			allocs := locktest.AllocsPerWait(g, func() { g.gate.tryPass() }, func() { g.gate.open(g) }, func() {
				_, _, _ = g.gate.pass(g, rwWriter, limit())
				g.gate.open(g)
			})
			require.Zero(t, allocs)
			require.True(t, g.gate.isOpen())
		})
	}
}

// A lock that nobody else wants costs no call.
func TestFastPathsAreInlined(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 4 {
		t.Skip("64-bit atomics are calls on 32-bit machines")
	}
	out := locktest.GoTool(t, "build", "-gcflags=-m", "./sync")
	for _, f := range []string{"(*Mutex).Lock", "(*Mutex).Unlock", "(*RWMutex).RLock", "(*RWMutex).RUnlock"} {
		require.Contains(t, out, "can inline "+f+"\n")
	}
}
