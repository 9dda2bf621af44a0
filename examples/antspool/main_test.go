package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
	"github.com/farad-go/farad/internal/locktest"
)

func TestMain(m *testing.M) {
	if clitest.IsProgram() {
		main()
		return
	}
	locktest.Main(m, goleak.IgnoreCurrent()) // Ants starts two goroutines when it is imported.
}

func text(n int) []byte { return bytes.Repeat([]byte("to be or not to be\n"), n) }

func variedFiles() map[string][]byte {
	return map[string][]byte{
		"empty.txt":      nil,
		"a.txt":          text(1000),
		"b/c.TXT":        text(20),
		"b/random.bin":   clitest.RandomBytes(1, 30_000),
		"b/d/large.bin":  append(text(2*chunkSize/19), clitest.RandomBytes(2, 1000)...),
		"b/d/Makefile":   text(3),
		".hidden":        text(5),
		"b/.hidden.conf": text(7),
		"one":            {1},
	}
}

// wantTotals is what the program should find, kind by kind.
func wantTotals(t *testing.T, files map[string][]byte) map[string]totals {
	t.Helper()
	want := map[string]totals{}
	for name, content := range files {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err := w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		for _, k := range []string{kind(name), "all"} {
			sum := want[k]
			sum.add(totals{1, int64(len(content)), int64(out.Len())})
			want[k] = sum
		}
	}
	return want
}

var rowFormat = regexp.MustCompile(`^ *(\d+) +(\d+) +(\d+) +(?:\d+\.\d%|-)  (\S+)$`)

// parse reads the table.
func parse(t *testing.T, table string) map[string]totals {
	t.Helper()
	got := map[string]totals{}
	lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	require.Regexp(t, `^ *files +bytes +gzip +ratio  kind$`, lines[0])
	for _, line := range lines[1:] {
		m := rowFormat.FindStringSubmatch(line)
		require.NotNil(t, m, line)
		var n [3]int64
		for i := range n {
			var err error
			n[i], err = strconv.ParseInt(m[i+1], 10, 64)
			require.NoError(t, err)
		}
		got[m[4]] = totals{n[0], n[1], n[2]}
	}
	return got
}

func TestSizesAreThoseOfGzip(t *testing.T) {
	files := variedFiles()
	dir := clitest.WriteTree(t, files)
	want := wantTotals(t, files)
	require.Contains(t, want, ".conf")
	for _, flags := range [][]string{
		nil,
		{"-workers=1"},
		{"-workers=16"},
		{"-mem=20KiB"}, // some files are larger
		{"-mem=1000"},  // most files are larger
		{"-mem=1", "-workers=4"},
		{"-timeout=1h"},
		{"-progress"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitOK, run(t.Context(), append(flags, dir), &stdout, &stderr), "%v: %s", flags, &stderr)
		require.Equal(t, want, parse(t, stdout.String()), "%v", flags)
		require.Contains(t, stderr.String(), "9 files, ")
		require.Contains(t, stderr.String(), "0 files failed")
	}

	t.Chdir(dir)
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), nil, &stdout, &stderr), "the default is the current directory")
	require.Equal(t, want, parse(t, stdout.String()))
}

func TestLevelMakesADifference(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": append(clitest.RandomBytes(1, 10_000), text(10_000)...)})
	var sizes []int64
	for _, level := range []string{"1", "9"} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-level=" + level, dir}, &stdout, &stderr))
		sizes = append(sizes, parse(t, stdout.String())["all"].squeezed)
	}
	require.Less(t, sizes[1], sizes[0])
}

// newTestSqueezer makes one whose files can be replaced.
func newTestSqueezer(t *testing.T, opts options, stderr io.Writer) *squeezer {
	t.Helper()
	s, err := newSqueezer(opts, newReporter(stderr))
	require.NoError(t, err)
	return s
}

