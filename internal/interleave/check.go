package interleave

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// What Check takes from the environment.
const (
	scheduleVariable = "INTERLEAVE_SCHEDULE" // follow this schedule, and print the trace whatever comes of it
	tableVariable    = "INTERLEAVE_TABLE"    // add a line for every search to this file
	shardVariable    = "INTERLEAVE_SHARD"    // "i/n file": search this part, and leave the result in the file
)

// Check explores, and fails the test if an execution fails. A search that has no limit of
// executions must come to its end. With o.Shards set, that many processes share the work.
func Check(t *testing.T, o Options, body func(x *Run)) Result {
	t.Helper()
	var r Result
	switch part := os.Getenv(shardVariable); {
	case os.Getenv(scheduleVariable) != "":
		o.Schedule = os.Getenv(scheduleVariable)
		r = Explore(o, body)
		if r.Failure == nil {
			t.Log("this schedule does not fail")
		}
	case part != "":
		var file string
		if _, err := fmt.Sscanf(part, "%d/%d %s", &o.Shard, &o.Shards, &file); err != nil {
			t.Fatal(err)
		}
		r = Explore(o, body)
		writeResult(t, file, r)
		return r
	case o.Shards > 1 && !RaceEnabled:
		r = exploreInProcesses(t, o)
	default:
		o.Shards = 0
		r = Explore(o, body)
	}
	if f := r.Failure; f != nil {
		t.Fatalf(
			"%s: %s\n\n%s\n\nafter %d executions; found with schedule %s\n"+
				"to see it again: %s=%s go test -tags interleave -run '^%s$'",
			f.Kind,
			f.Message,
			f.Trace,
			r.Executions,
			f.Found,
			scheduleVariable,
			f.Schedule,
			strings.ReplaceAll(t.Name(), "/", "$/^"),
		)
	}
	if o.Executions == 0 && o.Mode <= Plain && o.Schedule == "" && !r.Exhausted {
		t.Fatal("the search ended before its end")
	}
	report(t, o, r)
	return r
}

func exploreInProcesses(t *testing.T, o Options) (sum Result) {
	t.Helper()
	began := time.Now()
	results := make([]Result, o.Shards)
	outputs := make([]string, o.Shards)
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range o.Shards {
		wg.Go(func() {
			var path []string
			for part := range strings.SplitSeq(t.Name(), "/") {
				path = append(path, "^"+regexp.QuoteMeta(part)+"$")
			}
			file := fmt.Sprintf("%s/%d", dir, i)
			c := exec.Command(os.Args[0], "-test.run="+strings.Join(path, "/"),
				"-test.short="+strconv.FormatBool(testing.Short()))
			c.Env = append(os.Environ(), fmt.Sprintf("%s=%d/%d %s", shardVariable, i, o.Shards, file))
			out, err := c.CombinedOutput()
			text, readErr := os.ReadFile(file)
			if readErr != nil || json.Unmarshal(text, &results[i]) != nil {
				outputs[i] = fmt.Sprintf("shard %d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	sum.Exhausted = true
	for i, r := range results {
		if outputs[i] != "" {
			t.Fatal(outputs[i])
		}
		sum.Executions += r.Executions
		sum.Pruned += r.Pruned
		sum.Steps = max(sum.Steps, r.Steps)
		sum.Threads = max(sum.Threads, r.Threads)
		sum.Exhausted = sum.Exhausted && r.Exhausted
		if sum.Failure == nil {
			sum.Failure = r.Failure
		}
	}
	sum.Elapsed = time.Since(began)
	return sum
}

func writeResult(t *testing.T, file string, r Result) {
	t.Helper()
	text, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// report logs the figures, and adds them to the table, if there is one.
func report(t *testing.T, o Options, r Result) {
	t.Helper()
	search := o.Mode.String()
	switch o.Mode {
	case Bounded, Plain:
		search = fmt.Sprintf("%s, %d preemptions", o.Mode, o.Bound)
	case Reduced:
		search = "unbounded"
	default:
	}
	if o.Shards > 1 {
		search += fmt.Sprintf(", %d processes", o.Shards)
	}
	end := "exhausted"
	if !r.Exhausted {
		end = "sampled"
	}
	t.Logf("%s, %s: %d executions, %d pruned, up to %d steps of %d threads, %v",
		search, end, r.Executions, r.Pruned, r.Steps, r.Threads, r.Elapsed.Round(time.Millisecond))
	file := os.Getenv(tableVariable)
	if file == "" {
		return
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	name := strings.TrimPrefix(t.Name(), "TestModel")
	if _, err := fmt.Fprintf(f, "| %s | %s | %s | %s | %d | %d | %d | %d | %.1f s |\n",
		testedPackage(), name, search, end,
		r.Threads, r.Steps, r.Executions, r.Pruned, r.Elapsed.Seconds()); err != nil {
		t.Fatal(err)
	}
}

// testedPackage returns the last part of its path.
func testedPackage() string {
	name, _, _ := strings.Cut(filepath.Base(os.Args[0]), ".") // as in engine.test.exe
	return name
}
