//go:build !interleave

package lanes

import (
	"context"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/papers/innerlocks"
	"github.com/farad-go/farad/internal/locktest"
)

// Under the race detector the address of a stack varies like that of a heap object.
func TestKeysOfGoroutines(t *testing.T) {
	locktest.SkipUnderRace(t)
	require.Equal(t, ByGoroutine(), ByGoroutine(), "of one goroutine")
	require.NotEqual(t, AtRandom(), AtRandom())
	keys := make(chan uint64)
	held := make(chan struct{})
	distinct := map[uint64]bool{}
	for range 64 {
		go func() {
			keys <- ByGoroutine()
			<-held // It still runs, so no other goroutine has its stack.
		}()
		distinct[locktest.Receive(t, keys)] = true
	}
	close(held)
	require.Greater(t, len(distinct), 32)
}

// No wait allocates, with or without a context that can be cancelled, and no move of a permit does.
func TestWaitsAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	cancellable, cancel := context.WithCancel(bg)
	defer cancel()
	for name, ctx := range map[string]context.Context{"background": bg, "cancellable": cancellable} {
		g := New(2, 1)
		arrive := func() { _ = g.Arrive(ctx, 0) }
		depart := func() { g.Depart(0) }
		require.Zero(
			t,
			locktest.AllocsPerWait(
				g,
				func() { arrive(); arrive(); depart() },
				depart,
				func() { arrive(); depart(); arrive(); depart() },
			),
			name,
		)
	}
	g := New(2, 1)
	l := Wrap(new(innerlocks.MCS), g, AtRandom)
	hold := func() { // as the last of a platoon
		_ = g.Arrive(bg, 0)
		g.Depart(0)
		l.Lock()
	}
	pass := func() { l.Lock(); l.Unlock(); l.Lock(); l.Unlock() }
	require.Zero(t, locktest.AllocsPerWait(g, hold, l.Unlock, pass))
}

// Words that several processors write are 128 bytes apart.
func TestLinesAreNotShared(t *testing.T) {
	g := New(3, 1)
	words := []uintptr{
		reflect.ValueOf(g).Pointer(),
		uintptr(unsafe.Pointer(&g.departed)),
		uintptr(unsafe.Pointer(&g.moved)),
	}
	for i := 1; i < len(words); i++ {
		require.GreaterOrEqual(t, words[i]-words[i-1], uintptr(apart))
	}
	require.GreaterOrEqual(t, unsafe.Sizeof(g.lanes[0]), unsafe.Sizeof(g.lanes[0].Engine)+apart)
}
