package capacitor

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/twa"
)

// Whatever is wrong with a call is said, with the numbers; and nothing has changed.
func TestMisuseIsToldInWords(t *testing.T) {
	var none context.Context
	var zero Wrapped[*mutex.Word]
	var zeroOfAny Wrapped[sync.Locker]
	w, plain := Wrap(new(mutex.Word), 2), Wrap(bare{new(sync.Mutex)}, 1)
	g, array := NewGate(2), NewGate(2, WithWaitingArray(nil))
	const unmade = "capacitor: Wrapped that Wrap has not made"
	for text, calls := range map[string][]func(){
		"capacitor: nil context": {
			func() { _ = w.LockContext(none) },
			func() { _ = g.Arrive(none) },
			func() { _ = array.Arrive(none) },
		},
		"capacitor: depart without arrive (arrived 0, departed 0, platoons of 2)": {
			g.Depart,
			array.Depart,
		},
		"capacitor: depart without arrive (arrived 0, departed 0, platoons of 1)": {new(Gate).Depart},
		"capacitor: NewGate takes no option but WithWaitingArray": {
			func() { NewGate(1, WithExpress(1)) },
			func() { NewGate(1, WithExpress(0)) },
			func() { NewGate(1, WhenContended()) },
			func() { NewGate(1, WithWaitingArray(nil), WithBypass(0.5)) },
		},
		"capacitor: platoons of 0: the number must be from 1 to 576460752303423488": {
			func() { NewGate(0) }, func() { Wrap(new(mutex.Word), 0) },
		},
		"capacitor: platoons of -1: the number must be from 1 to 576460752303423488": {
			func() { NewGate(-1) },
		},
		"capacitor: platoons of 576460752303423489: the number must be from 1 to 576460752303423488": {
			func() { NewGate(engine.MaxPermits + 1) },
		},
		fmt.Sprintf("capacitor: platoons of %d: in a waiting array the number must be from 1 to %d", twa.MaxPermits+1, twa.MaxPermits): {
			func() { NewGate(twa.MaxPermits+1, WithWaitingArray(nil)) },
			func() { Wrap(new(mutex.Word), twa.MaxPermits+1, WithWaitingArray(nil)) },
		},
		"capacitor: nil option": {
			func() { NewGate(1, nil) },
			func() { Wrap(new(mutex.Word), 1, nil) },
		},
		"twa: array that NewArray has not made": {
			func() { NewGate(1, WithWaitingArray(new(twa.Array))) },
		},
		"capacitor: WithExpress(-1): a negative number of places": {
			func() { WithExpress(-1) },
		},
		"capacitor: WithBypass(0): not a probability between 0 and 1": {
			func() { WithBypass(0) },
		},
		"capacitor: WithBypass(1): not a probability between 0 and 1": {
			func() { WithBypass(1) },
		},
		"capacitor: WithBypass(NaN): not a probability between 0 and 1": {
			func() { WithBypass(math.NaN()) },
		},
		"capacitor: WithBypass(-0.5): not a probability between 0 and 1": {
			func() { WithBypass(-0.5) },
		},
		"capacitor: Wrap of a nil lock": {
			func() { Wrap[sync.Locker](nil, 1) },
			func() { Wrap[*sync.Mutex](nil, 1) },
			func() { Wrap[sync.Locker]((*sync.Mutex)(nil), 1) },
		},
		"capacitor: the lock has no TryLock": {
			func() { plain.TryLock() },
			func() { Wrap(bare{}, 1, WhenContended()) },
			func() { Wrap(bare{}, 1, WithExpress(1)) },
		},
		unmade: {
			zero.Lock, zero.Unlock, zeroOfAny.Lock, zeroOfAny.Unlock,
			func() { zero.TryLock() },
			func() { zeroOfAny.TryLock() },
			func() { _ = zero.LockContext(bg) },
			func() { _ = zeroOfAny.LockContext(bg) },
			func() { zero.Waiting() },
		},
	} {
		for i, call := range calls {
			require.PanicsWithValue(t, text, call, "call %d", i)
		}
	}
	require.ErrorIs(t, g.ArriveTimeout(-1), context.DeadlineExceeded)
	require.True(t, w.TryLock())
	w.Unlock()
	for _, g := range []*Gate{g, array, w.Gate()} {
		require.Zero(t, g.Population())
		require.Zero(t, g.Platoon())
	}
	require.EqualValues(t, engine.MaxPermits, NewGate(engine.MaxPermits).Size())
	require.EqualValues(t, twa.MaxPermits, NewGate(twa.MaxPermits, WithWaitingArray(nil)).free())
}
