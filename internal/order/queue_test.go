package order

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// A load is what became of requests.
type load struct {
	granted, shed, refused, expired int

	p50, p99 time.Duration // waits of those that were granted
	inTime   int           // those that were granted and done before their deadline
}

func outcomes(all []*job) (l load) {
	waits := []time.Duration{0}
	for _, j := range all {
		switch {
		case j.expired:
			l.expired++
		case j.outcome == waiting.Granted:
			l.granted++
			waits = append(waits, j.wait)
			if j.arrived+int64(j.wait+j.hold) <= j.deadline {
				l.inTime++
			}
		case j.outcome == waiting.Shed:
			l.shed++
		case j.outcome != waiting.Pending:
			l.refused++
		}
	}
	slices.Sort(waits)
	l.p50, l.p99 = waits[len(waits)/2], waits[len(waits)*99/100]
	return l
}

// offer has requests come at random to 10 permits that are held for 10 ms on average: 1,000
// requests are served a second. patience is how long a request may take in all; 0: for ever.
func offer(t *testing.T, q Queue, rate float64, patience, d time.Duration) load {
	s := newSim(t, 10, Config{Queue: q})
	all := s.open(rate, d, func() *job {
		j := &job{hold: s.exp(10 * time.Millisecond)}
		if patience > 0 {
			j.deadline = s.now + int64(patience)
		}
		return j
	})
	l := outcomes(all[len(all)/4:]) // in the steady state
	t.Logf("%+v", l)
	require.Empty(t, unsound(s.order))
	return l
}

// Twice as many requests come as can be served, and each is worth something for 10 times as long as
// it takes.
func TestWhatEachPolicyMakesOfTwiceTheLoad(t *testing.T) {
	const seconds, served = 10, 1000 * 10 * 3 / 4
	for _, c := range []struct {
		name string
		Queue
		atLeast, atMost float64 // the part of what can be served that is in time
		p99             time.Duration
	}{
		{"a line", Queue{}, 0, 0.2, time.Hour},
		{"max", Queue{MaxWaiting: 50}, 0.95, 1, 80 * time.Millisecond},
		{"late", Queue{RefuseLate: true}, 0.55, 0.7, 100 * time.Millisecond},
		{"CoDel", Queue{Shed: ShedCoDel}, 0, 0.5, 100 * time.Millisecond},
		{"CoDel and max", Queue{Shed: ShedCoDel, MaxWaiting: 50}, 0.95, 1, 60 * time.Millisecond},
		{"LIFO", Queue{Shed: ShedAdaptiveLIFO}, 0.95, 1, 65 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := offer(t, c.Queue, 2000, 100*time.Millisecond, seconds*time.Second)
			require.GreaterOrEqual(t, float64(l.inTime), c.atLeast*served)
			require.LessOrEqual(t, float64(l.inTime), c.atMost*1.05*served)
			require.LessOrEqual(t, l.p99, c.p99)
			require.InEpsilon(t, served, l.granted, 0.05, "permits are idle")
		})
	}
}

// Where clients wait for ever, CoDel keeps the wait near what its Target allows if a little too
// much comes. With twice too much it is seconds, and grows no more.
func TestCoDelKeepsUpWithALittleTooMuch(t *testing.T) {
	for _, c := range []struct {
		rate float64
		p50  time.Duration
	}{
		{900, 10 * time.Millisecond},
		{1050, 80 * time.Millisecond},
		{1200, 400 * time.Millisecond},
		{2000, 6 * time.Second},
	} {
		l := offer(t, Queue{Shed: ShedCoDel}, c.rate, 0, 40*time.Second)
		require.LessOrEqual(t, l.p50, c.p50, "at %f a second", c.rate)
	}
	l := offer(t, Queue{}, 1200, 0, 40*time.Second)
	require.Greater(t, l.p50, 2*time.Second, "without it")
}

// Adaptive LIFO needs no time to learn how much is too much. It sheds some requests without need.
func TestLIFOKeepsTheIntervalAtAnyLoad(t *testing.T) {
	for _, rate := range []float64{900, 1050, 1200, 2000, 5000} {
		l := offer(t, Queue{Shed: ShedAdaptiveLIFO}, rate, 0, 10*time.Second)
		require.LessOrEqual(t, l.p99, 100*time.Millisecond, "at %f a second", rate)
		if rate == 900 {
			require.InEpsilon(t, 0.02, float64(l.shed)/float64(l.shed+l.granted), 0.4)
		}
	}
}

