//go:build interleave

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/interleave"
)

// at returns the result of a lock on n cores.
func at(t *testing.T, name string, cores int) point {
	t.Helper()
	return under(t, workload{hold: 20, outside: 200, lasts: 300_000}, name, cores)
}

// mutexBench is that of the capacitor's paper: one step of a shared random generator inside, and
// nothing outside.
var mutexBench = workload{hold: 5, outside: 0, lasts: 300_000}

func under(t *testing.T, w workload, name string, cores int) point {
	t.Helper()
	m := interleave.Xeon()
	m.Seed = 1
	for _, k := range kinds {
		if k.name == name {
			p, err := measure(m, w, k, cores)
			require.NoError(t, err)
			return p
		}
	}
	t.Fatal("no lock " + name)
	return point{}
}

func skipUnderRace(t *testing.T) {
	t.Helper()
	if interleave.RaceEnabled {
		t.Skip("the race detector does not see what is simulated")
	}
}

// Semaphores augmented with a waiting array: with global spinning each grant costs as many
// transfers as there are cores, with the array always the same.
func TestTicketFadesAndWaitingArrayDoesNot(t *testing.T) {
	skipUnderRace(t)
	ticket := map[int]point{}
	array := map[int]point{}
	for _, n := range []int{2, 8, 16, 32, 64} {
		ticket[n], array[n] = at(t, "ticket", n), at(t, "twa", n)
	}
	require.Greater(t, ticket[8].rate, 0.9*ticket[2].rate)
	require.Less(t, ticket[16].rate, 0.9*ticket[8].rate)
	require.Less(t, ticket[32].rate, 0.7*ticket[8].rate)
	require.InDelta(t, 1, array[32].rate/array[8].rate, 0.1)
	require.Greater(t, array[32].rate, 1.4*ticket[32].rate)
	require.Greater(t, array[64].rate, 1.4*ticket[64].rate)

	require.Greater(t, ticket[32].transfers, 2.5*ticket[8].transfers)
	require.InDelta(t, 1, array[32].transfers/array[8].transfers, 0.1)
	require.Greater(t, min(ticket[32].fairness, array[32].fairness), 0.85)
}

// Capacitors: a lock that suffers from many waiters is quicker and fair behind the gate; another
// gains nothing.
func TestCapacitorHelpsWhoSuffers(t *testing.T) {
	skipUnderRace(t)
	for _, lock := range []string{"tas", "tts"} {
		require.Less(t, at(t, "capacitor("+lock+")", 2).rate, at(t, lock, 2).rate, "the gate is not for nothing")
		for _, n := range []int{9, 16, 32, 64} {
			require.Greater(t, at(t, "capacitor("+lock+")", n).rate, 1.2*at(t, lock, n).rate, "%s on %d", lock, n)
		}
		require.Less(t, at(t, lock, 16).fairness, 0.6)
		require.Greater(t, at(t, "capacitor("+lock+")", 16).fairness, 0.85)
	}
	for n, most := range map[int]float64{4: 1, 8: 0.95, 32: 3} { // between 8 and 32 it overtakes
		ratio := under(t, mutexBench, "capacitor(tts)", n).rate / under(t, mutexBench, "tts", n).rate
		require.Less(t, ratio, most, n)
		require.Greater(t, ratio, most/2, n)
	}
	for _, n := range []int{2, 8, 16, 32, 64} {
		require.InDelta(t, 0.9, at(t, "capacitor(mcs)", n).rate/at(t, "mcs", n).rate, 0.1, "mcs on %d", n)
	}
}

// Queue locks cost the same number of transfers for any number of waiters, reciprocating locks
// fewer than MCS.
func TestQueueLocksAreFlat(t *testing.T) {
	skipUnderRace(t)
	for _, lock := range []string{"mcs", "reciprocating"} {
		few, many := at(t, lock, 8), at(t, lock, 32)
		require.InDelta(t, 1, many.rate/few.rate, 0.1, lock)
		require.InDelta(t, 1, many.transfers/few.transfers, 0.1, lock)
	}
	require.Less(t, at(t, "reciprocating", 32).transfers, at(t, "mcs", 32).transfers)
	require.Greater(t, at(t, "mcs", 32).fairness, 0.85)
}

// What the module ships: behind a gate with an express lane the spinning lock keeps its rate with
// few cores.
func TestShippedCapacitorKeepsItsRate(t *testing.T) {
	skipUnderRace(t)
	const wrapped = "capacitor.Wrap(TTS, 8, WithExpress(256))"
	require.Less(t, at(t, "innerlocks.TTS", 32).rate, 0.5*at(t, "innerlocks.TTS", 2).rate)
	require.Greater(t, at(t, wrapped, 32).rate, 0.6*at(t, wrapped, 2).rate)
	require.Greater(t, at(t, wrapped, 32).rate, 2*at(t, "innerlocks.TTS", 32).rate)
}

func TestOutput(t *testing.T) {
	skipUnderRace(t)
	var tables, points strings.Builder
	require.NoError(t, run([]string{"-cores", "1,3", "-lasts", "20000", "mcs", "mutex.Mutex"}, &tables))
	require.Contains(t, tables.String(), "| cores | 1 | 3 |\n|---|---:|---:|\n| mcs | ")
	require.NoError(t, run([]string{"-cores", "1,3", "-lasts", "20000", "-csv", "mcs"}, &points))
	require.Equal(t, 3, strings.Count(points.String(), "\n"))
	require.Error(t, run([]string{"-cores", "257"}, &points))
}
