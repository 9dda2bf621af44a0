package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	if clitest.IsProgram() {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// variedFiles has files of sizes around the limits of the program, and odd names where the system
// allows them.
func variedFiles() map[string][]byte {
	files := map[string][]byte{
		"empty":              nil,
		"1":                  clitest.RandomBytes(1, 1),
		"4095":               clitest.RandomBytes(2, 4095),
		"a/64KiB":            clitest.RandomBytes(3, 64<<10),
		"a/b/c/d/e/300KiB":   clitest.RandomBytes(4, 300<<10),
		"a/b/chunk":          clitest.RandomBytes(5, chunkSize),
		"a/b/chunks":         clitest.RandomBytes(6, 5*chunkSize/2),
		"a-b":                clitest.RandomBytes(7, 10), // sorts between a and a/b as a path, but not in a walk
		"name with spaces":   clitest.RandomBytes(8, 20),
		"ünïcödé":            clitest.RandomBytes(9, 30),
		"-looks-like-a-flag": clitest.RandomBytes(10, 40),
	}
	if runtime.GOOS != "windows" {
		files["line\nbreak/back\\slash\n"] = clitest.RandomBytes(11, 50)
	}
	return files
}

// paths returns the paths of the files in the order of a walk.
func paths(dir string, files map[string][]byte) []string {
	names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
		return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
	})
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return names
}