// Twice as many requests come as can be served, each of a tenant of its own. CoDel sheds none: only
// MaxWaiting helps. Adaptive LIFO sheds those that have waited for an Interval.
func TestTenantsOfOneRequest(t *testing.T) {
	for _, shed := range []Shed{ShedCoDel, ShedAdaptiveLIFO} {
		s := newSim(t, 10, Config{Shares: true, Queue: Queue{Shed: shed}})
		tenant := 0
		all := s.open(2000, 3*time.Second, func() *job {
			tenant++
			return &job{tenant: tenant, hold: s.exp(10 * time.Millisecond)}
		})
		l := outcomes(all)
		t.Logf("%+v", l)
		require.InEpsilon(t, 3000, l.granted, 0.05, "permits are idle")
		if shed == ShedCoDel {
			require.Zero(t, l.shed)
			require.Greater(t, s.order.Len(), 2000)
		} else {
			require.LessOrEqual(t, l.p99, 115*time.Millisecond, "an Interval, and the time of being next")
			require.Less(t, s.order.Len(), 300)
		}
	}
}

// A tenant that is served each 20 ms gets its share, though all its requests wait for longer than
// Target, and others send far too much.
func TestLIFOKeepsShares(t *testing.T) {
	s := newSim(t, 10, Config{Shares: true, Queue: Queue{Shed: ShedAdaptiveLIFO}})
	const tenants = 20
	got := [tenants]int{}
	for tenant := range tenants {
		clients := 100
		if tenant == 0 {
			clients = 3
		}
		for range clients {
			var again func()
			again = func() {
				j := &job{tenant: tenant, hold: s.exp(10 * time.Millisecond)}
				j.done = func() {
					got[tenant]++
					again()
				}
				j.lost = func() { s.after(s.exp(10*time.Millisecond), again) }
				s.ask(j, 1)
			}
			again()
		}
	}
	s.run(5 * time.Second)
	t.Logf("%v", got)
	require.InEpsilon(t, 5000/tenants, got[0], 0.06)
}

// Who waits is shed to the last but one, of whatever tenant.
func TestTheLastRequestOfAllIsNeverShed(t *testing.T) {
	for name, c := range map[string]Config{"shares": {Shares: true}, "classes": {Classes: 10, Aging: 100}} {
		c.Shed = ShedAdaptiveLIFO
		w := newWorld(t, c)
		for i := range 20 {
			w.push(i/2, 1, 0, 0, true)
		}
		w.now += int64(time.Minute)
		require.True(t, w.pop() != nil, name)
		require.Zero(t, w.order.Len(), name)
		for i := range 4 {
			w.push(i/2, 1, 0, 0, true)
		}
		w.now += int64(time.Minute)
		w.push(0, 1, 0, 0, true)
		require.Equal(t, 3, w.order.Len(), "%s: those of the tenant itself are shed", name)
		w.drain()
	}
}

// A time that is too large for any clock is for ever: nothing is shed.
func TestTimesDoNotOverflow(t *testing.T) {
	for _, shed := range []Shed{ShedCoDel, ShedAdaptiveLIFO} {
		for _, q := range []Queue{
			{Shed: shed, Target: math.MaxInt64, Interval: math.MaxInt64},
			{Shed: shed, Target: 1, Interval: math.MaxInt64},
		} {
			s := newSim(t, 10, Config{Queue: q})
			l := outcomes(s.open(2000, time.Second, func() *job { return &job{hold: s.exp(10 * time.Millisecond)} }))
			require.Zero(t, l.shed)
			require.InEpsilon(t, 1000, l.granted, 0.1)
		}
	}
}

// Nobody pops for a minute: those that have waited too long are then shed, and the last one is
// served.
func TestAfterAMinuteWithoutAPop(t *testing.T) {
	for _, shed := range []Shed{ShedCoDel, ShedAdaptiveLIFO} {
		s := newSim(t, 1, Config{Queue: Queue{Shed: shed}})
		var all []*job
		ask := func(hold time.Duration) *job {
			j := &job{hold: hold}
			s.ask(j, 1)
			return j
		}
		ask(time.Minute)
		for range 100 {
			all = append(all, ask(time.Millisecond))
		}
		s.run(time.Minute + time.Second)
		fresh := ask(time.Millisecond)
		s.run(time.Second)
		l := outcomes(all)
		require.Equal(t, 100, l.granted+l.shed)
		require.Equal(t, waiting.Granted, fresh.outcome)
		if shed == ShedAdaptiveLIFO {
			require.Equal(t, 2, l.granted, "the one that was next, and the last one")
		}
	}
}

