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

// Under the race detector what goes by the address of a stack goes by one of the heap.
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
			<-held // It runs still, so its stack is nobody else's.
		}()
		distinct[locktest.Receive(t, keys)] = true
	}
	close(held)
	require.Greater(t, len(distinct), 32)
}

// Nobody's wait allocates, with or without a context that can be cancelled, nor does a permit that
// is moved.
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
	pass := func() { l.Lock(); l.Unlock(); l.Lock(); l.Unlock() } //nolint:staticcheck // nothing in between, on purpose
	require.Zero(t, locktest.AllocsPerWait(g, hold, l.Unlock, pass))
}

// What several processors write is 128 bytes apart.
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
