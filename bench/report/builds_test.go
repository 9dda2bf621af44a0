package report

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
)

// bothBuilds are a run of either build, the portable one of which needs twice as long.
func bothBuilds() (gopark, channels *Report) {
	gopark, channels = MadeUpWithTargets(), MadeUpWithTargets()
	gopark.Machine.Sleep, channels.Machine.Sleep = measure.SleepGopark, measure.SleepChannels
	for _, l := range channels.Locks {
		for i := range l.Samples[measure.NameFarad] {
			l.Samples[measure.NameFarad][i].NsPerOp *= 2
		}
	}
	for i := range channels.Memory {
		channels.Memory[i].Bytes += 1000
	}
	return gopark, channels
}

func TestBuildsStandBesideEachOther(t *testing.T) {
	file := filepath.Join(t.TempDir(), "B.md")
	require.NoError(t, os.WriteFile(file, []byte("before\n"+BuildsBegin+"old\n"+BuildsEnd+"after\n"), 0o600))
	gopark, channels := bothBuilds()
	require.NoError(t, WriteBuilds(file, channels, &Report{}, gopark))
	now, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, want := range []string{
		"before\n" + BuildsBegin + "| what | farad ÷ | gopark | portable: channels |\n| --- | --- | ---: | ---: |\n",
		"| semaphore, uncontended | x/sync | 1.67 (1.67–1.67) | 1.67 (1.67–1.67) |\n",
		"| semaphore, time limit, 8 goroutines | channel, timer | 0.67 (0.67–0.67) | 1.33 (1.33–1.33) |\n",
		"| a waiting goroutine | bytes | 256 | 1256 |\n",
		"| the same on the waiting array | bytes | 303 | 1303 |\n" + BuildsEnd + "after\n",
	} {
		require.Contains(t, string(now), want)
	}
}

func TestTableOfBuildsNeedsBoth(t *testing.T) {
	gopark, channels := bothBuilds()
	_, err := buildsText(gopark)
	require.ErrorContains(t, err, "channels: -run '^contended-8x1/background/'")
	require.NotContains(t, err.Error(), "gopark")
	gopark.Memory = gopark.Memory[:2]
	_, err = buildsText(gopark, channels)
	require.EqualError(t, err, "these were not measured:\n"+
		"gopark: -run '^memory/goroutine/background/'\n"+
		"gopark: -run '^memory/goroutine/shared/'\n"+
		"gopark: -run '^memory/goroutine/own/'\n"+
		"gopark: -run '^memory/goroutine/background/'")
	channels.Smoke = true
	_, err = buildsText(gopark, channels)
	require.ErrorContains(t, err, "void")
}

// What one command measures is what the table needs, and hardly more.
func TestBuildsAreMeasured(t *testing.T) {
	picks := regexp.MustCompile(BuildsRun()).MatchString
	gopark, _ := bothBuilds()
	r := &Report{
		Cells: semaphore.Plan(semaphore.Implementations, picks),
		Locks: locks.Plan(LockWorkloads, picks),
		Tasks: tasks.Plan(picks),
		Wake:  waiters.PlanWake(picks, false),
	}
	copySamples(r, gopark)
	for _, row := range buildsRows {
		if row.impl == "" {
			require.NotEmpty(t, row.figures(r), "%+v", row)
			continue
		}
		require.True(t, picks(row.run+"/"+row.impl), "%+v", row)
	}
	require.Empty(t, r.Wake)
	require.False(t, picks("contended-8x1/background/"+peers.NameRing))
	require.True(t, picks("memory/goroutine/background/"+peers.NameArray))
}
