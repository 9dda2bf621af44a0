package report

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/benchtest"
	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
)

// saved writes r as a run does.
func saved(t *testing.T, r *Report) (file string) {
	t.Helper()
	raw, err := r.JSON()
	require.NoError(t, err)
	file = filepath.Join(t.TempDir(), "r.json")
	require.NoError(t, os.WriteFile(file, []byte(raw), 0o600))
	return file
}

// A run that is read from a file has the same report as when it was measured, of every kind.
func TestARunIsReadAsItWas(t *testing.T) {
	r := MadeUpAll()
	back, err := Load(saved(t, r))
	require.NoError(t, err)
	require.Equal(t, r.Markdown(), back.Markdown())
	require.Equal(t, r.Benchstat(), back.Benchstat())
}

// Workloads and locks that the program no longer has keep their names, and what has samples is
// reported.
func TestARunOfAnotherProgramIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.json")
	require.NoError(t, os.WriteFile(file, []byte(`{
		"cells": [{"cell": "gone/shared", "samples": {"farad": [{"ns_per_op": 5}], "zeno": [{"ns_per_op": 10}]}}],
		"locks": [{"workload": "mutex-1", "samples": {"farad": [{"ns_per_op": 6}], "sync.Mutex": [{"ns_per_op": 5}], "zeno": [{"ns_per_op": 12}]}},
			{"workload": "lost-8", "samples": {"zeno": [{"ns_per_op": 12}]}}],
		"tasks": [{"workload": "past", "workers": 1, "samples": {"farad": [{"ns_per_op": 7}], "zeno": [{"ns_per_op": 14}]}}]
	}`), 0o600))
	r, err := Load(file)
	require.NoError(t, err)
	benchtest.HasAll(
		t,
		r.Markdown(),
		"| gone | shared | zeno | 10.0 |",
		"| mutex-1 | sync.Mutex | 5.0 | 1.20 ≤",
		"| mutex-1 | zeno | 12.0 | 0.50 |",
		"| lost-8 | zeno | 12.0 |",
		"| past | 1 | zeno | 7.0 | 14.0 | 0.50 |",
	)
}

// The floor is not a peer, nor is what is ours.
func TestOverviewTellsPeersFromFloors(t *testing.T) {
	md := MadeUpAll().Markdown()
	benchtest.HasAll(t, md,
		"| uncontended/background | floor | x/sync | 2750.0 | 2500.0–3000.0 | 2.50 (2.50–2.50) | 1.67 (1.67–1.67) |",
		"| yield-held-8x2/own | ring | x/sync |",
		"| word-1 | fetch-or | sync.Mutex |",
		"| tasks/await-yield/1 | iter.Pull |  |",
		"| cancel/goroutine/1000 |  | x/sync | 41.0 | 40.0–42.0 |  | 1.00 (1.00–1.00) |",
	)
	for _, l := range MadeUpAll().Lines() {
		if peer := l.Quickest(Others); peer != "" {
			require.NotContains(t, peer, measure.NameFarad)
		}
	}
}

// Every peer of a target is a floor, another library's, or ours.
func TestPeersOfTargetsAreKnown(t *testing.T) {
	all := slices.Concat(
		semaphore.Targets, locks.Targets, capacitor.Targets, tasks.Targets, waiters.WakeTargets)
	for _, tg := range all {
		if tg.Peer != "" && !strings.HasPrefix(tg.Peer, measure.NameFarad) {
			require.True(t, slices.Contains(Floors, tg.Peer) != slices.Contains(Others, tg.Peer), tg.Peer)
		}
	}
}

func TestBenchstatReadsTheRounds(t *testing.T) {
	text := MadeUpAll().Benchstat()
	require.True(
		t,
		strings.HasPrefix(text, "goos: linux\ngoarch: amd64\npkg: github.com/farad-go/farad/bench\ncpu: a <b> & c\n"),
		text[:200],
	)
	format := regexp.MustCompile(
		`^Benchmark[A-Z]\S*/impl=[^\s/]+-2\t[1-9]\d*\t\d+\.\d+ ns/op(\t\d+\.\d+ allocs/op)?$`,
	)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")[4:]
	for _, l := range lines {
		require.Regexp(t, format, l)
	}
	round := "BenchmarkContended-8x1/own/impl=x_sync-2\t1000\t"
	require.Equal(t, 3, strings.Count(text, round))
	benchtest.HasAll(t, text, round+"1000.0000 ns/op\t0.0000 allocs/op\n"+round+"1100.0000 ns/op")
	benchtest.HasAll(t, text, "BenchmarkCancel/future/1000/impl=farad-2\t1\t42.0000 ns/op\n")
	require.True(t, strings.Contains(text, "/impl=wrapped_sync.Mutex,_B=10,_bypass_0.99-2\t"))
}
