package series

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/observe"
)

func lock(id uint64, name string, acquired uint64) observe.Lock {
	return observe.Lock{
		ID: id, Name: name, Kind: "mutex.Mutex", Since: time.Unix(int64(id), 0), Size: 1, Held: 1, Waiting: 2, Peak: 3,
		Counts: observe.Counts{Acquired: acquired},
		Wait:   observe.Histogram{Count: 1, Sum: time.Second, Buckets: []uint64{1}, First: -int(id)},
	}
}

func snapshot(locks ...observe.Lock) *observe.Snapshot { return &observe.Snapshot{Locks: locks} }

func TestLocksOfOneNameAreOneSeries(t *testing.T) {
	all := new(Book).Read(snapshot(lock(1, "b", 5), lock(2, "a", 7), lock(4, "b", 6)))
	require.Len(t, all, 2)
	require.Equal(t, "a", all[0].Name)
	b := all[1]
	require.Equal(t, uint64(11), b.Counts.Acquired)
	require.Equal(t, int64(2), b.Size)
	require.Equal(t, 4, b.Waiting)
	require.Equal(t, 3, b.Peak, "of one lock")
	require.Equal(t, time.Unix(1, 0), b.Since)
	both := observe.Histogram{Count: 2, Sum: 2 * time.Second, Buckets: []uint64{1, 0, 0, 1}, First: -4}
	require.Equal(t, both, b.Wait)
}

// A counter of a lock is one of the series, too.
func TestEveryCounterIsSummed(t *testing.T) {
	counts := func(n uint64) (c observe.Counts) {
		for i, v := 0, reflect.ValueOf(&c).Elem(); i < v.NumField(); i++ {
			v.Field(i).SetUint(n)
		}
		return c
	}
	all := new(Book).Read(snapshot(
		observe.Lock{ID: 1, Counts: counts(2)}, observe.Lock{ID: 2, Counts: counts(3)}))
	require.Equal(t, counts(5), all[0].Counts)
}

// A counter that falls would be taken for a restart of the process.
func TestCountersNeverFall(t *testing.T) {
	var b Book
	locks := map[uint64]observe.Lock{}
	last := map[string]uint64{}
	for id := range uint64(300) {
		locks[id] = lock(id, fmt.Sprint(id%7), rand.Uint64N(10))
		var now []observe.Lock
		for id, l := range locks {
			switch rand.IntN(5) {
			case 0: // collected
				delete(locks, id)
				continue
			case 1: // observed anew
				l.Counts, l.Since = observe.Counts{}, l.Since.Add(time.Minute)
			default:
				l.Counts.Acquired++
			}
			locks[id] = l
			now = append(now, l)
		}
		for _, s := range b.Read(snapshot(now...)) {
			require.GreaterOrEqual(t, s.Counts.Acquired, last[s.Name])
			last[s.Name] = s.Counts.Acquired
		}
	}
	require.Len(t, last, 7)
}

func TestKeysWithoutALockAreBounded(t *testing.T) {
	var b Book
	for round := range 4 {
		var locks []observe.Lock
		for id := range uint64(maxGone) {
			locks = append(locks, lock(id, fmt.Sprint(round, id), 1))
		}
		b.Read(snapshot(locks...))
		require.LessOrEqual(t, len(b.gone), maxGone)
	}
}

func TestMergeChangesNeither(t *testing.T) {
	x := observe.Histogram{Count: 3, Sum: 5, Buckets: []uint64{1, 2}, First: -9}
	y := observe.Histogram{Count: 1, Sum: 1, Buckets: []uint64{1}, First: -8}
	require.Equal(t, observe.Histogram{Count: 4, Sum: 6, Buckets: []uint64{1, 3}, First: -9}, merge(x, y))
	require.Equal(t, []uint64{1, 2}, x.Buckets)
	require.Equal(t, x, merge(x, observe.Histogram{}))
	require.Equal(t, x, merge(observe.Histogram{}, x))
}
