package spec

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func op(kind Kind, n, call, ret int64, result Result) Op {
	return Op{Kind: kind, N: n, Call: call, Return: ret, Result: result}
}

// within is an Acquire with a context.
func within(n, call, ret int64, result Result) Op {
	o := op(Acquire, n, call, ret, result)
	o.Context = true
	return o
}

// Histories that are runs of a FIFO semaphore, each with some that differ in little, and are not.
func TestHistories(t *testing.T) {
	for name, c := range map[string]struct {
		size int64
		ok   bool
		ops  []Op
	}{
		"nothing": {1, true, nil},

		"one after the other": {1, true, []Op{
			op(Acquire, 1, 1, 2, Granted), op(Release, 1, 3, 4, Done), op(TryAcquire, 1, 5, 6, Granted),
		}},
		"two hold one permit": {1, false, []Op{op(Acquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 4, Granted)}},
		"two hold one permit, at the same time": {1, false, []Op{
			op(Acquire, 1, 1, 3, Granted), op(Acquire, 1, 2, 4, Granted),
		}},
		"a grant before its release": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 5, Granted), op(Release, 1, 6, 7, Done),
		}},
		"a permit is lost": {1, false, []Op{
			op(Acquire, 1, 1, 2, Granted), op(Release, 1, 3, 4, Done), op(TryAcquire, 1, 5, 6, Refused),
		}},
		"refused during the release": {1, true, []Op{
			op(Acquire, 1, 1, 2, Granted), op(Release, 1, 3, 6, Done), op(TryAcquire, 1, 4, 5, Refused),
		}},

		"a try overtakes a waiter": {2, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 2, 3, 12, Granted), // waits: see the refusal
			op(TryAcquire, 1, 4, 5, Refused), op(TryAcquire, 1, 6, 7, Granted),
			op(Release, 1, 8, 9, Done), op(Release, 1, 10, 11, Done),
		}},
		"a try before the waiter": {2, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 2, 3, 12, Granted), op(TryAcquire, 1, 6, 7, Granted),
			op(Release, 1, 8, 9, Done), op(Release, 1, 10, 11, Done),
		}},
		"a try between a release and its grant": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 13, Granted),
			op(TryAcquire, 1, 4, 5, Refused), op(Acquire, 1, 6, 14, Granted),
			op(Release, 1, 7, 8, Done), op(TryAcquire, 1, 9, 10, Granted), op(Release, 1, 11, 12, Done),
		}},
		"the queue is overtaken": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, Never, None), op(Acquire, 1, 4, 7, Granted),
			op(TryAcquire, 1, 5, 6, Granted),
		}},
		"a small request overtakes a large one": {2, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 2, 3, 11, Granted), op(TryAcquire, 1, 4, 5, Refused),
			op(Acquire, 1, 6, 7, Granted), op(Release, 1, 8, 9, Done), op(Release, 1, 10, 12, Done),
		}},
		"two waiters, in order": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 8, Granted), op(Acquire, 1, 4, Never, None),
			op(Release, 1, 5, 7, Done),
		}},
		"two waiters that came together, in either order": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, Never, None), op(Acquire, 1, 4, 8, Granted),
			op(Release, 1, 5, 7, Done),
		}},
		"a release serves all that fit": {3, true, []Op{
			op(TryAcquire, 3, 1, 2, Granted), op(Acquire, 1, 3, 8, Granted), op(Acquire, 2, 4, 9, Granted),
			op(Release, 3, 5, 6, Done), op(TryAcquire, 1, 10, 11, Refused),
		}},
		"a release serves one of two that fit": {3, false, []Op{
			op(TryAcquire, 3, 1, 2, Granted), op(Acquire, 1, 3, 8, Granted), op(Acquire, 2, 4, Never, None),
			op(Release, 3, 5, 6, Done),
		}},

		"a cancel before the release wins": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), within(1, 3, 8, Granted),
			op(Cancel, 0, 4, 5, Done), op(Release, 1, 6, 7, Done),
		}},
		"and the permit is back": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), within(1, 3, 8, Cancelled),
			op(Cancel, 0, 4, 5, Done), op(Release, 1, 6, 7, Done),
			op(TryAcquire, 1, 9, 10, Granted),
		}},
		"a release before the cancel wins": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), within(1, 3, 8, Granted),
			op(Release, 1, 4, 5, Done), op(Cancel, 0, 6, 7, Done),
		}},
		"a cancel after the request loses": {1, true, []Op{within(1, 1, 4, Granted), op(Cancel, 0, 2, 3, Done)}},
		"a cancel before the request wins": {1, false, []Op{op(Cancel, 0, 1, 2, Done), within(1, 3, 4, Granted)}},
		"a cancel ends a wait too early":   {1, false, []Op{within(1, 1, 2, Cancelled), op(Cancel, 0, 3, 4, Done)}},
		"a cancel ends no other wait": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 6, Granted), op(Cancel, 0, 4, 5, Done),
		}},
		"a cancel is not heard": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), within(1, 3, Never, None), op(Cancel, 0, 4, 5, Done),
		}},

		"a lost wake-up": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, Never, None), op(Release, 1, 4, 5, Done),
		}},
		"asleep although no goroutine holds anything": {1, false, []Op{op(Acquire, 1, 1, Never, None)}},
		"asleep because all is held": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, Never, None),
		}},
		"asleep behind one that does not fit": {2, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 2, 3, Never, None), op(Acquire, 1, 4, Never, None),
		}},
		"asleep behind no waiter": {2, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 2, 3, 6, Cancelled), op(Acquire, 1, 4, Never, None),
		}},
		"asleep before a close": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, Never, None), op(Close, 0, 4, 5, Done),
		}},
		"a release that never returns": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Release, 1, 3, Never, None),
		}},

		"cancelled, and the next one served": {2, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 2, 3, 6, Cancelled), op(TryAcquire, 1, 4, 5, Refused),
			op(TryAcquire, 1, 7, 8, Granted),
		}},
		"cancelled, but still in the way": {2, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 2, 3, 6, Cancelled), op(TryAcquire, 1, 7, 8, Refused),
		}},
		"cancelled after the grant": {1, true, []Op{ // or else the last one is not refused
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 8, Cancelled), op(Release, 1, 4, 5, Done),
			op(TryAcquire, 1, 6, 7, Refused), op(TryAcquire, 1, 9, 10, Granted),
		}},
		"cancelled after the grant, and the permit lost": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 6, Cancelled), op(Release, 1, 4, 5, Done),
			op(TryAcquire, 1, 9, 10, Refused),
		}},
		"cancelled from the middle": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 9, Granted), op(Acquire, 1, 4, 6, Cancelled),
			op(Acquire, 1, 5, Never, None), op(Release, 1, 7, 8, Done),
		}},
		"cancelled, and too large all the time": {1, true, []Op{op(Acquire, 2, 1, 2, Cancelled)}},

		// The large release grants the first request, which is gone, and the second one, which
		// returns. The first one's permit comes back with the end of the release.
		"abandoned during the grant": {2, true, []Op{
			op(TryAcquire, 2, 1, 2, Granted), op(Acquire, 1, 3, 8, Abandoned), op(Acquire, 1, 4, 7, Granted),
			op(Release, 2, 6, 11, Done), op(TryAcquire, 1, 9, 10, Refused), op(TryAcquire, 1, 12, 13, Granted),
		}},
		"cancelled during the grant, given back too late": {2, false, []Op{
			op(TryAcquire, 2, 1, 2, Granted), op(Acquire, 1, 3, 8, Cancelled), op(Acquire, 1, 4, 7, Granted),
			op(Release, 2, 6, 11, Done), op(TryAcquire, 1, 9, 10, Refused), op(TryAcquire, 1, 12, 13, Granted),
		}},
		"abandoned, and the permit lost": {2, false, []Op{
			op(TryAcquire, 2, 1, 2, Granted), op(Acquire, 1, 3, 8, Abandoned), op(Acquire, 1, 4, 7, Granted),
			op(Release, 2, 6, 11, Done), op(TryAcquire, 1, 12, 13, Refused),
		}},
		"abandoned, but still in the way": {2, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 2, 3, 6, Abandoned), op(Release, 1, 5, 9, Done),
			op(TryAcquire, 1, 7, 8, Refused), op(TryAcquire, 1, 10, 11, Granted), op(TryAcquire, 1, 12, 13, Refused),
		}},

		"released more than held": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Release, 2, 3, 4, Panicked), op(Release, 1, 5, 6, Done),
		}},
		"released more than held, unnoticed": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Release, 2, 3, 4, Done),
		}},
		"released what was held, and panicked": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Release, 1, 3, 4, Panicked),
		}},
		"a panic that released something": {2, false, []Op{
			op(TryAcquire, 2, 1, 2, Granted), op(Release, 3, 3, 4, Panicked), op(TryAcquire, 1, 5, 6, Granted),
		}},

		"growth serves": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 6, Granted), op(Resize, 2, 4, 5, Done),
			op(TryAcquire, 1, 7, 8, Refused), op(Release, 2, 9, 10, Done),
		}},
		"growth serves none": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, Never, None), op(Resize, 2, 4, 5, Done),
		}},
		"a debt is paid first": {3, true, []Op{
			op(TryAcquire, 3, 1, 2, Granted), op(Resize, 1, 3, 4, Done), op(Release, 2, 5, 6, Done),
			op(TryAcquire, 1, 7, 8, Refused), op(Release, 1, 9, 10, Done), op(TryAcquire, 1, 11, 12, Granted),
			op(Release, 2, 13, 14, Panicked),
		}},
		"a debt is forgotten": {3, false, []Op{
			op(TryAcquire, 3, 1, 2, Granted), op(Resize, 1, 3, 4, Done), op(Release, 2, 5, 6, Done),
			op(TryAcquire, 1, 7, 8, Granted),
		}},
		"too large": {1, true, []Op{op(Acquire, 2, 1, 2, TooLarge)}},
		"too large by a resize": {3, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 3, 3, 8, TooLarge), op(TryAcquire, 1, 4, 5, Refused),
			op(Resize, 2, 6, 7, Done), op(TryAcquire, 1, 9, 10, Granted),
		}},
		"not too large": {2, false, []Op{op(TryAcquire, 2, 1, 2, Granted), op(Acquire, 2, 3, 6, TooLarge)}},
		"too large, but granted in the end": {2, false, []Op{
			op(TryAcquire, 2, 1, 2, Granted), op(Acquire, 2, 3, 13, Granted), op(TryAcquire, 0, 4, 5, Granted),
			op(Acquire, 2, 6, 9, TooLarge), op(Resize, 1, 7, 8, Done), op(Resize, 2, 10, 11, Done),
		}},

		"closed": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 6, Closed), op(Close, 0, 4, 5, Done),
			op(Acquire, 0, 7, 8, Closed), op(Acquire, 2, 9, 10, Closed), op(TryAcquire, 0, 11, 12, Refused),
			op(Release, 1, 13, 14, Done), op(TryAcquire, 1, 15, 16, Refused), op(Close, 0, 17, 18, Done),
			op(Acquire, 1, 19, 20, Cancelled),
		}},
		"closed before the close":   {1, false, []Op{op(Acquire, 1, 1, 2, Closed), op(Close, 0, 3, 4, Done)}},
		"granted after the close":   {1, false, []Op{op(Close, 0, 1, 2, Done), op(Acquire, 1, 3, 4, Granted)}},
		"no permits are no release": {0, true, []Op{op(Release, 0, 1, 2, Done)}},
		"no permits do not wait": {1, true, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, Never, None), op(Acquire, 0, 4, 5, Granted),
		}},

		// The close is seen before it has ended the queue, which a release then still serves.
		"closed in two steps": {1, false, []Op{
			op(TryAcquire, 1, 1, 2, Granted), op(Acquire, 1, 3, 11, Granted), op(TryAcquire, 0, 4, 5, Granted),
			op(Close, 0, 6, 12, Done), op(Acquire, 0, 7, 8, Closed), op(Release, 1, 9, 10, Done),
		}},
	} {
		assert.Equal(t, c.ok, Check(c.size, c.ops), name)
	}
}

