package interleave

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Check makes of a scenario is seen from outside: a process of its own runs TestModelForCheck.

const (
	checkVariable = "INTERLEAVE_TEST_CHECK" // the scenario
	depthVariable = "INTERLEAVE_TEST_DEPTH" // as many letters as there are processes above this one
)

var checked = map[string]func(t *testing.T){
	"passes":                 func(t *testing.T) { Check(t, Options{}, counters(2)) },
	"bounded":                func(t *testing.T) { Check(t, Options{Mode: Bounded, Bound: 1}, counters(2)) },
	"plain":                  func(t *testing.T) { Check(t, Options{Mode: Plain, Bound: 2}, counters(2)) },
	"random":                 func(t *testing.T) { Check(t, Options{Mode: Random, Executions: 7}, counters(2)) },
	"random without a limit": func(t *testing.T) { Check(t, Options{Mode: Random}, alone(func() {})) },
	"pct":                    func(t *testing.T) { Check(t, Options{Mode: PCT, Executions: 7}, counters(2)) },
	"limited":                func(t *testing.T) { Check(t, Options{Executions: 1}, counters(2)) },
	"fails":                  func(t *testing.T) { Check(t, Options{}, lostUpdate) },
	"parts (3+)": func(t *testing.T) {
		r := Check(t, Options{Shards: 3}, counters(4))
		t.Log("result:", r.Executions, r.Threads, r.Steps)
	},
	"one part": func(t *testing.T) { Check(t, Options{Shards: 1}, counters(2)) },
	"parts of which one is limited": func(t *testing.T) {
		o := Options{Shards: 3}
		if inPart("0") {
			o.Executions = 1
		}
		r := Check(t, o, counters(4))
		t.Log("exhausted:", r.Exhausted)
	},
	"parts of which one fails": func(t *testing.T) {
		Check(t, Options{Shards: 3}, func(x *Run) {
			x.Assert(!inPart("1"), "in the second part")
			counters(4)(x)
		})
	},
	"parts of which one dies": func(t *testing.T) {
		Check(t, Options{Shards: 3}, func(x *Run) {
			if inPart("2") {
				os.Exit(5)
			}
			counters(4)(x)
		})
	},
}

func inPart(i string) bool { return strings.HasPrefix(os.Getenv(shardVariable), i+"/") }

func lostUpdate(x *Run) { bugs[0].body(x, false) }

func TestModelForCheck(t *testing.T) {
	name := os.Getenv(checkVariable)
	if name == "" {
		t.Skip("it is run by TestCheck")
	}
	above := os.Getenv(depthVariable)
	require.Less(t, len(above), 3, "a part starts processes, too")
	t.Setenv(depthVariable, above+"x")
	t.Run(name, checked[name])
}

// check runs a scenario in a process of its own, and returns what that prints, and whether it
// passes.
func check(t *testing.T, name string, environment ...string) (string, bool) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestModelForCheck$", "-test.v")
	c.Env = append(os.Environ(), tableVariable+"=", scheduleVariable+"=", depthVariable+"=x", checkVariable+"="+name,
		"GORACE=atexit_sleep_ms=0") // or each takes a second under the race detector
	c.Env = append(c.Env, environment...)
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

