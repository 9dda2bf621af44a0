package waiting

import (
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest/require"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// links checks the queue against the slice that it should be, in both directions.
func links(t *testing.T, q *Queue, want []*Waiter) {
	t.Helper()
	var got []*Waiter
	for w := q.Front(); w != nil; w = q.Next(w) {
		got = append(got, w)
	}
	require.Equal(t, len(want), q.Len())
	require.True(t, slices.Equal(want, got))
	got = got[:0]
	for w := q.Back(); w != nil; w = q.Prev(w) {
		got = append(got, w)
	}
	slices.Reverse(got)
	require.True(t, slices.Equal(want, got), "backwards")
}

func TestQueueIsFIFOUnderAnyOperations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var q Queue
	var want []*Waiter
	for range 20000 {
		switch rng.IntN(6) {
		case 0, 1:
			w := new(Waiter)
			q.PushBack(w)
			want = append(want, w)
		case 2:
			w := new(Waiter)
			q.PushFront(w)
			want = slices.Insert(want, 0, w)
		case 3:
			w := q.PopFront()
			if len(want) == 0 {
				require.Nil(t, w)
				continue
			}
			require.True(t, want[0] == w)
			require.False(t, q.Remove(w), "not queued any more")
			require.Nil(t, q.Prev(w), "not queued any more")
			want = want[1:]
		default:
			if len(want) == 0 {
				continue
			}
			i := rng.IntN(len(want))
			w := want[i]
			require.True(t, q.Remove(w))
			require.False(t, q.Remove(w), "removed twice")
			want = slices.Delete(want, i, i+1)
		}
		if len(want) < 20 {
			links(t, &q, want)
		}
	}
	links(t, &q, want)
	require.False(t, q.Remove(new(Waiter)), "never queued")
}

// The batch is emptied in the order of the claims, and a node may be used again as soon as it has
// got its outcome.
func TestWakeListWakesInOrderAndForgets(t *testing.T) {
	var l WakeList
	require.Zero(t, l.Wake())
	var order []int
	ws := make([]Waiter, 5)
	var again WakeList
	for i := range ws {
		w := &ws[i]
		w.N = int64(i)
		w.Arm(wakerFunc(func() {
			order = append(order, i)
			require.Equal(t, StatusComplete, w.Status())
			require.Equal(t, []Outcome{Granted, Closed}[i%2], w.Outcome())
			w.Reset()
			w.Arm(nil)
			again.Add(w, Closed) // must not confuse the batch that is being emptied
		}))
		l.Add(w, []Outcome{Granted, Closed}[i%2])
	}
	require.Zero(t, l.Wake())
	require.Equal(t, []int{0, 1, 2, 3, 4}, order)
	require.Zero(t, l.Wake(), "the list is empty")
	require.Zero(t, again.Wake())
	for i := range ws {
		require.Equal(t, Closed, ws[i].Outcome())
	}
	var w Waiter
	w.Arm(nil)
	l.Add(&w, Granted) // the list may be used again
	require.Zero(t, l.Wake())
	require.Equal(t, StatusComplete, w.Status())
}

func TestWakeListReturnsWhatWasRefused(t *testing.T) {
	var l WakeList
	ws := make([]Waiter, 5)
	for i := range ws {
		ws[i].N = int64(10 + i)
		ws[i].Arm(nil)
		l.Add(&ws[i], []Outcome{Granted, Granted, Closed, Granted, Granted}[i])
	}
	ws[4].N = 0
	require.True(t, ws[4].Abandon())
	var last Waiter
	last.Arm(nil)
	l.Add(&last, Granted)
	require.True(t, ws[1].Abandon())
	require.True(t, ws[2].Abandon())
	require.True(t, ws[3].Abandon())
	require.EqualValues(t, 11, l.Wake())
	require.EqualValues(t, 13, l.Wake(), "a refused close grants nothing")
	require.Zero(t, l.Wake(), "who was granted nothing has nothing to give back")
	require.Equal(t, StatusComplete, last.Status(), "who was behind it")
	require.Equal(t, StatusComplete, ws[0].Status())
	require.True(t, (ws[1].Status() == StatusIdle) && (ws[2].Status() == StatusIdle) && (ws[3].Status() == StatusIdle))
}

// A wakerFunc is a function that serves as a Waker.
type wakerFunc func()

// Wake calls f.
func (f wakerFunc) Wake() { f() }
