//go:build !interleave

package observetest_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/observe/observetest"
)

// variable says how a re-executed program is checked.
const (
	variable = "FARAD_OBSERVETEST_CASE"
	byMain   = "main"
	byCheck  = "check"

	only = "FARAD_OBSERVETEST_ONLY" // the test that runs, without a flag
)

func TestMain(m *testing.M) {
	if os.Getenv(variable) == byMain {
		observetest.Main(m)
	}
	os.Exit(m.Run())
}

// again runs this program, and returns its exit code and what it says: with the marks of lines in
// the place of their numbers, and without what differs from run to run.
func again(t *testing.T, how, reasons string, args ...string) (code int, said string) {
	t.Helper()
	if os.Getenv(variable) != "" {
		t.Skip("runs already as one of its own")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	folder := t.TempDir()
	if reasons != "" {
		require.NoError(t, os.Mkdir(filepath.Join(folder, "testdata"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "testdata", "observetest.txt"), []byte(reasons), 0o600))
	}
	// Two of its tests run at the same time, which go test allows on two processors only.
	cmd := exec.CommandContext(t.Context(), self, append([]string{"-test.parallel=2"}, args...)...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), variable+"="+how)
	out, err := cmd.CombinedOutput()
	if err != nil {
		require.IsType(t, new(exec.ExitError), err)
	}
	source, err := os.ReadFile("faults_test.go")
	require.NoError(t, err)
	marks := map[string]string{}
	n := 0
	for line := range strings.Lines(string(source)) {
		n++
		if _, mark, ok := strings.Cut(line, "// @"); ok {
			marks[fmt.Sprint(n)] = strings.TrimSpace(mark)
		}
	}
	said = regexp.MustCompile(`\S*faults_test\.go:\d+`).ReplaceAllStringFunc(string(out), func(at string) string {
		if mark, ok := marks[at[strings.LastIndexByte(at, ':')+1:]]; ok {
			return "@" + mark
		}
		return "@"
	})
	said = regexp.MustCompile(`\S*(/waitgroup\.go):\d+`).ReplaceAllString(said, "…$1")
	said = regexp.MustCompile(`goroutine \d+`).ReplaceAllString(said, "goroutine N")
	return cmd.ProcessState.ExitCode(), regexp.MustCompile(`\d+\.\d+s`).ReplaceAllString(said, "0s")
}

// update has the golden file written.
var update = flag.Bool("update", false, "write testdata/faults.golden")

// The text of each report: user's line first, both stacks, and how to suppress it. With Check the
// test fails, with Main the package, and a deadlock ends the program.
func TestFaultsAreReported(t *testing.T) {
	const name = "testdata/faults.golden"
	var all strings.Builder
	for _, how := range []string{byCheck, byMain} {
		for _, test := range []string{
			"Inversion", "InversionOften", "InversionOfReaders", "InSubtest", "InBubble", "Parallel.*", "Deadlock",
			"PermitLeaks", "PermitHeld", "LockLeaks", "Held", "Fails", "Panic", "None",
		} {
			code, said := again(t, how, "", "-test.run=^TestFault"+test+"$", "-test.timeout=1m")
			said, _, _ = strings.Cut(said, "\ngoroutine N [running]")
			fmt.Fprintf(&all, "## %s, by %s: exit code %d\n%s\n", test, how, code, strings.TrimSpace(said))
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(all.String()), 0o600))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), all.String())
}

// What may be a deadlock is shown before the time is up, and does not change what happens then.
func TestPossibleDeadlockIsShownWhenTheTimeIsUp(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until the time of a program is up")
	}
	code, said := again(t, byMain, "", "-test.run=^TestFaultPossibleDeadlock$", "-test.timeout=6s")
	require.Equal(t, 2, code)
	require.True(t, strings.HasPrefix(said, `@self2: possible deadlock, when the time is up
    a goroutine waits
        observetest_test.TestFaultPossibleDeadlock  @self2
    for what was acquired
        observetest_test.TestFaultPossibleDeadlock  @self1
panic: test timed out after 6s`), said)
}

// A report comes once in a process.
func TestCountRepeatsNoReport(t *testing.T) {
	for _, how := range []string{byCheck, byMain} {
		code, said := again(t, how, "", "-test.run=^TestFaultInversion$", "-test.count=3")
		require.Equal(t, 1, code)
		require.Equal(t, 1, strings.Count(said, "lock order inversion"), said)
	}
	code, said := again(t, byMain, "", "-test.run=^TestCorrect", "-test.count=3")
	require.Zero(t, code, said)
}

func TestNoReportOfCorrectPrograms(t *testing.T) {
	for _, how := range []string{byCheck, byMain} {
		for _, parallel := range []string{"1", "4"} {
			code, said := again(t, how, "", "-test.run=^TestCorrect", "-test.cpu="+parallel)
			require.Zero(t, code, said)
			require.Equal(t, "PASS\n", said)
		}
	}
}

const key = "inversion observetest_test.(*account).pay observetest_test.audit"

func TestReasonsSuppressReports(t *testing.T) {
	reasons := "# no faults\n\n" + key + "\tthe bank is closed when it is audited\n"
	for _, how := range []string{byCheck, byMain} {
		code, said := again(t, how, reasons, "-test.run=^TestFaultInversion$")
		require.Zero(t, code, said)
	}
	code, said := again(t, byMain, "deadlock observetest_test.TestFaultDeadlock.func1 "+
		"observetest_test.TestFaultDeadlock.func2\twe shall see\n", "-test.run=^TestFaultDeadlock$", "-test.timeout=3s")
	require.Equal(t, 2, code)
	require.NotContains(t, said, "nothing can end", "it is not reported")
	require.Contains(t, said, "test timed out")
}

// A reason that was not needed fails, if all tests ran.
func TestStaleReasonsFail(t *testing.T) {
	const stale = "testdata/observetest.txt:2: nothing was found that this is the reason of: " + key + "\n"
	reasons := "# no faults\n" + key + "\tas above\n"
	t.Setenv(only, "TestFaultNone")
	code, said := again(t, byMain, reasons)
	require.Equal(t, 1, code)
	require.Equal(t, "PASS\n"+stale, said)
	for _, args := range [][]string{{"-test.run=."}, {"-test.short"}, {"-test.skip=x"}} {
		code, said = again(t, byMain, reasons, args...)
		require.Zero(t, code, said)
	}
	code, said = again(t, byMain, key+"\tsometimes, on slow days")
	require.Zero(t, code, said)
}

func TestReasonsHaveAForm(t *testing.T) {
	const want = "testdata/observetest.txt:1: expected a report, a tab, and a reason"
	for _, how := range []string{byCheck, byMain} {
		code, said := again(t, how, key+"\n", "-test.run=^TestFaultNone$")
		require.Equal(t, 1, code)
		require.Contains(t, said, want)
	}
}

// Benchmarks are not observed.
func TestBenchmarksAreNotObserved(t *testing.T) {
	code, said := again(t, byMain, "", "-test.run=^TestFaultInversion$", "-test.bench=None")
	require.Zero(t, code, said)
}