func TestBudgetIsKept(t *testing.T) {
	files := map[string][]byte{"large": make([]byte, 30_000)}
	for i := range 60 {
		files[fmt.Sprint(i)] = make([]byte, i*150)
	}
	dir := clitest.WriteTree(t, files)
	const budget = 10_000
	var stderr bytes.Buffer
	s := newTestSqueezer(t, options{workers: 8, mem: budget, level: gzip.BestSpeed}, &stderr)
	var buffers clitest.HighWater
	openFile := s.open
	s.open = func(name string) (fs.File, error) {
		f, err := openFile(name)
		require.NoError(t, err)
		fi, err := f.Stat()
		require.NoError(t, err)
		n := min(fi.Size(), budget)
		buffers.Add(n)
		return &clitest.File{File: f, OnRead: func(p []byte) (int, error) {
			time.Sleep(50 * time.Microsecond)
			read, err := f.Read(p)
			if err == io.EOF {
				buffers.Add(-n)
			}
			return read, err
		}}, nil
	}
	s.squeezeAll(t.Context(), list(t.Context(), options{root: dir}, s.rep))
	require.EqualValues(t, budget, s.peak, "the large file has it all")
	require.LessOrEqual(t, buffers.Peak(), int64(budget))
	require.EqualValues(t, 61, s.byKind["(none)"].files)
	require.Zero(t, s.held)
	require.EqualValues(t, budget, s.pool.Gate().Available())
	require.Zero(t, s.pool.Ants().Running())
	require.Empty(t, stderr.String())
}

func TestCancelEndsTheWaitAndTheWork(t *testing.T) {
	files := map[string][]byte{}
	for i := range 20 {
		files[fmt.Sprint(i)] = make([]byte, 1000)
	}
	dir := clitest.WriteTree(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	var stderr bytes.Buffer
	s := newTestSqueezer(t, options{workers: 2, mem: 1500, level: gzip.BestSpeed}, &stderr)
	openFile := s.open
	reads := 0
	s.open = func(name string) (fs.File, error) {
		f, err := openFile(name)
		return &clitest.File{File: f, OnRead: func(p []byte) (int, error) { // It never ends.
			if reads++; reads > 10 && s.pool.Gate().Waiting() == 1 {
				cancel()
			}
			time.Sleep(10 * time.Microsecond)
			return len(p), nil
		}}, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.squeezeAll(ctx, list(ctx, options{root: dir}, s.rep))
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("does not end")
	}
	require.Empty(t, s.byKind)
	require.EqualValues(t, 1500, s.pool.Gate().Available())
	require.Zero(t, s.pool.Ants().Running())
	require.Empty(t, stderr.String(), "what is stopped has not failed")
}

func TestTimeoutHasItsExitCode(t *testing.T) {
	dir := clitest.WriteTree(t, variedFiles())
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitTimeout, run(t.Context(), []string{"-timeout=1ns", dir}, &stdout, &stderr))
	require.Equal(t, map[string]totals{"all": {}}, parse(t, stdout.String()))
	require.Contains(t, stderr.String(), "stopped early: timeout")
	require.Contains(t, stderr.String(), "0 files failed")

	for cause, code := range map[error]int{
		cli.ErrTerminated:  cli.ExitTerminated,
		cli.ErrInterrupted: cli.ExitInterrupted,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		require.Equal(t, code, run(ctx, []string{dir}, &stdout, &stderr))
	}
}

func TestSignalStopsTheProgram(t *testing.T) {
	files := map[string][]byte{}
	for i := range 50 {
		files[fmt.Sprint(i)] = clitest.RandomBytes(i, 2<<20)
	}
	code, stdout, stderr := clitest.Interrupt(t, "-workers=1", "-level=9", "-mem=1KiB", clitest.WriteTree(t, files))
	require.Equal(t, cli.ExitInterrupted, code, stderr)
	require.Less(t, parse(t, stdout)["all"].files, int64(len(files)))
	require.Contains(t, stderr, "\nstopped early: interrupted\n")
	require.Contains(t, stderr, "0 files failed")
}