// What waited before a queue was timed counts from then on, so it is not shed at once.
func TestTimeCountsFromTheCallThatNeedsIt(t *testing.T) {
	o := New(Config{})
	var wake waiting.WakeList
	all := make([]waiting.Waiter, 10)
	for i := range all {
		all[i].N = 1
		all[i].Arm(nil)
		o.Push(&all[i], &By{}, 0, true, &wake)
	}
	o.Set(Queue{Shed: ShedAdaptiveLIFO})
	now := int64(time.Hour)
	require.Same(t, &all[0], o.Pop(now, &wake), "newest first without an Interval")
	require.Same(t, &all[1], o.Pop(now+int64(50*time.Millisecond), &wake))
	require.Same(t, &all[9], o.Pop(now+int64(102*time.Millisecond), &wake))
	wake.Wake()
	for i := 2; i < 9; i++ {
		require.Equal(t, waiting.Shed, all[i].Outcome())
	}
	require.Zero(t, o.Len())
}

// A queue that no longer serves the newest first serves the oldest, also of lanes that are long.
func TestNewestFirstEndsWithItsQueue(t *testing.T) {
	o := New(Config{Queue: Queue{Shed: ShedAdaptiveLIFO, Target: time.Hour}})
	var wake waiting.WakeList
	all := make([]waiting.Waiter, 4)
	for i := range all {
		all[i].N = 1
		o.Push(&all[i], &By{}, 0, true, &wake)
	}
	late := int64(time.Minute)
	require.Same(t, &all[3], o.Pop(late, &wake))
	o.Set(Queue{})
	require.Same(t, &all[0], o.Pop(late, &wake))
	o.Set(Queue{Shed: ShedCoDel})
	require.Same(t, &all[1], o.Pop(late, &wake))
}

func TestBadInput(t *testing.T) {
	for _, c := range []Config{
		{Classes: -1},
		{Classes: 2},
		{Classes: 2, Aging: -1},
		{Classes: 2, Aging: 1, Shares: true},
		{Classes: MaxClasses + 1, Aging: 1},
	} {
		require.Panics(t, func() { New(c) }, "%+v", c)
	}
	for _, q := range []Queue{
		{MaxWaiting: -1}, {MaxWaitingPerTenant: -1}, {Target: -1}, {Interval: -1}, {Shed: 3},
	} {
		require.Panics(t, q.Check, "%+v", q)
	}
	Queue{MaxWaiting: 1, MaxWaitingPerTenant: 1, Target: 1, Interval: 1, Shed: ShedAdaptiveLIFO}.Check()

	classes := New(Config{Classes: MaxClasses, Aging: 1})
	for _, tenant := range []any{nil, -1, MaxClasses, "a", int64(0)} {
		require.Panics(t, func() { classes.Check(tenant) }, "%v", tenant)
	}
	classes.Check(0)
	classes.Check(MaxClasses - 1)

	type pair struct{ a, b any }
	shares := New(Config{Shares: true})
	for _, tenant := range []any{
		[]int{1}, pair{1, []int{1}}, math.NaN(), pair{1, math.NaN()}, func() {}, map[int]int{},
	} {
		require.Panics(t, func() { shares.Check(tenant) }, "%v", tenant)
	}
	for _, tenant := range []any{nil, "a", 1, int64(1), uint64(1), 1.5, pair{1, "b"}, [2]int{}, t, struct{}{}} {
		shares.Check(tenant)
	}
	New(Config{}).Check([]int{1}) // It is not looked at.
}

func TestWeightsAreWithinBounds(t *testing.T) {
	weights := map[any]int{"zero": 0, "minus": math.MinInt, "some": 7, "most": MaxWeight, "more": math.MaxInt}
	o := New(Config{Shares: true, Weight: func(tenant any) int { return weights[tenant] }})
	for tenant, want := range map[string]int{"zero": 1, "minus": 1, "some": 7, "most": MaxWeight, "more": MaxWeight} {
		require.Equal(t, want, o.Weigh(tenant))
	}
	require.Equal(t, 1, New(Config{Shares: true}).Weigh("a"))
}

// Tags and sums stand the largest requests and weights, however long it goes on.
func TestTheLargestRequestsDoNotOverflow(t *testing.T) {
	for _, weights := range [][2]int{{1, 1}, {1, MaxWeight}, {MaxWeight, MaxWeight}} {
		o := New(Config{Shares: true, Weight: func(tenant any) int { return weights[tenant.(int)] }})
		var wake waiting.WakeList
		push := func(tenant int) {
			w := &waiting.Waiter{N: math.MaxInt64}
			o.Push(w, &By{Tenant: tenant, Weight: o.Weigh(tenant)}, 0, true, &wake)
		}
		push(0)
		push(1)
		got := [2]int{}
		for range 200 { // The virtual time wraps around every 16 of weight 1.
			o.Pop(0, &wake)
			tenant := o.last.(int)
			push(tenant)
			got[tenant]++
			require.Empty(t, unsound(o))
		}
		if weights[0] == weights[1] {
			require.Equal(t, [2]int{100, 100}, got)
		} else {
			require.LessOrEqual(t, got[0], 1)
		}
	}
}
