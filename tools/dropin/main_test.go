package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/tools/dropin/gotest"
	"github.com/farad-go/farad/tools/internal/repo"
)

func TestModulesAreChosenByWords(t *testing.T) {
	all, err := choose(nil)
	require.NoError(t, err)
	require.Equal(t, modules, all)
	require.GreaterOrEqual(t, len(all), 9, "eight modules and the library")
	some, err := choose([]string{"puddle", "golang.org"})
	require.NoError(t, err)
	require.Len(t, some, 2)
	_, err = choose([]string{"puddle", "nonsense"})
	require.ErrorContains(t, err, "nonsense")
}

func TestTheListHasItsForm(t *testing.T) {
	list, err := readList(filepath.Join("..", "..", filepath.FromSlash(listName)))
	require.NoError(t, err)
	for key := range list {
		x, rest, _ := strings.Cut(key, " ")
		require.Contains(t, []string{swaps[0].name, swaps[1].name}, x)
		of := false
		for _, m := range modules {
			of = of || m.has(strings.Fields(rest)[0])
		}
		require.True(t, of, "no module has %s", rest)
	}
}

// A module whose tests pass, and one whose tests do not compile with ours.
func TestTrialOfAModule(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles modules in every way that dropin does")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26.0\n\nrequire " + repo.Module + " v0.0.0\n\n" +
			"replace " + repo.Module + " => " + root + "\n",
		"good/g_test.go": "package good\n\nimport (\n\t\"sync\"\n\t\"testing\"\n)\n\nfunc TestLock(t *testing.T) { new(sync.Mutex).Lock() }\n",
		"size/s_test.go": "package size\n\nimport (\n\t\"sync\"\n\t\"testing\"\n\t\"unsafe\"\n)\n\n" +
			"var _ [8 - unsafe.Sizeof(sync.Mutex{})]byte\n\nfunc TestSize(t *testing.T) {}\n",
		"other/o_test.go": "package other\n\nimport \"testing\"\n\nfunc TestOther(t *testing.T) { t.Error(\"either way\") }\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	m := module{path: "example.org/m", version: "v1.0.0"}
	var progress strings.Builder
	trials, err := m.trials(folder, t.TempDir(), &progress)
	require.NoError(t, err)
	require.Len(t, trials, 1, "nothing imports the semaphore")
	require.Contains(t, progress.String(), "sync in 2 files")
	require.NotContains(t, progress.String(), "again", "what fails either way, or does not compile")
	r := report{trials: trials}
	require.Len(t, r.problems(), 1)
	require.Contains(t, r.problems()[0], "example.org/m/size (build)")
	require.Contains(t, r.text(), "| `example.org/m@v1.0.0` | 3 | 1 of 2 | **1 do not compile**, 1 fail either way |")
}

func failed(test string, hung bool, runs, ours, original int) failure {
	return failure{gotest.Failure{Package: "p", Test: test, Reason: "why", Hung: hung}, runs, ours, original}
}

func TestWhatCounts(t *testing.T) {
	for _, c := range []struct {
		failure
		counts bool
	}{
		{failed("Always", false, 3, 3, 0), true},
		{failed("Mostly", false, 3, 2, 1), true},
		{failed("Once", false, 3, 1, 0), false},
		{failed("EitherWay", false, 3, 3, 2), false},
		{failed("EitherWay", false, 1, 1, 1), false},
		{failed(gotest.Build, false, 1, 1, 0), true},
		{failed("Hangs", true, 3, 1, 0), true},
		{failed("HangsEitherWay", true, 1, 1, 1), false},
	} {
		require.Equal(t, c.counts, c.failure.counts(), c.Test)
	}
}

// What failed runs again in its packages only.
func TestAnotherRunIsAdded(t *testing.T) {
	result := func(keys ...gotest.Failure) gotest.Result {
		r := gotest.Result{Failed: map[string]gotest.Failure{}}
		for _, k := range keys {
			r.Failed[k.Key()] = k
		}
		return r
	}
	f := failed("T", false, 1, 1, 0)
	f.add(result(), result(), []string{"other"})
	require.Equal(t, failed("T", false, 1, 1, 0), f)
	f.add(result(f.Failure), result(), []string{"p"})
	require.Equal(t, failed("T", false, 2, 1, 1), f)
	hung := f.Failure
	hung.Hung = true
	f.add(result(), result(hung), []string{"p"})
	require.Equal(t, failed("T", true, 3, 2, 1), f)

	all := trial{failures: []failure{
		failed("T", false, 1, 1, 0), failed("U", false, 1, 1, 0), failed("EitherWay", false, 1, 1, 1),
		failed(gotest.Build, false, 1, 1, 0), failed("Hangs", true, 1, 1, 0),
	}}
	require.Equal(t, []string{"p"}, all.again())
	require.Empty(t, (&trial{failures: all.failures[2:]}).again())
}

