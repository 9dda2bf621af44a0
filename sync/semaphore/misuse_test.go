package semaphore_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// Whatever is wrong with a call is said, with the numbers; and nothing has changed.
func TestMisuseIsToldInWords(t *testing.T) {
	var none context.Context
	empty := new(semaphore.Permit)
	for _, p := range []string{"queue", "capacitor", "array", "shares"} {
		opts := map[string][]semaphore.Option{
			"capacitor": {semaphore.WithCapacitor(1, 4)}, "array": {semaphore.WithWaitingArray(nil)},
			"shares": {semaphore.WithShares(nil)},
		}[p]
		s := semaphore.New(5, opts...)
		require.True(t, s.TryAcquire(2))
		permit, ok := s.TryAcquirePermit(2)
		require.True(t, ok)
		var f waiter.Future
		s.Bind(&f, 2)
		require.False(t, f.Poll(nil))
		other := semaphore.New(1)
		theirs, ok := other.TryAcquirePermit(1)
		require.True(t, ok)

		for text, calls := range map[string][]func(){
			"semaphore: nil context": {
				func() { _ = s.Acquire(none, 1) },
				func() { _ = s.Acquire(none, 0) },
				func() { _, _ = s.AcquirePermit(none, 1) },
			},
			"semaphore: acquire of a negative number of permits": {
				func() { _ = s.Acquire(bg, -1) },
				func() { _ = s.Acquire(none, math.MinInt64) },
				func() { _ = s.AcquireTimeout(0, -1) },
				func() { s.TryAcquire(-1) },
				func() { _, _ = s.AcquirePermit(bg, -1) },
				func() { s.TryAcquirePermit(-1) },
			},
			"semaphore: release of a negative number of permits": {
				func() { s.Release(-1) },
				func() { s.Release(math.MinInt64) },
			},
			"semaphore: negative size": {
				func() { s.Resize(-1) },
				func() { s.Resize(math.MinInt64) },
				func() { semaphore.New(-1, opts...) },
				func() { semaphore.NewWeighted(-1) },
			},
			"semaphore: nil option": {
				func() { semaphore.New(5, nil) },
				func() { semaphore.New(5, append(opts, nil)...) },
			},
			"semaphore: WithMaxWaiting(0): the number must be positive": {
				func() { semaphore.WithMaxWaiting(0) },
			},
			"semaphore: WithCapacitor(0, 1): platoons must be of one at least, and the lane not negative": {
				func() { semaphore.WithCapacitor(0, 1) },
			},
			"semaphore: WithCapacitor(1, -1): platoons must be of one at least, and the lane not negative": {
				func() { semaphore.WithCapacitor(1, -1) },
			},
			"twa: array that NewArray has not made": {
				func() {
					if p != "shares" { // which excludes arrays
						semaphore.New(1, append(opts, semaphore.WithWaitingArray(new(twa.Array)))...)
					}
					semaphore.New(1, semaphore.WithWaitingArray(new(twa.Array)))
				},
			},
			"semaphore: future of a negative number of permits": {
				func() { s.Bind(new(waiter.Future), -1) },
			},
			"semaphore: future of a nil semaphore": {
				func() { (*semaphore.Semaphore)(nil).Bind(new(waiter.Future), 1) },
			},
			"farad: Bind of a future whose request has not ended: Release or Take ends it": {func() { s.Bind(&f, 1) }},
			"semaphore: split of a negative number of permits": {
				func() { permit.Split(-1) },
				func() { empty.Split(-1) },
			},
			"semaphore: split of 3, but the permit holds 2": {func() { permit.Split(3) }},
			"semaphore: split of 1, but the permit holds 0": {
				func() { empty.Split(1) },
				func() { (*semaphore.Permit)(nil).Split(1) },
			},
			"semaphore: merge of permits of different semaphores": {
				func() { permit.Merge(theirs) },
				func() { empty.Merge(permit) },
			},
			"semaphore: merge into a nil permit": {
				func() { (*semaphore.Permit)(nil).Merge(permit) },
			},
		} {
			for i, call := range calls {
				require.PanicsWithValue(t, text, call, "%s: call %d", p, i)
			}
		}
		if p != "array" {
			require.PanicsWithValue(t, "semaphore: released 7, but 4 are held (size 5)", func() { s.Release(7) })
			require.PanicsWithValue(
				t,
				"semaphore: released 9223372036854775807, but 4 are held (size 5)",
				func() { s.Release(math.MaxInt64) },
			)
		}

		require.ErrorIs(t, s.Acquire(bg, math.MaxInt64), semaphore.ErrTooLarge)
		require.False(t, s.TryAcquire(math.MaxInt64))
		require.EqualValues(t, 2, permit.N())
		require.EqualValues(t, 1, s.Waiting())
		theirs.Release()
		permit.Release()
		f.Release()
		s.Release(2)
		requireIdle(t, s)
		requireIdle(t, other)
		empty.Release()
		empty.Split(0).Release()
	}
}

// What is too large is refused with the numbers, in every way to ask; who has forgotten New reads
// so.
func TestARequestThatIsTooLargeNamesTheNumbers(t *testing.T) {
	ways := map[string]func(s *semaphore.Semaphore) error{
		"Acquire":        func(s *semaphore.Semaphore) error { return s.Acquire(bg, 3) },
		"AcquireTimeout": func(s *semaphore.Semaphore) error { return s.AcquireTimeout(time.Hour, 3) },
		"As":             func(s *semaphore.Semaphore) error { return s.As("a").Acquire(bg, 3) },
		"AcquirePermit":  func(s *semaphore.Semaphore) error { _, err := s.AcquirePermit(bg, 3); return err },
		"Bind": func(s *semaphore.Semaphore) error {
			var f waiter.Future
			s.Bind(&f, 3)
			<-f.Done()
			return f.Err()
		},
	}
	for name, ask := range ways {
		for kind, s := range map[string]*semaphore.Semaphore{
			"plain":     semaphore.New(2),
			"array":     semaphore.New(2, semaphore.WithWaitingArray(nil)),
			"capacitor": semaphore.New(2, semaphore.WithCapacitor(1, 8)),
			"shares":    semaphore.New(2, semaphore.WithShares(nil)),
		} {
			err := ask(s)
			require.ErrorIs(t, err, semaphore.ErrTooLarge, "%s, %s", kind, name)
			require.Equal(t, "semaphore: a request for 3 permits exceeds the size, 2", err.Error(), "%s, %s", kind, name)
			records.Watch(s, t.Name(), observed.Counts)
			require.Equal(t, err.Error(), ask(s).Error(), "%s, %s, observed", kind, name)
			records.Unwatch(s)
		}
		require.Equal(t, "semaphore: a request for 3 permits exceeds the size, 0; a semaphore that was not made by New has no permits", ask(new(semaphore.Semaphore)).Error(), name)
	}
	require.PanicsWithValue(t,
		"semaphore: released 1, but 0 are held (size 0); a semaphore that was not made by New has no permits",
		func() { new(semaphore.Semaphore).Release(1) })
}
