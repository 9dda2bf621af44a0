package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/fleet/embedded/internal/child"
	"github.com/farad-go/farad/fleet/embedded/internal/cluster"
	"github.com/farad-go/farad/fleet/fence"
)

// runAsProgram is the environment variable that makes the test the program.
const runAsProgram = "FARAD_TEST_RUN_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(runAsProgram) != "" {
		main()
	}
	cluster.Main()
	child.Main(workerRole, runWorker)
	goleak.VerifyTestMain(m)
}

// The example with real members and workers. What is refused was really done by others before: so
// the faults are real.
func TestNoJobIsDoneTwiceWhileThingsBreak(t *testing.T) {
	var stdout, stderr output
	code := run(t.Context(), []string{"-seconds=5"}, &stdout, &stderr)
	require.Equal(t, exitOK, code, "%s\n%s", &stdout, &stderr)
	require.Positive(t, number(t, stdout.String(), "jobs done"))
	require.Zero(t, number(t, stdout.String(), "jobs done twice"))
	require.Zero(t, number(t, stdout.String(), "more permits used than there are"))
	require.Positive(t, number(t, stdout.String(), "members killed"))
	require.Regexp(t, `(?m)^longest wait +\d+\.\ds, for [1-4] permits$`, stdout.String())
	if strings.Contains(stderr.String(), "is paused") { // not every system can
		require.Positive(t, number(t, stdout.String(), "... without fencing"))
	}
	if strings.Contains(stderr.String(), "others have its permits after") {
		require.Regexp(t, `(?m)^(permits back after a kill|\.\.\. and of a member, too) +\d+\.\ds.*; a lease lasts 4s$`, stdout.String())
	}
	require.Regexp(t, `(?m)^ *\d+\.\ds  \d+(\+\d+){5} permits = \d+ of 40; \d+ jobs done$`, stderr.String())
	require.Regexp(t, `(?m)worker \d is killed, with \d+ permits$`, stderr.String())
}

// number returns the number in a row of the report.
func number(t *testing.T, report, row string) int {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(row) + ` +(\d+)( times)?$`).FindStringSubmatch(report)
	require.NotNil(t, m, "%s: %s", row, report)
	n, err := strconv.Atoi(m[1])
	require.NoError(t, err)
	return n
}

// output is what several goroutines write to.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// A and B have one lease each; a later token of B says that A's lease holds nothing any more.
var (
	tokenA      = fence.Token{Rev: 5, Seq: 1, Lease: 1, Survivors: []int64{1, 2}}
	tokenB      = fence.Token{Rev: 5, Seq: 1, Lease: 2, Survivors: []int64{1, 2}}
	tokenBLater = fence.Token{Rev: 9, Seq: 2, Lease: 2, Survivors: []int64{2}}
	a, b        = who{0, 1}, who{1, 1}
)

func TestJobOfAWorkerThatLostItsPermitsGoesToAnother(t *testing.T) {
	l := newLedger()
	lost, err := l.begin(tokenA, a, 3, 0)
	require.NoError(t, err)
	other, err := l.begin(tokenB, b, 3, 2*time.Second)
	require.NoError(t, err)
	require.NotSame(t, lost, other)
	require.Equal(t, []int64{3, 3}, l.held(2))

	again, err := l.begin(tokenBLater, b, 3, time.Second)
	require.NoError(t, err)
	require.Same(t, lost, again)
	require.Equal(t, []int64{0, 6}, l.held(2))
	held, jobs, undone := l.of(a)
	require.Equal(t, []int{0, 1, 1}, []int{int(held), jobs, undone})

	require.ErrorIs(t, l.end(tokenA, lost.number), fence.ErrStale)
	require.Zero(t, l.count().avoided, "nobody has done it until now")
	require.NoError(t, l.end(tokenBLater, lost.number))
	require.NoError(t, l.end(tokenB, other.number))
	_, _, undone = l.of(a)
	require.Zero(t, undone)
	require.Equal(t, counts{jobs: 2, avoided: 1, refused: 1, longest: wait{2 * time.Second, 3}}, l.count())
}

// A worker that stands still waits for itself.
func TestWaitsOfPausedWorkersAreCountedApart(t *testing.T) {
	l := newLedger()
	begin := func(w who, weight int64, waited time.Duration) {
		_, err := l.begin(tokenA, w, weight, waited)
		require.NoError(t, err)
	}
	l.resume(a)
	begin(a, 2, time.Hour)
	begin(a, 3, 0)
	begin(b, 1, time.Minute)
	require.Equal(t, wait{time.Minute, 1}, l.count().longest)
	require.Equal(t, wait{time.Hour, 2}, l.count().paused)
	var out output
	require.NoError(t, report{counts: l.count()}.write(&out))
	require.Regexp(t, `(?m)^longest wait +60\.0s, for 1 permits\n\.\.\. of a worker that was paused +3600\.0s, for 2 permits$`, &out)
}

func TestLedgerCountsWhatMustNotBe(t *testing.T) {
	l := newLedger()
	for range permits / maxWeight {
		_, err := l.begin(tokenA, a, maxWeight, 0)
		require.NoError(t, err)
	}
	_, err := l.begin(tokenB, b, 1, 0)
	require.ErrorIs(t, err, fence.ErrFull)
	require.Equal(t, 1, l.count().overfull)
	require.Error(t, l.end(tokenA, 1000))
	_, err = l.begin(tokenA, a, maxWeight+1, 0)
	require.Error(t, err)
	require.Equal(t, 2, l.count().wrong)
	require.NoError(t, l.end(tokenA, 0))
	require.NoError(t, l.end(tokenA, 0), "the token has other jobs of this weight")
	require.Equal(t, 1, l.count().twice)

	for _, c := range []counts{{twice: 1}, {overfull: 1}, {wrong: 1}} {
		require.False(t, report{counts: c}.sound())
	}
	require.True(t, report{counts: counts{jobs: 1, avoided: 1, refused: 2}}.sound())
}

func TestChartHasACellForEachPermit(t *testing.T) {
	l := newLedger()
	_, err := l.begin(tokenB, b, 4, 0)
	require.NoError(t, err)
	s := &show{ledger: l, begun: time.Now(), crew: make([]hand, 2), members: []string{works, killed}}
	s.crew[0].does = paused
	var out output
	end := s.drawChart(&out)
	s.say("something %s", "happens")
	end()
	require.Contains(t, out.String(), "worker 0  "+strings.Repeat("·", permits)+"   0 paused")
	require.Contains(t, out.String(), "worker 1  ████"+strings.Repeat("·", permits-4)+"   4 ")
	require.Contains(t, out.String(), "members  0 works 1 killed")
	require.Contains(t, out.String(), "0+4 permits = 4 of 40; 0 jobs done")
	require.Contains(t, out.String(), "something happens\n")
}

func TestWrongUsageIsExplained(t *testing.T) {
	for arg, want := range map[string]string{
		"more":       `there is nothing to be done with "more"`,
		"-seconds=0": "-seconds cannot be 0: want 1 to 3600",
		"-workers=1": "-workers cannot be 1: want 2 to 40",
		"-unknown":   "flag provided but not defined: -unknown",
	} {
		var stderr bytes.Buffer
		require.Equal(t, exitUsage, run(t.Context(), []string{arg}, io.Discard, &stderr), arg)
		require.Contains(t, stderr.String(), want)
	}
	require.Equal(t, exitOK, run(t.Context(), []string{"-help"}, io.Discard, io.Discard))
}