func TestTheListIsTrue(t *testing.T) {
	tests := func(failures ...failure) trial {
		return trial{module: module{path: "p", version: "v1"}, exchange: "sync", failures: failures}
	}
	always, once := failed("T", false, 3, 3, 0), failed("T", false, 3, 1, 0)
	for name, c := range map[string]struct {
		trial
		explained string
		problem   string
	}{
		"nothing":              {tests(), "", ""},
		"unexplained":          {tests(always), "", "fails, and is not explained"},
		"chance":               {tests(once), "", ""},
		"explained":            {tests(always), "sync p T", ""},
		"explained chance":     {tests(once), "sync p T", ""},
		"fails no more":        {tests(), "sync p T", "does not fail"},
		"another package":      {tests(), "sync p/q T", "does not fail"},
		"not of this exchange": {tests(), "semaphore p T", ""},
		"not of this module":   {tests(), "sync pq T", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := report{trials: []trial{c.trial}, explained: map[string]string{}}
			if c.explained != "" {
				r.explained[c.explained] = "because"
			}
			if c.problem == "" {
				require.Empty(t, r.problems())
				return
			}
			require.Len(t, r.problems(), 1)
			require.Contains(t, r.problems()[0], c.problem)
			require.Contains(t, r.text(), c.problem)
		})
	}
}

// Both programs run in each round, with the processors that are asked for, and a module that does
// not import the package is refused.
func TestBenchmarksAreCompared(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	folder := t.TempDir()
	goMod := "module example.org/m\n\ngo 1.26.0\n\nrequire " + repo.Module + " v0.0.0\n\nreplace " + repo.Module + " => " + root + "\n"
	bench := "package m\n\nimport (\n\t\"sync\"\n\t\"testing\"\n\t\"unsafe\"\n)\n\n" +
		"// Ours has 16 bytes.\nfunc BenchmarkSize(b *testing.B) {\n" +
		"\tb.ReportMetric(float64(unsafe.Sizeof(sync.Mutex{})), \"ns/op\")\n}\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte(goMod), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "m_test.go"), []byte(bench), 0o600))
	m := module{path: "example.org/m", version: "v1.0.0", suites: []suite{{".", "Size"}}}
	var progress strings.Builder
	speeds, err := m.raceIn(folder, t.TempDir(), race{2, time.Millisecond, "1,2"}, &progress)
	require.NoError(t, err)
	require.Contains(t, progress.String(), "round 2 of 2")
	require.Len(t, speeds, 2)
	require.Equal(t, "Size", speeds[0].name)
	require.Equal(t, "Size-2", speeds[1].name)
	for _, s := range speeds {
		require.Equal(t, []float64{16, 16}, s.ours)
		require.Equal(t, []float64{8, 8}, s.original)
		require.InDelta(t, 2, s.ratio(), 1e-9)
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, "m_test.go"), []byte("package m\n"), 0o600))
	_, err = m.raceIn(folder, t.TempDir(), race{}, &progress)
	require.ErrorContains(t, err, "does not import sync")
}

func TestSpeedsAreMedians(t *testing.T) {
	s := speed{original: []float64{1, 100, 2}, ours: []float64{1, 5, 9, 900}}
	require.InDelta(t, 3.5, s.ratio(), 1e-9)
	require.InDelta(t, 2, geometricMean([]float64{1, 4}), 1e-9)
}

// A report is what stands between its first line and the last but one, of any test or of none.
func TestReportsAreFound(t *testing.T) {
	r := gotest.Result{Output: map[string][]string{
		"b": {
			"=== RUN   TestA\n", "    a_test.go:3: lock order inversion: here and at a_test.go:4 each\n", "        one\n",
			"        If this is right, say why\n", "            inversion a b\n", "a_test.go:3: deadlock is no title here\n",
		},
		"a": {"x.go:1: leak: a lock\n", "    one\n", "    If this is right, say why\n", "x.go:2: leaks\n"},
	}}
	require.Equal(t, []string{
		"  a: x.go:1: leak: a lock\n      one\n",
		"  b: a_test.go:3: lock order inversion: here and at a_test.go:4 each\n          one\n",
	}, reportsOf(r))
}