// checksums returns what sha256sum would print for the files, in the order of the walk.
func checksums(dir string, files map[string][]byte) string {
	var b strings.Builder
	for _, path := range paths(dir, files) {
		rel, _ := filepath.Rel(dir, path)
		sum := sha256.Sum256(files[filepath.ToSlash(rel)])
		path = filepath.ToSlash(path)
		escaped := strings.ReplaceAll(strings.ReplaceAll(path, `\`, `\\`), "\n", `\n`)
		if escaped != path {
			b.WriteByte('\\')
		}
		fmt.Fprintf(&b, "%x  %s\n", sum, escaped)
	}
	return b.String()
}

// requireSameText is require.Equal without the page of output for a long difference.
func requireSameText(t *testing.T, want, got string) {
	t.Helper()
	require.Equal(t, strings.Split(want, "\n"), strings.Split(got, "\n"))
}

func TestDigestsAreThoseOfTheContents(t *testing.T) {
	files := variedFiles()
	dir := clitest.WriteTree(t, files)
	want := checksums(dir, files)
	for _, procs := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			for _, flags := range [][]string{
				nil,
				{"-workers=1"},
				{"-open=1", "-workers=16"},
				{"-mem=128KiB"},          // some files are larger
				{"-mem=1000"},            // most files are larger
				{"-mem=1", "-open=1"},    // the least possible
				{"-timeout=1h"},          // no effect
				{"-progress", "-open=2"}, // no effect on standard output
			} {
				var stdout, stderr bytes.Buffer
				code := run(t.Context(), append(flags, dir), &stdout, &stderr)
				require.Equal(t, cli.ExitOK, code, "%v: %s", flags, &stderr)
				requireSameText(t, want, stdout.String())
			}
		})
	}
}

func TestOutputIsThatOfSHA256Sum(t *testing.T) {
	version, err := exec.Command("sha256sum", "--version").Output()
	if err != nil || !bytes.Contains(version, []byte("GNU coreutils")) {
		t.Skip("no GNU sha256sum here")
	}
	files := variedFiles()
	files["-"] = []byte("not the standard input")
	t.Chdir(clitest.WriteTree(t, files))
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"."}, &stdout, &stderr), "%s", &stderr)

	names := paths("", files)
	names[slices.Index(names, "-")] = "./-"
	want, err := exec.Command("sha256sum", append([]string{"--"}, names...)...).Output()
	require.NoError(t, err)
	requireSameText(t, string(want), stdout.String())

	check := exec.Command("sha256sum", "--check", "--strict", "--quiet")
	check.Stdin = bytes.NewReader(stdout.Bytes())
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
}

// parseJSON reads the output of -json and checks that it ends with a summary.
func parseJSON(t *testing.T, out []byte) (files []fileObject, sum summaryObject) {
	t.Helper()
	lines := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n"))
	strict := func(line []byte, v any) {
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.DisallowUnknownFields()
		require.NoError(t, dec.Decode(v), "%s", line)
	}
	for _, line := range lines[:len(lines)-1] {
		var o fileObject
		strict(line, &o)
		files = append(files, o)
	}
	strict(lines[len(lines)-1], &sum)
	require.Equal(t, "summary", sum.Type)
	return files, sum
}

// summaryObject is the documented form of the last line of -json.
type summaryObject struct {
	Type                         string
	Files, Bytes                 int64
	Failed, Changed, Skipped     int64
	LeftOut                      int64
	Stopped                      string
	Seconds                      float64
	MiBPerSecond, FilesPerSecond float64
	OpenFiles, Memory            limitObject
}

type limitObject struct {
	Limit, Peak, Waits int64
	LongestWaitSeconds float64
}

func TestJSONHasEveryFileAndASummary(t *testing.T) {
	files := variedFiles()
	dir := clitest.WriteTree(t, files)
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-json", "-mem=128KiB", "-open=3", dir}, &stdout, &stderr))
	got, sum := parseJSON(t, stdout.Bytes())

	var want []fileObject
	var total int64
	for _, path := range paths(dir, files) {
		rel, _ := filepath.Rel(dir, path)
		content := files[filepath.ToSlash(rel)]
		size := int64(len(content))
		total += size
		want = append(want, fileObject{
			Type: "file", Path: path, Size: &size,
			SHA256: fmt.Sprintf("%x", sha256.Sum256(content)),
		})
	}
	require.Equal(t, want, got)
	require.EqualValues(t, len(files), sum.Files)
	require.Equal(t, total, sum.Bytes)
	require.Zero(t, sum.Failed+sum.Changed+sum.Skipped)
	require.Empty(t, sum.Stopped)
	require.Positive(t, sum.Seconds)
	require.InEpsilon(t, float64(total)/(1<<20)/sum.Seconds, sum.MiBPerSecond, 1e-6)
	require.InEpsilon(t, float64(len(files))/sum.Seconds, sum.FilesPerSecond, 1e-6)
	require.EqualValues(t, 3, sum.OpenFiles.Limit)
	require.EqualValues(t, 128<<10, sum.Memory.Limit)
	require.EqualValues(t, 128<<10, sum.Memory.Peak, "a file larger than the budget takes all of it")
	require.Equal(t, sum.Memory.Waits > 0, sum.Memory.LongestWaitSeconds > 0)
	require.Contains(t, stderr.String(), "memory: at most 128 KiB of 128 KiB at a time; ",
		"the summary is on standard error too")
}

func TestJSONKeepsPathsThatAreNotUTF8(t *testing.T) {
	got := newFileObject(result{path: "a\xffb"})
	require.Equal(t, []byte("a\xffb"), got.PathBytes)
	require.Nil(t, newFileObject(result{path: "aÿb"}).PathBytes)
}

func TestEmptyTreeIsNoFailure(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{t.TempDir()}, &stdout, &stderr))
	require.Empty(t, stdout.String())
	require.Contains(t, stderr.String(), "0 files, 0 B")
}

func TestWrongUsageIsExplained(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "DIR is missing"},
		{[]string{"a", "b"}, "want one DIR, not 2"},
		{[]string{".", "-open=1"}, "flags such as -open=1 go before DIR"},
		{[]string{missing}, fmt.Sprintf("there is no file or directory %q", missing)},
		{[]string{"-json", missing}, fmt.Sprintf("there is no file or directory %q", missing)},
		{[]string{"-unknown", "."}, "there is no flag -unknown"},
		{[]string{"-workers=0", "."}, `-workers cannot be "0": want a whole number from 1 to 10000`},
		{[]string{"-workers=1000000000", "."}, `-workers cannot be "1000000000": want a whole number from 1 to 10000`},
		{[]string{"-open=0", "."}, `-open cannot be "0": want a whole number from 1 to 10000`},
		{[]string{"-mem=abc", "."}, `-mem cannot be "abc": want a size from 1B to 1`},
		{[]string{"-mem=-1", "."}, `-mem cannot be "-1": want a size from 1B to 1`},
		{[]string{"-mem=20EB", "."}, `-mem cannot be "20EB": want a size from 1B to 1`},
		{[]string{"-timeout=-1s", "."}, `-timeout cannot be "-1s": want a time from 0s to 24h`},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(t.Context(), tt.args, &stdout, &stderr), "%v", tt.args)
		require.Empty(t, stdout.String(), "%v", tt.args)
		require.Contains(t, stderr.String(), "hashtree: "+tt.want)
		require.Contains(t, stderr.String(), "\nusage: hashtree [flags] DIR\n", "%v", tt.args)
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-help"}, &stdout, &stderr))
	require.Empty(t, stderr.String())
	for _, text := range []string{
		"Hashtree prints the SHA-256 of every file", "example: go run ./examples/hashtree -",
		"-workers", "-open", "-mem", "128KiB", "-vcs", "-timeout", "-json", "-progress",
	} {
		require.Contains(t, stdout.String(), text)
	}
}

// The README's first command, and what it says on the screen.
func TestDefaultLimitsAreReachedByThisRepository(t *testing.T) {
	repository := filepath.Join("..", "..")
	for _, procs := range []int{1, 2, 4} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			var sum summaryObject
			var stderr bytes.Buffer
			// A machine that stops all but one thread may hide the waits of one run.
			for try := 0; try < 20 && (sum.OpenFiles.Waits == 0 || sum.Memory.Waits == 0); try++ {
				var stdout bytes.Buffer
				stderr.Reset()
				run(t.Context(), []string{"-json", repository}, &stdout, &stderr)
				_, sum = parseJSON(t, stdout.Bytes())
			}
			for _, l := range []limitObject{sum.OpenFiles, sum.Memory} {
				require.Positive(t, l.Waits, "%s", &stderr)
				require.Positive(t, l.LongestWaitSeconds)
				require.Equal(t, l.Limit, l.Peak)
			}
			for want, waits := range map[string]int64{
				"open files: at most 4 of 4 at a time":         sum.OpenFiles.Waits,
				"memory: at most 128 KiB of 128 KiB at a time": sum.Memory.Waits,
			} {
				line := fmt.Sprintf("(?m)^%s; %s waits?, the longest ", want, humanize.Comma(waits))
				require.Regexp(t, line, stderr.String())
			}
		}()
	}
}

func TestVersionControlIsLeftOutUnlessAskedFor(t *testing.T) {
	files := map[string][]byte{"a/b": {1}, "c": {2}}
	all := maps.Clone(files)
	all[".git/objects/x"], all["a/.git"] = []byte{3}, []byte{4}
	dir := clitest.WriteTree(t, all)
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{dir}, &stdout, &stderr))
	requireSameText(t, checksums(dir, files), stdout.String())
	require.Contains(t, stderr.String(), "\n2 folders of version control left out (see -vcs)\n")

	stdout.Reset()
	stderr.Reset()
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-vcs", dir}, &stdout, &stderr))
	requireSameText(t, checksums(dir, all), stdout.String())
	require.NotContains(t, stderr.String(), "left out")
}

func TestExitCodesAreTheDocumentedOnes(t *testing.T) {
	done := summary{Files: 1}
	failed := summary{Files: 1, Failed: 1}
	require.Equal(t, 0, exitCode(done, nil))
	require.Equal(t, 1, exitCode(failed, nil))
	require.Equal(t, 1, exitCode(summary{Files: 1, Changed: 1}, nil))
	for _, sum := range []summary{done, failed} { // That it was stopped is the more important news.
		require.Equal(t, 124, exitCode(sum, cli.ErrTimeout))
		require.Equal(t, 130, exitCode(sum, cli.ErrInterrupted))
		require.Equal(t, 130, exitCode(sum, context.Canceled))
		require.Equal(t, 143, exitCode(sum, cli.ErrTerminated))
	}
	require.Equal(t, 2, run(t.Context(), nil, io.Discard, io.Discard))
}

func TestTimeoutHasItsExitCode(t *testing.T) {
	dir := clitest.WriteTree(t, variedFiles())
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitTimeout, run(t.Context(), []string{"-json", "-timeout=1ns", dir}, &stdout, &stderr))
	files, sum := parseJSON(t, stdout.Bytes())
	require.Empty(t, files, "nothing can be done in a nanosecond, and what is not done is not a failure")
	require.Zero(t, sum.Failed)
	require.Equal(t, "timeout", sum.Stopped)
	require.Contains(t, stderr.String(), "stopped early: timeout")
}

func TestCancelReportsWhatWasDone(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	files := make(map[string][]byte)
	for i := range 500 {
		files[fmt.Sprintf("%03d", i)] = clitest.RandomBytes(i, 100)
	}
	dir := clitest.WriteTree(t, files)
	ctx, cancel := context.WithCancelCause(t.Context())
	var stdout, stderr bytes.Buffer
	cancelling := clitest.WriterFunc(func(p []byte) (int, error) {
		cancel(cli.ErrInterrupted)
		return stdout.Write(p)
	})
	code := run(ctx, []string{"-workers=2", "-open=1", dir}, cancelling, &stderr)
	require.Equal(t, cli.ExitInterrupted, code)

	lines := strings.SplitAfter(stdout.String(), "\n")
	n := len(lines) - 1
	require.Positive(t, n)
	requireSameText(t, strings.Join(lines[:n], ""), strings.Join(inOrder(checksums(dir, files), lines[:n]), ""))
	require.Contains(t, stderr.String(), fmt.Sprintf("%d file", n))
	require.Contains(t, stderr.String(), "\n0 failed")
	require.Contains(t, stderr.String(), "stopped early: interrupted")
}

// inOrder returns those lines of text that are in some, in the order of text.
func inOrder(text string, some []string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if slices.Contains(some, line) {
			found = append(found, line)
		}
	}
	return found
}

func TestUnwritableOutputStopsTheRun(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := clitest.WriteTree(t, variedFiles())
	for _, flags := range [][]string{nil, {"-json"}} {
		writes := 0
		var stderr bytes.Buffer
		code := run(t.Context(), append(flags, dir), clitest.WriterFunc(func(p []byte) (int, error) {
			if writes++; writes == 2 {
				return 0, errors.New("disk full")
			}
			return len(p), nil
		}), &stderr)
		require.Equal(t, cli.ExitFailed, code)
		require.Equal(t, 2, writes, "after an error nothing more is written")
		require.Contains(t, stderr.String(), "cannot write the output: disk full")
		require.Contains(t, stderr.String(), "2 files, ")
	}
}

func TestProgressIsDrawnOnlyOnRequest(t *testing.T) {
	files := map[string][]byte{"a": clitest.RandomBytes(1, 3<<20), "b": clitest.RandomBytes(2, 1<<20)}
	dir := clitest.WriteTree(t, files)
	var mu sync.Mutex
	var stdout, stderr bytes.Buffer
	errs := clitest.WriterFunc(func(p []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return stderr.Write(p)
	})
	full := regexp.MustCompile(`\r +\d+% \|█+ *\|  2 files, 4\.0 MiB `)
	drawn := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return full.Match(stderr.Bytes())
	}
	slow := clitest.WriterFunc(func(p []byte) (int, error) { // The bar needs time to appear.
		for deadline := time.Now().Add(patience); !drawn() && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		return stdout.Write(p)
	})
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-progress", dir}, slow, errs))
	requireSameText(t, checksums(dir, files), stdout.String())
	require.Regexp(t, full, stderr.String())
	last := stderr.String()[strings.LastIndexByte(stderr.String(), '\r')+1:]
	require.Regexp(t, `^2 files, 4\.0 MiB in `, last, "the bar is gone when the summary is printed")

	stderr.Reset()
	slow = clitest.WriterFunc(func(p []byte) (int, error) {
		time.Sleep(150 * time.Millisecond)
		return stdout.Write(p)
	})
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{dir}, slow, errs))
	require.NotContains(t, stderr.String(), "\r", "a buffer is not a terminal")

	terminal, out := clitest.Terminal(t, 40)
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{dir}, slow, terminal))
	drawings := out()
	bars, _, found := strings.Cut(drawings, "\r2 files, 4.0 MiB in ")
	require.True(t, found, "%q", drawings)
	require.Regexp(t, `\r +\d+% \|`, bars)
	clitest.RequireWidth(t, bars, 40)
}
