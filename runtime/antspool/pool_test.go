package antspool_test

import (
	"testing"

	"github.com/panjf2000/ants/v2"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestMisuseOfThePoolPanics(t *testing.T) {
	p := newPool(t, 1)
	for _, tt := range []struct {
		text string
		f    func()
	}{
		{"antspool: nil pool", func() { antspool.New(nil) }},
		{"antspool: nil gate", func() { antspool.WithGate(nil) }},
		{"antspool: nil option", func() { antspool.New(p.Ants(), nil) }},
		{"antspool: an ants.Pool that ants.NewPool has not made", func() { antspool.New(new(ants.Pool)) }},
		{"antspool: nil context", func() { _ = p.Submit(nil, 1, func() {}) }}, //nolint:staticcheck // it must panic
		{"antspool: nil function", func() { _ = p.Submit(bg, 1, nil) }},
		{"antspool: nil function", func() { _ = p.TrySubmit(1, nil) }},
		{"antspool: nil function", func() { p.Go(1, nil) }},
		{"antspool: nil function", func() { _ = p.Workers(1).Submit(nil) }},
		{"antspool: negative weight, -7", func() { _ = p.Submit(bg, -7, func() {}) }},
		{"antspool: negative weight, -7", func() { _ = p.TrySubmit(-7, func() {}) }},
		{"antspool: negative weight, -7", func() { p.Go(-7, func() {}) }},
		{"antspool: negative weight, -7", func() { p.Workers(-7) }},
	} {
		require.PanicsWithValue(t, tt.text, tt.f)
	}
}

// Without New there are no goroutines, and without Go nothing to wait for.
func TestZeroValuesPanicWithAText(t *testing.T) {
	for _, p := range []*antspool.Pool{nil, new(antspool.Pool)} {
		for name, f := range map[string]func(){
			"Submit":         func() { _ = p.Submit(bg, 1, func() {}) },
			"TrySubmit":      func() { _ = p.TrySubmit(1, func() {}) },
			"Go":             func() { p.Go(1, func() {}) },
			"Workers":        func() { p.Workers(1) },
			"Ants":           func() { p.Ants() },
			"Gate":           func() { p.Gate() },
			"Ready":          func() { p.Ready() },
			"Tune":           func() { p.Tune(1) },
			"Close":          func() { p.Close() },
			"Release":        func() { p.Release() },
			"ReleaseContext": func() { _ = p.ReleaseContext(bg) },
			"ReleaseTimeout": func() { _ = p.ReleaseTimeout(1) },
		} {
			require.PanicsWithValue(t, "antspool: use of a Pool that New has not made", f, name)
		}
	}
	for _, j := range []*antspool.Job{nil, new(antspool.Job)} {
		for name, f := range map[string]func(){
			"Stop":   func() { j.Stop() },
			"Cancel": func() { j.Release() },
			"Done":   func() { j.Done() },
			"Poll":   func() { j.Poll(nil) },
			"Err":    func() { _ = j.Err() },
		} {
			require.PanicsWithValue(t, "antspool: use of a Job that Pool.Go has not made", f, name)
		}
	}
}

// Should this fail after an update of ants, New finds all pools to block: look at nonblocking.
func TestNonblockingPoolsAreRecognized(t *testing.T) {
	require.False(t, antspool.New(newAnts(t, 1, ants.WithNonblocking(true))).MayBlock())
	require.False(t, antspool.New(newAnts(t, 1, ants.WithOptions(ants.Options{Nonblocking: true}))).MayBlock())
	require.True(t, antspool.New(newAnts(t, 1)).MayBlock())
	require.True(t, antspool.New(newAnts(t, 1, ants.WithMaxBlockingTasks(1))).MayBlock())
}

func TestDefaultGateHasThePoolsCapacity(t *testing.T) {
	p := newPool(t, 5)
	require.EqualValues(t, 5, p.Gate().Size())
	require.Equal(t, 5, p.Ants().Cap())
	p = newPool(t, -1)
	require.Equal(t, semaphore.MaxPermits, p.Gate().Size())
	gate := semaphore.New(2)
	p = newPool(t, 5, antspool.WithGate(gate))
	require.Same(t, gate, p.Gate())
}

func TestPoolWithoutLimitHasNone(t *testing.T) {
	const jobs = 200
	p := newPool(t, -1)
	var inside highWater
	end := make(chan struct{})
	for i := range jobs {
		job := func() {
			inside.add(1)
			<-end
		}
		if i%2 == 0 {
			p.Go(1000, job)
		} else {
			require.NoError(t, p.Submit(bg, 1000, job))
		}
	}
	locktest.Eventually(t, "all at once", func() bool { return inside.now.Load() == jobs })
	close(end)
}

func TestTuneResizesTheDefaultGateOnly(t *testing.T) {
	p := newPool(t, 4)
	p.Tune(9)
	require.Equal(t, 9, p.Ants().Cap())
	require.EqualValues(t, 9, p.Gate().Size())
	p.Tune(2)
	require.Equal(t, 2, p.Ants().Cap())
	require.EqualValues(t, 2, p.Gate().Size())
	p.Tune(0)
	p.Tune(-1)
	require.EqualValues(t, 2, p.Gate().Size(), "ants ignores such sizes")

	own := newPool(t, 4, antspool.WithGate(semaphore.New(3)))
	own.Tune(9)
	require.Equal(t, 9, own.Ants().Cap())
	require.EqualValues(t, 3, own.Gate().Size())

	infinite := newPool(t, -1)
	infinite.Tune(3)
	require.Equal(t, semaphore.MaxPermits, infinite.Gate().Size(), "ants does not tune these")
	fixed := check(t, antspool.New(newAnts(t, 4, ants.WithNonblocking(true), ants.WithPreAlloc(true))))
	fixed.Tune(3)
	require.EqualValues(t, 4, fixed.Gate().Size(), "nor these")
}

func TestTuneLetsJobsInAndOut(t *testing.T) {
	p := newPool(t, 1)
	release := make(chan struct{})
	var running highWater
	job := func() {
		running.add(1)
		<-release
		running.add(-1)
	}
	var jobs []*antspool.Job
	for range 8 {
		jobs = append(jobs, p.Go(1, job))
	}
	locktest.Eventually(t, "one", func() bool { return running.now.Load() == 1 })
	p.Tune(4)
	locktest.Eventually(
		t,
		"four",
		func() bool { return running.peak.Load() == 4 },
	) // it follows now, and below it must have done so
	p.Tune(2)
	late := p.Go(3, job)
	require.ErrorIs(t, late.Err(), semaphore.ErrTooLarge)
	for range 4 {
		release <- struct{}{}
	}
	locktest.Eventually(t, "two", func() bool { return running.now.Load() == 2 && p.Gate().Waiting() == 2 })
	require.EqualValues(t, 4, running.peak.Load())
	locktest.Eventually(t, "two goroutines", func() bool { return p.Ants().Running() == 2 })
	close(release)
	for _, j := range jobs {
		locktest.Receive(t, j.Done())
		require.NoError(t, j.Err())
	}
}

func TestTuneToLessEndsRequestsForMore(t *testing.T) {
	p := newPool(t, 4)
	release := hold(t, p.Gate(), 4)
	j := p.Go(3, func() { t.Error("ran") })
	p.Tune(2)
	locktest.Receive(t, j.Done())
	require.ErrorIs(t, j.Err(), semaphore.ErrTooLarge)
	release()
}

// Goroutines that go from job to job have to end when the pool shrinks, even if the gate is
// another's and as wide as ever.
func TestTuneEndsGoroutinesThatNeverRest(t *testing.T) {
	p := newPool(t, 8, antspool.WithGate(semaphore.New(8)))
	var running highWater
	stop := make(chan struct{})
	step := make(chan struct{})
	var next func()
	next = func() {
		running.add(1)
		defer running.add(-1)
		select {
		case <-step:
			p.Go(1, next)
		case <-stop:
		}
	}
	for range 16 {
		p.Go(1, next)
	}
	locktest.Eventually(t, "eight", func() bool { return running.now.Load() == 8 })
	p.Tune(2)
	for range 100 {
		step <- struct{}{}
	}
	locktest.Eventually(t, "two", func() bool { return running.now.Load() == 2 && p.Ants().Running() == 2 })
	require.Positive(t, p.Ready(), "more get permits than goroutines")
	close(stop)
}