func TestNoHistory(t *testing.T) {
	for name, o := range map[string]Op{
		"returned without a result": op(Acquire, 1, 1, 2, None),
		"a result without a return": op(Acquire, 1, 1, Never, Granted),
		"another kind's result":     op(TryAcquire, 1, 1, 2, Cancelled),
		"refused to wait":           op(Acquire, 1, 1, 2, Refused),
		"a release that is granted": op(Release, 1, 1, 2, Granted),
		"a resize that panics":      op(Resize, 1, 1, 2, Panicked),
		"negative":                  op(Release, -1, 1, 2, Done),
		"backwards":                 op(Acquire, 1, 2, 1, Granted),
		"a release with a context":  {Kind: Release, N: 1, Call: 1, Return: 2, Result: Done, Context: true},
	} {
		assert.Panics(t, func() { Check(1, []Op{o}) }, name)
	}
	assert.Panics(t, func() { Check(1, make([]Op, MaxAcquires+1)) })
}

// Whatever the semaphore does one step after the other is linearizable, however the operations
// overlap.
func TestRunsAreLinearizable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 4000 {
		size, ops := run(rng, 1+rng.IntN(14)).history(rng, float64(i%5))
		require.True(t, Check(size, ops), "%d permits: %v", size, ops)
	}
}