func TestUnreadableFilesAreReportedAndDoNotStopTheRun(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": text(10), "b": text(10), "c": text(10)})
	var stdout, stderr bytes.Buffer
	s := newTestSqueezer(t, options{workers: 1, mem: 1000, level: gzip.BestSpeed}, &stderr)
	openFile := s.open
	s.open = func(name string) (fs.File, error) {
		if filepath.Base(name) == "a" {
			return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("no luck")}
		}
		f, err := openFile(name)
		if filepath.Base(name) == "c" {
			return &clitest.File{File: f, OnRead: func([]byte) (int, error) { panic("boo") }}, err
		}
		return f, err
	}
	s.squeezeAll(t.Context(), list(t.Context(), options{root: dir}, s.rep))
	require.EqualValues(t, 1, s.byKind["(none)"].files)
	require.NoError(t, s.rep.finish(&stdout, s, nil, time.Second))
	require.Contains(t, stderr.String(), filepath.Join(dir, "a")+": no luck")
	require.Contains(t, stderr.String(), filepath.Join(dir, "c")+": panic: boo")
	require.Contains(t, stderr.String(), "2 files failed")
	require.EqualValues(t, 1000, s.pool.Gate().Available())
}

func TestVersionControlIsLeftOutUnlessAskedFor(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": text(10), ".git/objects/x": text(10)})
	for want, flags := range map[int64][]string{1: nil, 2: {"-vcs"}} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitOK, run(t.Context(), append(flags, dir), &stdout, &stderr))
		require.Equal(t, want, parse(t, stdout.String())["all"].files)
	}
}

func TestUnwritableTableIsAFailure(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": text(10)})
	var stderr bytes.Buffer
	require.Equal(t, cli.ExitFailed, run(t.Context(), []string{dir}, clitest.DiskFull, &stderr))
	require.Contains(t, stderr.String(), "cannot write the table: disk full")
}

func TestWrongUsageIsExplained(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"a", "b"}, "want one DIR, not 2"},
		{[]string{"missing"}, `there is no file or directory "missing"`},
		{[]string{"-unknown"}, "there is no flag -unknown"},
		{[]string{"-workers=0"}, `-workers cannot be "0": want a whole number from 1 to 10000`},
		{[]string{"-level=0"}, `-level cannot be "0": want a whole number from 1 to 9`},
		{[]string{"-level=10"}, `-level cannot be "10": want a whole number from 1 to 9`},
		{[]string{"-mem=abc"}, `-mem cannot be "abc": want a size from 1B to 1`},
		{[]string{"-timeout=-1s"}, `-timeout cannot be "-1s": want a time from 0s to 24h`},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(t.Context(), tt.args, &stdout, &stderr), "%v", tt.args)
		require.Empty(t, stdout.String(), "%v", tt.args)
		require.Contains(t, stderr.String(), "antspool: "+tt.want)
		require.Contains(t, stderr.String(), "\nusage: antspool [flags] [DIR]\n", "%v", tt.args)
	}
	var stdout bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-help"}, &stdout, io.Discard))
	require.Contains(t, stdout.String(), "Antspool tells how small gzip makes")
}

func TestProgressIsDrawnOnlyOnRequest(t *testing.T) {
	files := map[string][]byte{"a": clitest.RandomBytes(1, 300_000), "b": text(10_000)}
	dir := clitest.WriteTree(t, files)
	var stdout, stderr bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-progress", dir}, &stdout, &stderr))
	require.Equal(t, wantTotals(t, files), parse(t, stdout.String()))
	require.Regexp(t, `\r +\d+% \|█* *\|  [\d.]+ \w+, \d goroutines? `, stderr.String())
	last := stderr.String()[strings.LastIndexByte(stderr.String(), '\r')+1:]
	require.Regexp(t, `^2 files, 479 KiB to `, last, "the bar is gone when the summary is printed")

	stderr.Reset()
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{dir}, &stdout, &stderr))
	require.NotContains(t, stderr.String(), "\r", "a buffer is not a terminal")
}
