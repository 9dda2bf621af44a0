package main

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Every target of a lock is that of a line, and its peer takes part there.
func TestEveryLockTargetAppliesToSomething(t *testing.T) {
	for _, tg := range lockTargets {
		for _, name := range tg.workloads {
			i := slices.IndexFunc(lockWorkloads, func(w lockWorkload) bool { return w.name == name })
			require.GreaterOrEqual(t, i, 0, "target for an unknown workload %q", name)
			peer := tg.peer
			if peer == "" {
				peer = nameFarad
			}
			require.True(
				t,
				slices.ContainsFunc(lockWorkloads[i].impls, func(im lockImpl) bool { return im.name == peer }),
				"%s has no %s",
				name,
				peer,
			)
		}
	}
}

// All locks of mutexbench and its variations exclude. The counter has no other guard.
func TestMutexbenchLocksExclude(t *testing.T) {
	locks := slices.Clone(handOffLocks) // which begin with those of mutexbench
	add := func(behind []wrapping, more []newLock) {
		for _, l := range more {
			for _, g := range behind {
				locks = append(locks, g.around(l))
			}
		}
	}
	add(figureVariants, figureLocks)
	add(laneGates, laneLocks)
	for _, l := range everyLocks {
		locks = append(locks, l.newLock)
	}
	for _, of := range locks {
		t.Run(of.name, func(t *testing.T) {
			const goroutines, rounds = 16, 500
			l, count := of.create(), 0
			together(t, goroutines, false, func(int) {
				for range rounds {
					l.Lock()
					count++
					l.Unlock()
				}
			})
			require.Equal(t, goroutines*rounds, count)
		})
	}
}

// Everything that is new runs, and bare LIFO, where most get nothing, takes no longer than the
// others.
func TestMutexbenchRuns(t *testing.T) {
	limits := timing{
		window:   time.Millisecond,
		warmup:   time.Millisecond,
		limit:    10 * time.Second,
		patience: time.Millisecond,
	}
	for _, w := range lockWorkloads {
		if !strings.HasPrefix(w.name, "mutexbench-") && !strings.HasPrefix(w.name, handOffPrefix) &&
			!strings.HasPrefix(w.name, everyPrefix) &&
			!strings.HasPrefix(w.name, "figure-8") &&
			w.name != planeName {
			continue
		}
		for _, im := range w.impls {
			s, err := measureLock(w.goroutines, im, limits)
			require.NoError(t, err, "%s/%s", w.name, im.name)
			require.Positive(t, s.NsPerOp)
			require.Equal(
				t,
				strings.Contains(w.name, "-waits-") || strings.HasPrefix(w.name, handOffPrefix),
				s.Waits != nil,
			)
		}
	}
}

func TestStarvingGoroutinesAreNotWaitedFor(t *testing.T) {
	w := mutexbenchLIFO(64)
	start := time.Now()
	s, err := measureLock(
		w.goroutines,
		w.impls[1],
		timing{window: 5 * time.Millisecond, warmup: time.Millisecond, limit: time.Minute},
	)
	require.NoError(t, err)
	require.Less(t, time.Since(start), 20*time.Second)
	require.Zero(t, s.Fairness, "%d idle", s.Idle)
}

// A sleepy lock takes so long, one time in two.
type sleepy struct {
	sync.Mutex
	takes  time.Duration
	number int
}

func (l *sleepy) Lock() {
	l.Mutex.Lock()
	if l.number++; l.number%2 == 0 {
		time.Sleep(l.takes)
	}
}

// Waits are those that begin in the window, one in eight, to the return of Lock. The time is that
// of a bubble.
func TestWaitsAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 2 * time.Millisecond
		var w waitLog
		l := &sleepy{takes: takes}
		w.reset(2)
		lock := func(x uint64) {
			d := w.timed(x, l.Lock)
			l.Unlock()
			w.note(1, d)
		}
		lock(8)
		require.Zero(t, w.summary().Count, "the window is not open")
		w.open.Store(true)
		for i := range uint64(80) {
			l.number = int(i / 8)
			lock(i)
		}
		s := w.summary()
		require.EqualValues(t, 10, s.Count)
		require.Zero(t, s.P50)
		require.GreaterOrEqual(t, s.P99, int64(takes)*99/100, "in steps of a hundredth")
		require.GreaterOrEqual(t, s.Max, s.P999)
		require.GreaterOrEqual(t, s.P999, s.Arrivals999)
		w.reset(1)
		require.Zero(t, w.summary().Count)
	})
}

