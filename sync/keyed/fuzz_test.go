package keyed_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/sync/keyed"
)

// FuzzAgainstOracle runs sequences of calls that do not wait on a semaphore and a read-write lock
// by keys, and on maps of counters, and compares what can be seen after each.
func FuzzAgainstOracle(f *testing.F) {
	f.Add(byte(3), []byte{0x01, 0x12, 0x21, 0x13, 0x22, 0x31})
	f.Add(byte(1), []byte{0x41, 0x51, 0x42, 0x61, 0x62, 0x71, 0x81, 0x91})
	f.Add(byte(7), []byte{0x44, 0x54, 0x94, 0x54, 0x84, 0x64, 0x74, 0xA4, 0xB4, 0xA1, 0xB8})
	f.Fuzz(func(t *testing.T, size byte, ops []byte) {
		o := oracle{size: int64(size % 4), permits: map[int]int64{}, holders: map[int]int{}}
		s, rw := keyed.NewSemaphore[int](o.size), new(keyed.RWMutex[int])
		for i, op := range ops[:min(len(ops), 200)] {
			k, what := int(op&7), fmt.Sprintf("step %d, op %#x", i, op)
			n := int64(op>>3&1) + 1
			group := []int{k, k ^ 1, k, k ^ 5}
			switch op >> 4 {
			case 0, 1:
				require.Equal(t, o.acquire(k, n), s.TryAcquire(k, n), what)
			case 2, 3:
				requireEffect(t, what, o.release(k, n), func() { s.Release(k, n) })
			case 4:
				require.Equal(t, o.add(k, writer), rw.TryLock(k), what)
			case 5, 6:
				require.Equal(t, o.add(k, 1), rw.TryRLock(k), what)
			case 7:
				requireEffect(t, what, o.unlock(writer, k), func() { rw.Unlock(k) })
			case 8:
				requireEffect(t, what, o.unlock(1, k), func() { rw.RUnlock(k) })
			case 9:
				if o.free(group) {
					rw.Lock(group...)
					o.add(group[0], writer)
					o.add(group[1], writer)
					o.add(group[3], writer)
				}
			case 10:
				requireEffect(t, what, o.unlock(writer, group...), func() { rw.Unlock(group...) })
			case 11:
				requireEffect(t, what, o.unlock(1, group...), func() { rw.RUnlock(group...) })
			default:
			}
			require.Equal(t, len(o.permits), s.Len(), what)
			require.Equal(t, len(o.holders), rw.Len(), what)
		}
	})
}

// requireEffect checks that f panics unless it is legal.
func requireEffect(t *testing.T, what string, legal bool, f func()) {
	t.Helper()
	require.Equal(t, legal, require.PanicOf(f) == nil, what)
}

// An oracle has what is held of each key.
type oracle struct {
	size    int64
	permits map[int]int64 // of the semaphore
	holders map[int]int   // of the read-write lock
}

const writer = 1000 // more than there are readers: a sequence has 200 calls

func (o *oracle) acquire(k int, n int64) bool {
	if o.permits[k]+n > o.size {
		return false
	}
	o.permits[k] += n
	return true
}

func (o *oracle) release(k int, n int64) bool {
	if o.permits[k] < n {
		return false
	}
	if o.permits[k] -= n; o.permits[k] == 0 {
		delete(o.permits, k)
	}
	return true
}

func (o *oracle) add(k, n int) bool {
	if o.holders[k] >= writer || n == writer && o.holders[k] > 0 {
		return false
	}
	o.holders[k] += n
	return true
}

func (o *oracle) free(keys []int) bool {
	return !slices.ContainsFunc(keys, func(k int) bool { return o.holders[k] > 0 })
}

// unlock ends one holder of each key, or none.
func (o *oracle) unlock(n int, keys ...int) bool {
	slices.Sort(keys)
	keys = slices.Compact(slices.Clone(keys))
	for _, k := range keys {
		if held := o.holders[k]; held < n || n != writer && held >= writer {
			return false
		}
	}
	for _, k := range keys {
		if o.holders[k] -= n; o.holders[k] == 0 {
			delete(o.holders, k)
		}
	}
	return true
}
