package order

import (
	"math/rand/v2"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// An urgent is a request with a class, whose overtakers are counted.
type urgent struct {
	w      waiting.Waiter
	ticket *Ticket
	class  int
	seq    int
	newer  int64 // permits popped since that came later
	last   int64 // of which the last request had so many
}

// A race is an Order with priorities. Of each request it counts the permits of those that came
// later and are popped before it.
type race struct {
	t       testing.TB
	order   *Order
	aging   int64
	waiting []*urgent
	seq     int
	tight   float64 // the largest part of a bound that was reached
}

func newRace(t testing.TB, classes, aging int) *race {
	return &race{t: t, order: New(Config{Classes: classes, Aging: aging}), aging: int64(aging)}
}

func (r *race) push(class int, n int64) *urgent {
	u := &urgent{class: class, seq: r.seq}
	r.seq++
	u.w.N = n
	var wake waiting.WakeList
	u.ticket, _ = r.order.Push(&u.w, &By{Tenant: class}, 0, true, &wake)
	r.waiting = append(r.waiting, u)
	return u
}

func (r *race) drop(i int) *urgent {
	u := r.waiting[i]
	r.waiting = append(r.waiting[:i], r.waiting[i+1:]...)
	return u
}

func (r *race) remove(i int) {
	u := r.drop(i)
	require.True(r.t, r.order.Remove(u.ticket, &u.w))
}

func (r *race) pop() *urgent {
	var wake waiting.WakeList
	w := r.order.Pop(0, &wake)
	for i, u := range r.waiting {
		if &u.w != w {
			continue
		}
		r.drop(i)
		for _, older := range r.waiting {
			if older.seq > u.seq {
				continue
			}
			require.Less(r.t, u.class, older.class, "a request overtakes one that is as urgent and came before it")
			older.newer += u.w.N
			older.last = u.w.N
			bound := int64(older.class)*r.aging - 1 + older.last
			require.LessOrEqual(r.t, older.newer, bound, "class %d", older.class)
			r.tight = max(r.tight, float64(older.newer)/float64(bound))
		}
		return u
	}
	require.Fail(r.t, "nothing comes")
	return nil
}

// Who comes later overtakes a request of class c for at most c × aging - 1 permits and one request.
// In class 0 nobody does.
func TestAgeingBoundsOvertaking(t *testing.T) {
	rounds := uint64(60)
	if locktest.Stress() {
		rounds = 300
	}
	tight := 0.0
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 5))
		classes, aging := 1+rng.IntN(6), 1+rng.IntN(30)
		r := newRace(t, classes, aging)
		largest, fill, cancels := 1+rng.Int64N(9), 2+rng.IntN(30), rng.IntN(20)
		for range 500 {
			switch {
			case len(r.waiting) > 0 && rng.IntN(100) < cancels:
				r.remove(rng.IntN(len(r.waiting)))
			case rng.IntN(2*fill) >= len(r.waiting):
				r.push(min(rng.IntN(classes), rng.IntN(classes)), 1+rng.Int64N(largest))
			default:
				r.pop()
			}
		}
		for len(r.waiting) > 0 {
			r.pop()
		}
		require.Empty(t, unsound(r.order))
		tight = max(tight, r.tight)
	}
	t.Logf("up to %.3f of a bound", tight)
	require.Greater(t, tight, 0.95, "the schedules do not try hard")
}

// The most urgent requests come without end, and the least urgent one gets its turn. No smaller
// bound holds.
func TestAgeingBoundIsReached(t *testing.T) {
	const classes, aging, large = 4, 10, 7
	r := newRace(t, classes, aging)
	u := r.push(classes-1, 1)
	for range (classes-1)*aging - 1 {
		r.push(0, 1)
		require.True(t, u != r.pop())
	}
	r.push(0, large)
	r.pop()
	require.Equal(t, int64((classes-1)*aging-1+large), u.newer)
	r.push(0, 1)
	require.Same(t, u, r.pop())
}

func TestClassesAreStrictUntilTheyAge(t *testing.T) {
	r := newRace(t, 3, 1000)
	for i := range 30 {
		r.push(2-i%3, 1)
	}
	for i := range 30 {
		require.Equal(t, i/10, r.pop().class)
	}
}