// Of a thousand waits one is long. To those who come every microsecond it is the rule.
func TestLongWaitsCountForThoseWhoWouldHaveCome(t *testing.T) {
	var w waitLog
	w.reset(1)
	for range 999 {
		w.note(0, 10)
	}
	w.note(0, -1)
	w.note(0, 10*time.Millisecond)
	w.note(0, time.Hour)
	s := w.summary()
	require.EqualValues(t, 1001, s.Count)
	require.EqualValues(t, 10, s.P50)
	require.EqualValues(t, 10, s.P99)
	require.InEpsilon(t, float64(longestTracked), s.Max, 0.01)
	w.reset(1)
	for range 999 {
		w.note(0, 10)
	}
	w.note(0, 10*time.Millisecond)
	s = w.summary()
	require.EqualValues(t, 10, s.P999, "of acquisitions")
	require.InEpsilon(t, 10e6, s.Arrivals999, 0.02)
}

func TestDurationsAreShort(t *testing.T) {
	for ns, want := range map[float64]string{0: "0s", 7: "7ns", 999: "999ns", 1234: "1.23µs", 1_234_567: "1.23ms", 98_765_432: "98.8ms"} {
		require.Equal(t, want, duration(ns))
	}
}

// madeUpCapacitor is a report of two rounds.
func madeUpCapacitor(t *testing.T) *report {
	t.Helper()
	c, err := parse([]string{"-run", "^locks/(figure-|plane-|mutexbench-waits-64)"}, io.Discard)
	require.NoError(t, err)
	r := &report{Rounds: 2, Locks: planLocks(c.only.MatchString)}
	for i, l := range r.Locks {
		for j, im := range l.impls {
			for round := range 2 {
				s := lockSample{sample: sample{NsPerOp: float64(20 + i + 10*j + round), Fairness: 0.5}}
				if im.waits != nil {
					s.Waits = &waitSummary{
						Count:       9,
						P50:         40,
						P99:         5000,
						P999:        777_777,
						Max:         9_999_999,
						Arrivals999: int64(1_000_000 * (j + 1)),
					}
				}
				l.Samples[im.name] = append(l.Samples[im.name], s)
			}
		}
	}
	return r
}

func TestTablesOfTheCapacitor(t *testing.T) {
	r := madeUpCapacitor(t)
	md := r.markdown()
	for _, want := range []string{
		"| mutexbench-waits-64 | farad | 40ns | 5µs | 778µs | 10ms | 1ms |  |  |",
		"| mutexbench-waits-64 | sync.Mutex | 40ns | 5µs | 778µs | 10ms | 2ms | 1.00 (1.00–1.00) ≤ 0.5 missed | 0.50 (0.50–0.50) ≤ 0.5 met |",
		"| lock | variant | T=1 | T=2 | T=8 | T=64 | T=256 |",
		"| Reciprocating | bare | 21.5 (0.50) | 22.5 (0.50) |",
		"| TTS | B=10, bypass 0.99 | 161.5 (0.50) |",
		"| B | Q=0 | Q=16 | Q=64 | Q=256 | Q=1024 |",
		"| 32 |",
	} {
		require.Contains(t, md, want)
	}
	require.NotContains(t, md, "Mutexes and read-write locks", "a table of its own is enough")
	require.NotContains(t, (&report{}).markdown(), "| 32 |")
}

// What is drawn comes from the raw rounds, and is drawn as far as it is there.
func TestPlots(t *testing.T) {
	r := madeUpCapacitor(t)
	draw := func(r *report) (string, error) {
		t.Helper()
		dir := t.TempDir()
		raw, err := r.json()
		require.NoError(t, err)
		file := filepath.Join(dir, "r.json")
		require.NoError(t, os.WriteFile(file, []byte(raw), 0o600))
		c, err := parse([]string{"-plot", dir, file}, io.Discard)
		require.NoError(t, err)
		return dir, retell(c, io.Discard)
	}
	dir, err := draw(r)
	require.NoError(t, err)
	for name, words := range map[string][]string{
		figureFile: {"Reciprocating, million/s", "Ticket", "LIFO", "MCS", "TTS", "bare", "B=10, bypass 0.99", "goroutines", "fairness", "256"},
		planeFile:  {"B = 32", "ns per acquisition", "fairness", "Q, places of the express lane", "1024"},
	} {
		svg, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.True(t, bytes.HasPrefix(svg, []byte("<?xml")))
		for _, w := range words {
			require.True(t, bytes.Contains(svg, []byte(">"+w)), "no %q in %s", w, name)
		}
	}

	r.Locks = slices.DeleteFunc(r.Locks, func(l *lockResult) bool { return l.Workload == planeName })
	dir, err = draw(r)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, figureFile))
	require.NoFileExists(t, filepath.Join(dir, planeFile))

	_, err = draw(&report{})
	require.ErrorContains(t, err, "neither")
	fails := func(file string) error { return retell(config{plot: dir, from: []string{file}}, io.Discard) }
	require.ErrorIs(t, fails(filepath.Join(dir, "nothing.json")), fs.ErrNotExist)
	bad := filepath.Join(dir, "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte("{"), 0o600))
	require.ErrorAs(t, fails(bad), new(*json.SyntaxError))
	for _, args := range [][]string{{"-plot", "x"}, {"-plot", "x", "y", "z"}} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, "one file")
	}
}
