package interleave

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSchedulesAreWrittenAndRead(t *testing.T) {
	for text, steps := range map[string][]choice{
		"a1":                   {{0, 0}},
		"a2.b1.a1":             {{0, 0}, {0, 0}, {1, 0}, {0, 0}},
		"h3":                   {{7, 0}, {7, 0}, {7, 0}},
		"a1.a!1.a1":            {{0, 0}, {0, 1}, {0, 0}},
		"a!2.a!2.b!255.b!1.b1": {{0, 2}, {0, 2}, {1, 255}, {1, 1}, {1, 0}},
	} {
		require.Equal(t, text, formatSchedule(steps))
		got, err := parseSchedule(text)
		require.NoError(t, err)
		require.Equal(t, steps, got)
	}
	got, err := parseSchedule("a1.a1") // not as it would be written
	require.NoError(t, err)
	require.Equal(t, "a2", formatSchedule(got))
	for _, bad := range []string{
		"", ".", "a", "1", "a0", "a!0", "a!", "a1.", ".a1", "a1..b1", "i1", "A1", "`1", "a-1", "a+1", "a1x", "a1 b1",
		"a!256", "a1048576", "a99999999999999999999", "a!1!1", "!1", "a1.b", "ä1",
	} {
		_, err := parseSchedule(bad)
		require.Error(t, err, "%q", bad)
		require.True(t, strings.HasPrefix(err.Error(), "interleave: schedule: run "), "%v", err)
	}
	rng := rand.New(rand.NewPCG(15, 16))
	for range 200 {
		steps := make([]choice, 1+rng.IntN(20))
		for i := range steps {
			steps[i] = choice{uint8(rng.IntN(3)), uint8(max(0, rng.IntN(6)-3))}
		}
		got, err := parseSchedule(formatSchedule(steps))
		require.NoError(t, err)
		require.Equal(t, steps, got)
	}
}

func FuzzSchedule(f *testing.F) {
	for _, seed := range []string{"a12.b3.a!1.a4", "", "a!0", "h1.a1.a1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 100 {
			return
		}
		steps, err := parseSchedule(s)
		if err != nil {
			return
		}
		again, err := parseSchedule(formatSchedule(steps))
		require.NoError(t, err)
		require.Equal(t, steps, again)
	})
}

func TestSwitches(t *testing.T) {
	for text, n := range map[string]int{"a5": 0, "a1.a!1": 0, "a1.b1": 1, "a1.b2.a1.c!1": 3} {
		steps, err := parseSchedule(text)
		require.NoError(t, err)
		require.Equal(t, n, switches(steps))
		require.Len(t, runsOf(steps), n+1)
		require.Equal(t, steps, join(runsOf(steps)))
	}
	require.Zero(t, switches(nil))
	require.Empty(t, runsOf(nil))
	a, b := []choice{{0, 0}}, []choice{{1, 0}}
	require.Equal(t, [][]choice{b, a}, swapped([][]choice{a, b}))
}

// A schedule that does not fit is bent: a thread that cannot go on is passed over, and at the end
// the thread that ran last goes on.
func TestScheduleIsBent(t *testing.T) {
	if RaceEnabled {
		t.Skip("the log is not synchronized")
	}
	var log []string
	body := func(x *Run) {
		var v Int32
		var mu Mutex
		mu.Lock()
		log = nil
		x.Go("waits", func() {
			mu.Lock()
			log = append(log, "waits")
		})
		x.Go("b", func() {
			v.Load()
			log = append(log, "b", string(rune('0'+Choose(3))))
		})
		x.Go("c", func() {
			mu.Unlock()
			log = append(log, "c", string(rune('0'+Choose(3))))
		})
		x.Wait()
	}
	for schedule, want := range map[string]string{
		"a9.h4.b2.b!2.c9":    "b 2 c 0 waits", // a waits, and there is no h
		"a1":                 "b 0 c 0 waits", // the first that can
		"c2":                 "c 0 waits b 0", // the one that ran last
		"c2.c!1.b!1.b!1.b!1": "c 1 b 1 waits", // a value where nothing is chosen
		"c2.c!3.b9":          "c 0 b 0 waits", // there is no such value
	} {
		r := Explore(Options{Schedule: schedule}, body)
		require.Nil(t, r.Failure)
		require.Equal(t, 1, r.Executions)
		require.False(t, r.Exhausted)
		require.Equal(t, want, strings.Join(log, " "), schedule)
	}
}

// A long way round, full of what does not matter, is cut to what does.
func TestShortening(t *testing.T) {
	if RaceEnabled {
		t.Skip("nothing is shortened")
	}
	body := func(x *Run) {
		var v, noise Int32
		for range 3 {
			x.Go("noise", func() {
				for range 5 {
					noise.Add(1)
				}
				Choose(4)
			})
		}
		for range 2 {
			x.Go("adder", func() {
				noise.Add(1)
				old := v.Load()
				noise.Add(1)
				v.Store(old + 1)
			})
		}
		x.Wait()
		x.Assert(v.Load() == 2, "%d", v.Load())
	}
	for seed := range uint64(5) {
		f := fails(t, Assertion, Options{Mode: Random, Seed: seed, Executions: 100}, body)
		requireExplained(t, f, body)
		steps, err := parseSchedule(f.Schedule)
		require.NoError(t, err)
		require.Equal(t, 5, switches(steps), "each thread whole, but for one: %s", f.Schedule)
	}
}

// What comes last can be left out, too: here the first thread fails without the second.
func TestShorteningTriesTheEnd(t *testing.T) {
	body := func(x *Run) {
		var v Int32
		x.Go("a", func() {
			v.Add(1)
			v.Add(1)
			v.Add(1)
			x.Fail("no")
		})
		x.Go("b", func() { x.Assert(v.Load() < 2, "no") })
		x.Wait()
	}
	x := newRun(Options{})
	defer x.close()
	steps, err := parseSchedule("a3.b2")
	require.NoError(t, err)
	x.execute(&script{steps: steps}, body)
	require.NotNil(t, x.failure)
	require.Equal(t, steps, x.trail)
	require.Equal(t, "a4", formatSchedule(x.shorten(steps, x.failure, body)))
}

// Of the ways in which an execution fails, the shortened one keeps the kind.
func TestShorteningKeepsTheKind(t *testing.T) {
	body := func(x *Run) {
		var a, b Int32
		x.Go("a", func() {
			a.Store(1)
			x.Assert(b.Load() == 0, "after b")
		})
		x.Go("b", func() {
			b.Store(1)
			if a.Load() == 1 {
				panic("after a")
			}
		})
		x.Wait()
	}
	seen := map[FailureKind]bool{}
	for seed := range uint64(20) {
		f := Explore(Options{Mode: Random, Seed: seed}, body).Failure
		require.NotNil(t, f)
		seen[f.Kind] = true
		if !RaceEnabled {
			requireExplained(t, f, body)
		}
	}
	require.Equal(t, map[FailureKind]bool{Assertion: true, Panic: true}, seen)
}
