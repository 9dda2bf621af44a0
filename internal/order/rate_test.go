package order

import (
	"math"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// errors returns by how much predictions are off for those that waited: on the whole, and each on
// average.
func errors(all []*job) (bias, mean float64) {
	predicted, waited, n := 0.0, 0.0, 0.0
	for _, j := range all {
		if j.outcome == waiting.Granted && j.wait > 0 && j.delay > 0 {
			predicted += float64(j.delay)
			waited += float64(j.wait)
			mean += math.Abs(float64(j.delay-j.wait)) / float64(j.wait)
			n++
		}
	}
	return predicted/waited - 1, mean / n
}

func requireErrors(t *testing.T, all []*job, bias, mean float64) {
	t.Helper()
	b, m := errors(all)
	t.Logf("predictions are off by %+.1f %%, each by %.1f %%", 100*b, 100*m)
	require.InDelta(t, 0, b, bias)
	require.LessOrEqual(t, m, mean)
}

func TestPredictions(t *testing.T) {
	timed := Queue{MaxWaiting: 100}
	t.Run("line", func(t *testing.T) {
		s := newSim(t, 10, Config{Queue: timed})
		all := s.open(1500, 20*time.Second, func() *job { return &job{hold: s.exp(10 * time.Millisecond)} })
		requireErrors(t, all[1000:], 0.05, 0.2)
	})
	t.Run("tenants", func(t *testing.T) {
		weights := map[any]int{"a": 1, "b": 3}
		s := newSim(t, 10, Config{Shares: true, Weight: func(tenant any) int { return weights[tenant] }, Queue: timed})
		for range 5 {
			s.loop("a", one, func() time.Duration { return s.exp(10 * time.Millisecond) }, func(*job) {})
		}
		for range 80 {
			s.loop("b", one, func() time.Duration { return s.exp(10 * time.Millisecond) }, func(*job) {})
		}
		s.run(time.Second)
		var all []*job
		for range 300 {
			j := &job{tenant: "a", hold: time.Millisecond}
			all = append(all, j)
			s.ask(j, 1)
			s.run(30 * time.Millisecond)
		}
		requireErrors(t, all, 0.1, 0.4)
	})
}

// Permits that become free in bursts larger than the window do not make the rate look too good, nor
// too bad.
func TestBurstsArePredicted(t *testing.T) {
	const permits, clients = 200, 1000
	s := newSim(t, permits, Config{Queue: Queue{MaxWaiting: 1 << 20}})
	for range clients {
		s.loop(nil, one, func() time.Duration { return 10 * time.Millisecond }, func(*job) {})
	}
	s.run(time.Second)
	var all []*job
	for range 100 {
		j := &job{hold: time.Millisecond}
		all = append(all, j)
		s.ask(j, 1)
		s.run(s.exp(7 * time.Millisecond))
	}
	s.run(time.Second)
	requireErrors(t, all, 0.2, 0.25)
}

// When the speed changes, predictions follow within as many pops as wait.
func TestPredictionsFollowASpeed(t *testing.T) {
	for _, change := range []float64{0.2, 5} {
		mean := 10 * time.Millisecond
		s := newSim(t, 10, Config{Queue: Queue{MaxWaiting: 100}})
		for range 60 {
			s.loop(nil, one, func() time.Duration { return s.exp(mean) }, func(*job) {})
		}
		s.run(time.Second)
		mean = time.Duration(change * float64(mean))
		s.run(time.Duration(150.0 / 10 * float64(mean))) // 150 pops
		var all []*job
		for range 200 {
			j := &job{hold: time.Millisecond}
			all = append(all, j)
			s.ask(j, 1)
			s.run(2 * mean)
		}
		s.run(time.Second)
		requireErrors(t, all, 0.15, 0.25)
	}
}

// When there are twice as many permits, the new ones are given at once. That is no reason to
// believe that the next ones will be, too.
func TestPredictionsAfterTwiceThePermits(t *testing.T) {
	s := newSim(t, 100, Config{Queue: Queue{MaxWaiting: 1 << 20}})
	for range 1000 {
		s.loop(nil, one, func() time.Duration { return s.exp(10 * time.Millisecond) }, func(*job) {})
	}
	s.run(time.Second)
	before := s.order.Delay(nil, 1, 1)
	s.release(100)
	after := s.order.Delay(nil, 1, 1)
	t.Logf("%v before, %v after", before, after)
	require.InEpsilon(t, 90*time.Millisecond, before, 0.1, "900 wait, and each takes 100 µs")
	require.Less(t, after, 90*time.Millisecond)
	require.Greater(t, after, 40*time.Millisecond, "800 wait, and each takes 50 µs from now on")
}

// While nothing is popped, a wait is predicted to be as long as the rest is, and the rate as bad as
// it has become.
func TestAStallIsNoticed(t *testing.T) {
	o, now := measured(t)
	o.rate.now = now + int64(500*time.Microsecond)
	require.InEpsilon(t, 4.5e6, float64(o.Delay(nil, 1, 1)), 0.01, "three that wait, itself, and the rest of the one before")
	o.rate.now = now + int64(time.Minute)
	// One of 33 permits took a minute.
	require.InEpsilon(t, 4*float64(time.Minute)/32, float64(o.Delay(nil, 1, 1)), 0.05)

	w := &waiting.Waiter{N: 1}
	var wake waiting.WakeList
	o.Set(Queue{RefuseLate: true})
	later := now + int64(time.Minute)
	_, outcome := o.Push(w, &By{Deadline: later + int64(time.Second)}, later, true, &wake)
	require.Equal(t, waiting.WouldExpire, outcome)
	_, outcome = o.Push(w, &By{Deadline: later + int64(20*time.Second)}, later, true, &wake)
	require.Equal(t, waiting.Pending, outcome)
}

// Who is to be done by its deadline is refused if it would get its permits in time and be late with
// its work. With ten permits, of which one is popped each millisecond, that takes ten.
func TestTheTimeOfTheWorkCounts(t *testing.T) {
	for permits, most := range map[int64]time.Duration{0: 5, 1: 6, 10: 15} {
		o, now := measured(t)
		o.Set(Queue{RefuseLate: true})
		var wake waiting.WakeList
		push := func(in time.Duration) waiting.Outcome {
			by := By{Deadline: now + int64(in), Permits: permits}
			_, outcome := o.Push(&waiting.Waiter{N: 1}, &by, now, true, &wake)
			return outcome
		}
		most *= time.Millisecond
		require.Equal(t, waiting.WouldExpire, push(most-time.Microsecond))
		require.Equal(t, waiting.Pending, push(most+time.Microsecond))
	}
}

// Where one request may wait, or one beside the one that is next, the rate is known all the same.
func TestShortLinesAreMeasured(t *testing.T) {
	const second = int64(time.Second)
	o := New(Config{Queue: Queue{MaxWaiting: 1}})
	now := int64(0)
	o.Stage(nil, 1, now, false)
	now += second / 3 // an idle time has ended before: that says nothing
	for range minSamples + 1 {
		require.Zero(t, o.Delay(nil, 1, 1))
		o.Stage(nil, 1, now, true)
		now += second
	}
	require.InEpsilon(t, 2*second, int64(o.Delay(nil, 1, 1)), 1e-9, "it waits for the one that is next")
	o.Stage(nil, 1, now+int64(time.Hour), false)
	require.InEpsilon(t, second, int64(o.Delay(nil, 1, 1)), 1e-9, "an idle hour does not count")

	o = New(Config{Queue: Queue{MaxWaiting: 2}})
	var wake waiting.WakeList
	o.Stage(nil, 1, now, false)
	for range minSamples + 2 {
		_, outcome := o.Push(&waiting.Waiter{N: 1}, &By{}, now, true, &wake)
		require.Equal(t, waiting.Pending, outcome)
		now += second
		o.Pop(now, &wake)
		require.Zero(t, o.Len())
	}
	require.InEpsilon(t, 2*second, int64(o.Delay(nil, 1, 1)), 1e-9)
}

// measured is an Order in which a request was popped each millisecond, last at now, and three wait.
func measured(t *testing.T) (o *Order, now int64) {
	o = New(Config{Queue: Queue{MaxWaiting: 100}})
	var wake waiting.WakeList
	push := func() {
		_, outcome := o.Push(&waiting.Waiter{N: 1}, &By{}, now, true, &wake)
		require.Equal(t, waiting.Pending, outcome)
	}
	for range 3 {
		push()
	}
	for range 100 {
		now += int64(time.Millisecond)
		push()
		o.Pop(now, &wake)
	}
	return o, now
}

// What nothing is known of is not refused, and an idle time is not taken for a slow service.
func TestTooLittleIsNotBelieved(t *testing.T) {
	o := New(Config{Queue: Queue{RefuseLate: true}})
	var wake waiting.WakeList
	now := int64(0)
	push := func(deadline int64) waiting.Outcome {
		_, outcome := o.Push(&waiting.Waiter{N: 1}, &By{Deadline: deadline}, now, true, &wake)
		return outcome
	}
	for range 3 {
		push(0)
	}
	for i := range 16 {
		require.Zero(t, o.Delay(nil, 1, 1), "%d samples", max(0, i-1))
		require.Equal(t, waiting.Pending, push(now+1))
		now += int64(time.Second)
		o.Pop(now, &wake)
	}
	require.Zero(t, o.Delay(nil, 1, 1))
	push(0)
	now += int64(time.Second)
	o.Pop(now, &wake)
	require.InEpsilon(t, 5*float64(time.Second), float64(o.Delay(nil, 1, 1)), 0.01)
	require.Equal(t, waiting.WouldExpire, push(now+int64(4*time.Second)))
	require.Equal(t, waiting.Pending, push(now+int64(6*time.Second)))
	for o.Len() > 1 {
		now += int64(time.Second)
		o.Pop(now, &wake)
	}
	require.Equal(t, waiting.Pending, push(now+1), "where one waits, nothing is refused")
	for o.Len() > 0 {
		now += int64(time.Second)
		o.Pop(now, &wake)
	}
	now += int64(time.Hour)
	o.Stage(nil, 1, now, false)
	require.InEpsilon(t, float64(time.Second), float64(o.Delay(nil, 1, 1)), 0.01, "nothing waits")
	for range 3 {
		push(0)
	}
	o.Pop(now, &wake)
	require.InEpsilon(t, 4*float64(time.Second), float64(o.Delay(nil, 1, 1)), 0.01)
}