func TestCheck(t *testing.T) {
	ms := `[0-9.]+m?s\n`
	tests := []struct {
		name, environment string
		passes            bool
		want              string
	}{
		{"passes", "", true, `unbounded, exhausted: 2 executions, 0 pruned, up to 4 steps of 2 threads, ` + ms},
		{
			"bounded",
			"",
			true,
			`bounded, 1 preemptions, exhausted: 4 executions, 0 pruned, up to 4 steps of 2 threads, ` + ms,
		},
		{
			"plain",
			"",
			true,
			`plain, 2 preemptions, exhausted: 6 executions, 0 pruned, up to 4 steps of 2 threads, ` + ms,
		},
		{"random", "", true, `random, sampled: 7 executions, 0 pruned, up to 4 steps of 2 threads, ` + ms},
		{"random without a limit", "", true, `random, sampled: 10000 executions, `},
		{"pct", "", true, `pct, sampled: 7 executions, 0 pruned, up to 4 steps of 2 threads, ` + ms},
		{"limited", "", true, `unbounded, sampled: 1 executions, `},
		{"one part", "", true, `unbounded, exhausted: 2 executions, `},
		{"fails", "", false, `assertion: 1\n(.*\n)*.*after [0-9]+ executions; found with schedule [a-z0-9.]+\n` +
			` *to see it again: INTERLEAVE_SCHEDULE=[a-z0-9.]+ go test -tags interleave -run '\^TestModelForCheck\$/\^fails\$'\n`},
		{"passes", scheduleVariable + "=a4", true, `this schedule does not fail\n.*unbounded, sampled: 1 executions, `},
		{
			"fails",
			scheduleVariable + "=a3.b3",
			true,
			`this schedule does not fail\n.*unbounded, sampled: 1 executions, `,
		},
		{"fails", scheduleVariable + "=a2.b3.a1", false, `after 1 executions; found with schedule a2\.b3\.a1\n`},
		{"passes", shardVariable + "=0/x", false, `expected integer\n`},
		{
			"passes",
			shardVariable + "=0/2 " + filepath.Join(t.TempDir(), "none", "file"),
			false,
			`no such file|cannot find`,
		},
		{"passes", tableVariable + "=" + t.TempDir(), false, `is a directory|denied|Incorrect`},
	}
	for _, c := range tests {
		out, ok := check(t, c.name, c.environment)
		require.Equal(t, c.passes, ok, "%s %s\n%s", c.name, c.environment, out)
		require.Regexp(t, ` check_test\.go:[0-9]+: (.*\n)*.*`+c.want, out, "%s %s", c.name, c.environment)
		if !strings.Contains(c.want, "does not fail") {
			require.NotContains(t, out, "does not fail")
		}
	}
}

// The parts of a search are added up, and none is forgotten.
func TestCheckInParts(t *testing.T) {
	out, ok := check(t, "parts (3+)")
	require.True(t, ok, out)
	if RaceEnabled { // the search is not divided
		require.Contains(t, out, "unbounded, exhausted: 24 executions, ")
		return
	}
	require.Regexp(t, ` check_test\.go:[0-9]+: unbounded, 3 processes, exhausted: 24 executions, [1-9][0-9]* pruned, `+
		`up to 8 steps of 4 threads, [1-9]`, out)
	require.Contains(t, out, "result: 24 4 8")
	out, ok = check(t, "parts of which one is limited")
	require.False(t, ok, out)
	require.Contains(t, out, "the search ended before its end")
	out, ok = check(t, "parts of which one fails")
	require.False(t, ok, out)
	require.Regexp(t, ` check_test\.go:[0-9]+: assertion: in the second part\n`, out)
	out, ok = check(t, "parts of which one dies")
	require.False(t, ok, out)
	require.Regexp(t, ` check_test\.go:[0-9]+: shard 2: exit status 5\n`, out)
}

func TestCheckAddsToTheTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "table")
	for _, name := range []string{"passes", "limited"} {
		out, ok := check(t, name, tableVariable+"="+file)
		require.True(t, ok, out)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	binary, _, _ := strings.Cut(filepath.Base(os.Args[0]), ".")
	require.Regexp(
		t,
		`^\| NAME \| ForCheck/passes \| unbounded \| exhausted \| 2 \| 4 \| 2 \| 0 \| [0-9]+\.[0-9] s \|\n`+
			`\| NAME \| ForCheck/limited \| unbounded \| sampled \| 2 \| 4 \| 1 \| 0 \| [0-9]+\.[0-9] s \|\n$`,
		strings.ReplaceAll(string(text), "| "+binary+" |", "| NAME |"),
	)
}
