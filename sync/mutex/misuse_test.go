package mutex_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
)

// Whatever is wrong with a call is said, with the numbers; and nothing has changed.
func TestMisuseIsToldInWords(t *testing.T) {
	var none context.Context
	var m mutex.Mutex
	var w mutex.Word
	var g mutex.Guard[int]
	var pointer mutex.Pointer[int]
	var small mutex.Pointer[byte]
	p := mutex.NewPacked(3)
	var waits waiter.Future
	m.Lock()
	m.Bind(&waits)
	require.False(t, waits.Poll(nil))
	for text, calls := range map[string][]func(){
		"mutex: nil context": {
			func() { _ = m.LockContext(none) },
			func() { _ = w.LockContext(none) },
			func() { _ = p.LockContext(none, 0) },
			func() { _ = pointer.LockContext(none) },
			func() { _ = g.DoContext(none, func(*int) {}) },
		},
		"mutex: Do of a nil function": {func() { g.Do(nil) }},
		"mutex: DoContext of a nil function": {
			func() { _ = g.DoContext(bg, nil) },
		},
		"mutex: Guard.Value of a guard that is not locked": {func() { g.Value() }},
		"mutex: unlock of unlocked mutex": {
			func() { new(mutex.Mutex).Unlock() },
			w.Unlock,
			func() { p.Unlock(2) },
			pointer.Unlock,
			small.Unlock,
		},
		"mutex: lock 3 of 3": {
			func() { p.Lock(3) },
			func() { p.TryLock(3) },
			func() { p.Unlock(3) },
			func() { p.Locker(3) },
			func() { p.Waiting(3) },
			func() { _ = p.LockContext(bg, 3) },
			func() { p.LockTimeout(0, 3) },
		},
		"mutex: lock -1 of 3": {
			func() { p.Lock(-1) },
		},
		fmt.Sprintf("mutex: lock %d of 3", math.MinInt): {
			func() { p.Lock(math.MinInt) },
		},
		"mutex: lock 0 of 0": {
			func() { new(mutex.Packed).Lock(0) },
		},
		"mutex: NewPacked(-1): a negative number": {
			func() { mutex.NewPacked(-1) },
		},
		"mutex: Pointer to something that is too small, or not aligned to 4 bytes": {
			func() { small.Store(new(byte)) },
		},
		"mutex: future of a nil mutex": {
			func() { (*mutex.Mutex)(nil).Bind(new(waiter.Future)) },
		},
		"farad: Bind of a future whose request has not ended: Release or Take ends it": {
			func() { m.Bind(&waits) },
		},
	} {
		for i, call := range calls {
			require.PanicsWithValue(t, text, call, "call %d", i)
		}
	}
	if strconv.IntSize == 64 { // elsewhere an int is never too large
		const most = "mutex: NewPacked(%d): more than fit into any memory"
		for _, n := range []uint{math.MaxInt, math.MaxInt - 1, math.MaxInt / 2, math.MaxInt >> 12} {
			require.PanicsWithValue(t, fmt.Sprintf(most, n), func() { mutex.NewPacked(int(n)) })
		}
	}
	require.Equal(t, 1, m.Waiting())
	waits.Release()
	m.Unlock()
	require.False(t, m.LockTimeout(0))
	require.False(t, m.LockTimeout(math.MinInt64))
	require.Nil(t, pointer.Load())
	pointer.Store(nil)
	for _, l := range []interface {
		TryLock() bool
		Unlock()
	}{&m, &w, g.Mutex(), &pointer, &small} {
		require.True(t, l.TryLock())
		l.Unlock()
	}
	for i := range p.Len() {
		require.True(t, p.TryLock(i))
		p.Unlock(i)
	}
}