// One result that is not what the semaphore gave makes most histories impossible, the more so the
// less they overlap.
func TestWrongResultsAreFound(t *testing.T) {
	for width, floor := range []float64{0.95, 0.9, 0.85, 0.8} {
		rng := rand.New(rand.NewPCG(2, uint64(width)))
		found, all := 0, 0
		for range 2000 {
			size, ops := run(rng, 8).history(rng, float64(width))
			if corrupt(rng, ops) {
				all++
				if !Check(size, ops) {
					found++
				}
			}
		}
		t.Logf("operations that overlap %d others or so: %d of %d found", width, found, all)
		require.Greater(t, all, 1900)
		require.Greater(t, float64(found)/float64(all), floor)
	}
}

// corrupt gives one operation of a history another result, unless that cannot be wrong.
func corrupt(rng *rand.Rand, ops []Op) bool {
	for range 100 {
		o := &ops[rng.IntN(len(ops))]
		switch {
		case o.Return == Never: // its wake-up comes, but from nowhere
			o.Result, o.Return = Granted, 1
			for i := range ops {
				if ops[i].Return != Never {
					o.Return = max(o.Return, ops[i].Call+1, ops[i].Return+1)
				}
			}
			o.Return = max(o.Return, o.Call+1)
		case o.Kind == Acquire && o.Result == Granted && rng.IntN(3) == 0: // its wake-up is lost
			o.Result, o.Return = None, Never
		case o.Kind == TryAcquire:
			o.Result = Granted + Refused - o.Result
		case o.Kind == Release:
			o.Result = Done + Panicked - o.Result
		case o.Kind == Acquire && (o.Result == Granted || o.Result == Closed || o.Result == TooLarge):
			others := map[Result][2]Result{
				Granted: {Closed, TooLarge}, Closed: {Granted, TooLarge}, TooLarge: {Granted, Closed},
			}
			o.Result = others[o.Result][rng.IntN(2)]
		default:
			continue
		}
		return true
	}
	return false
}

