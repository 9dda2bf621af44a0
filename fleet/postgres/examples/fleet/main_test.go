//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/postgres/internal/pgtest"
)

func TestMain(m *testing.M) {
	workerMain()
	if _, err := pgtest.Programs(); errors.Is(err, pgtest.ErrMissing) && os.Getenv("CI") == "" {
		fmt.Println("SKIPPED:", err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// The example, with a real server and workers: each fault happens once, or twice.
func TestNoTenantGetsMoreThanItsCapWhileThingsFail(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"-for=1ms"}, &stdout, &stderr)
	require.Equal(t, exitOK, code, "%s\n%s", &stdout, &stderr)
	rows := regexp.MustCompile(`(?m)^(\w+) +(\d+) +0 +(\d+) +([1-4]) +0 times$`).FindAllStringSubmatch(stdout.String(), -1)
	require.Len(t, rows, len(tenants), "%s", &stdout)
	for i, row := range rows {
		require.Equal(t, tenants[i], row[1])
		require.NotEqual(t, "0", row[2])
	}
	require.Contains(t, stdout.String(), "killed: 1 workers, the server 2 times; paused: 1 workers\n")
	require.Regexp(t, `(?m)^permits back after a kill: \d+\.\ds; a lease lasts 2s$`, stdout.String())
	require.Regexp(t, `(?m)^ *\d+\.\ds  acme +[·\d]{6}  \d of [124], +\d+ wait; globex .*; initech .*; \d+ jobs done$`, stderr.String())
	require.Contains(t, stderr.String(), "the caps change")
}

func TestPictureHasARowForEachWorkerAndTenant(t *testing.T) {
	var samples []sample
	for i := range 160 {
		s := sample{at: time.Duration(i) * time.Second, up: i != 2}
		for j := range s.tenants {
			s.tenants[j].size = 4
		}
		s.tenants[1].held[5] = 3
		samples = append(samples, s)
	}
	lines := strings.Split(draw(samples), "\n")
	require.Len(t, lines, len(tenants)*(1+workers)+2)
	require.Equal(t, "acme        4 "+strings.Repeat("4", 78), lines[0], "at one time the server was down")
	require.Equal(t, "  worker 5  3 "+strings.Repeat("3", 78), lines[13])
	require.Equal(t, "  worker 5  · "+strings.Repeat("·", 78), lines[20])
}

func TestScreenReplacesTheLastSample(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, time.Now())
	s.terminal = true
	s.show(&sample{up: true, done: 7})
	s.say("something %s", "happens")
	s.show(&sample{})
	require.Regexp(t, `7 jobs done\nacme .*\nglobex .*\ninitech .*\n\x1b\[4A\x1b\[J +0\.0s  something happens\n +0\.0s  the server is down\n$`,
		out.String())
}

func TestWrongUsageIsExplained(t *testing.T) {
	var stderr bytes.Buffer
	require.Equal(t, exitUsage, run(t.Context(), []string{"more"}, io.Discard, &stderr))
	require.Equal(t, exitUsage, run(t.Context(), []string{"-unknown"}, io.Discard, &stderr))
	require.Contains(t, stderr.String(), `there is nothing to be done with "more"`)
	require.Contains(t, stderr.String(), "flag provided but not defined: -unknown")
	require.Equal(t, exitOK, run(t.Context(), []string{"-help"}, io.Discard, io.Discard))
}