// misplaceCancel lets a context end a wait that it did not end, or the reverse.
func misplaceCancel(rng *rand.Rand, ops []Op) {
	for range 100 {
		switch o := &ops[rng.IntN(len(ops))]; {
		case !o.Context:
			continue
		case o.Result == Cancelled:
			o.Result = Granted
		case o.Result == Granted:
			o.Result = Cancelled
		default:
			continue
		}
		return
	}
}

// Check and a search of another make, which shares nothing with it, agree on histories right and
// wrong.
func TestCheckAgreesWithAnExhaustiveSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	verdicts := map[bool]int{}
	for range 3000 {
		size, ops := run(rng, 2+rng.IntN(4)).history(rng, float64(rng.IntN(4)))
		for range rng.IntN(3) {
			corrupt(rng, ops)
		}
		if rng.IntN(2) == 0 {
			misplaceCancel(rng, ops)
		}
		want := search(size, ops)
		verdicts[want]++
		require.Equal(t, want, Check(size, ops), "%d permits: %v", size, ops)
	}
	t.Log(verdicts)
	require.Greater(t, min(verdicts[true], verdicts[false]), 500)
}

// A judge agrees with Check on every history, and takes histories for one that differ only in the
// length of waits.
func TestJudgeAgreesWithCheck(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	judges := map[int64]*Judge{}
	judged := 0
	for range 3000 {
		size, ops := run(rng, 1+rng.IntN(4)).history(rng, float64(rng.IntN(3)))
		if rng.IntN(2) == 0 {
			corrupt(rng, ops)
		}
		if judges[size] == nil {
			judges[size] = NewJudge(size)
		}
		want := Check(size, ops)
		require.Equal(t, want, judges[size].Linearizable(ops), "%d permits: %v", size, ops)
		before := judges[size].Judged()
		for i := range ops {
			if ops[i].Call *= 3; ops[i].Return != Never {
				ops[i].Return *= 3
			}
		}
		require.Equal(t, want, judges[size].Linearizable(ops), "%d permits: %v", size, ops)
		require.Equal(t, before, judges[size].Judged())
	}
	for _, j := range judges {
		judged += j.Judged()
	}
	t.Log(judged, "different histories")
	require.Less(t, judged, 2900, "nothing was remembered")
}

func BenchmarkCheck(b *testing.B) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, c := range []struct {
		name       string
		ops, width int
		right      bool
	}{
		{"6", 6, 2, true},
		{"6-wrong", 6, 2, false},
		{"6-at-once", 6, 6, true},
		{"6-at-once-wrong", 6, 6, false},
		{"16", 16, 4, true},
		{"16-wrong", 16, 4, false},
	} {
		var sizes []int64
		var histories [][]Op
		for len(histories) < 200 {
			size, ops := run(rng, c.ops).history(rng, float64(c.width))
			if !c.right && (!corrupt(rng, ops) || Check(size, ops)) {
				continue
			}
			sizes, histories = append(sizes, size), append(histories, ops)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if Check(sizes[i%len(sizes)], histories[i%len(sizes)]) != c.right {
					b.Fatal("wrong verdict")
				}
			}
		})
	}
}
