package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert" // for what runs in the workers
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

// patience is how long a test waits for what should happen at once.
const patience = 10 * time.Second

// results collects what a tree yields, by file name.
func results(t *testing.T, ctx context.Context, tr *tree) map[string]result {
	t.Helper()
	got := make(map[string]result)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for res := range tr.hashAll(ctx) {
			got[filepath.Base(res.path)] = res
		}
	}()
	select {
	case <-done:
	case <-time.After(patience):
		buf := make([]byte, 1<<20)
		t.Fatalf("still running after %v:\n%s", patience, buf[:runtime.Stack(buf, true)])
	}
	return got
}

func TestLimitsAreKept(t *testing.T) {
	const openLimit, budget = 3, 100 << 10
	files := make(map[string][]byte)
	for i := range 60 {
		files[fmt.Sprint(i)] = clitest.RandomBytes(i, (i*i*i*37)%(70<<10))
	}
	files["large"] = clitest.RandomBytes(60, 3*budget)
	dir := clitest.WriteTree(t, files)
	for _, procs := range []int{1, 2, 4} {
		t.Run(fmt.Sprintf("GOMAXPROCS=%d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			// Counted here, on what is seen of the program from outside: open files, and the
			// buffers it reads into.
			var open, buffers clitest.HighWater
			tr := newTree(dir, 8, openLimit, budget)
			openFile := tr.open
			tr.open = func(name string) (fs.File, error) {
				open.Add(1)
				f, err := openFile(name)
				if err != nil {
					open.Add(-1)
					return nil, err
				}
				info, err := f.Stat()
				if err != nil {
					return nil, err
				}
				var buffer int64
				first := info.Size() > 0 // An empty file has no buffer.
				return &clitest.File{
					File: f,
					OnRead: func(p []byte) (int, error) {
						if first {
							first = false
							buffer = int64(cap(p))
							buffers.Add(buffer)
						}
						time.Sleep(200 * time.Microsecond)
						return f.Read(p)
					},
					OnClose: func() {
						buffers.Add(-buffer)
						open.Add(-1)
					},
				}, nil
			}
			got := results(t, t.Context(), tr)

			require.Len(t, got, len(files))
			for name, content := range files {
				require.NoError(t, got[name].err)
				require.Equal(t, sha256.Sum256(content), got[name].sum, name)
			}
			require.LessOrEqual(t, open.Peak(), int64(openLimit))
			require.LessOrEqual(t, buffers.Peak(), int64(budget))
			require.EqualValues(t, budget, buffers.Peak(), "the large file takes the whole budget")

			// Everything is given back, and the program's own count agrees.
			require.Zero(t, open.Now())
			require.Zero(t, buffers.Now())
			require.EqualValues(t, openLimit, tr.openFiles.sem.Available())
			require.EqualValues(t, budget, tr.memory.sem.Available())
			for _, l := range []*limit{tr.openFiles, tr.memory} {
				stats := l.statistics()
				require.Equal(t, stats.Limit, stats.Peak)
				require.Positive(t, stats.Waits)
				require.Positive(t, stats.LongestWait)
			}
		})
	}
}

func TestRemovedFileIsReported(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": {1}, "b": {2}, "c": {3}})
	tr := newTree(dir, 2, 2, 100)
	openFile := tr.open
	tr.open = func(name string) (fs.File, error) {
		if filepath.Base(name) == "b" {
			assert.NoError(t, os.Remove(name))
		}
		return openFile(name)
	}
	got := results(t, t.Context(), tr)
	require.NoError(t, got["a"].err)
	require.ErrorIs(t, got["b"].err, fs.ErrNotExist)
	require.NoError(t, got["c"].err)
	require.EqualValues(t, 2, tr.openFiles.sem.Available())
}

func TestReadErrorDoesNotStopTheRun(t *testing.T) {
	broken := errors.New("bad sector")
	dir := clitest.WriteTree(
		t,
		map[string][]byte{
			"a": clitest.RandomBytes(1, 100),
			"b": clitest.RandomBytes(2, 100),
			"c": clitest.RandomBytes(3, 100),
		},
	)
	tr := newTree(dir, 1, 1, 100)
	openFile := tr.open
	tr.open = func(name string) (fs.File, error) {
		f, err := openFile(name)
		if err != nil || filepath.Base(name) != "b" {
			return f, err
		}
		return &clitest.File{File: f, OnRead: func(p []byte) (int, error) {
			n, _ := f.Read(p[:10])
			return n, broken
		}}, nil
	}
	got := results(t, t.Context(), tr)
	require.NoError(t, got["a"].err)
	require.ErrorIs(t, got["b"].err, broken)
	require.NoError(t, got["c"].err, "the limits are given back after an error")
}

func TestFileThatChangesIsHashedAsReadAndReported(t *testing.T) {
	content := clitest.RandomBytes(1, 5000)
	for _, test := range []struct {
		name          string
		before, after []byte
	}{
		{"grows", content[:3000], content},
		{"grows from nothing", nil, content},
		{"grows by one", content[:4999], content},
		{"shrinks", content, content[:3000]},
		{"shrinks by one", content, content[:4999]},
		{"shrinks to nothing", content, nil},
	} {
		for _, budget := range []int64{1, 1000, 5000, 1 << 20} {
			t.Run(fmt.Sprintf("%s/%d", test.name, budget), func(t *testing.T) {
				dir := clitest.WriteTree(t, map[string][]byte{"file": test.before, "other": {1}})
				tr := newTree(dir, 1, 1, budget)
				openFile := tr.open
				tr.open = func(name string) (fs.File, error) {
					f, err := openFile(name)
					if err != nil || filepath.Base(name) != "file" {
						return f, err
					}
					first := true
					return &clitest.File{File: f, OnRead: func(p []byte) (int, error) {
						if first { // So the size is already known to the program.
							first = false
							assert.NoError(t, os.WriteFile(name, test.after, 0o644))
						}
						return f.Read(p)
					}}, nil
				}
				got := results(t, t.Context(), tr)
				require.NoError(t, got["file"].err)
				require.True(t, got["file"].changed)
				require.EqualValues(t, len(test.after), got["file"].size)
				require.Equal(t, sha256.Sum256(test.after), got["file"].sum)
				require.False(t, got["other"].changed)
				require.LessOrEqual(t, tr.memory.statistics().Peak, budget)
			})
		}
	}
}

func TestCancelIsNoticedInsideAFile(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir := clitest.WriteTree(t, map[string][]byte{"a": {1}, "large": make([]byte, 5*chunkSize), "z": {2}})
	for _, budget := range []int64{100, 10 * chunkSize} { // streamed, and read whole
		ctx, cancel := context.WithCancel(t.Context())
		tr := newTree(dir, 1, 1, budget)
		reads := 0
		openFile := tr.open
		tr.open = func(name string) (fs.File, error) {
			f, err := openFile(name)
			if err != nil || filepath.Base(name) != "large" {
				return f, err
			}
			return &clitest.File{File: f, OnRead: func(p []byte) (int, error) { // It never ends.
				assert.LessOrEqual(t, len(p), chunkSize)
				if reads++; reads == 3 {
					cancel()
				}
				return len(p), nil
			}}, nil
		}
		got := results(t, ctx, tr)
		require.Equal(t, 3, reads, "no read begins after the cancel")
		require.Contains(t, got, "a", "what was done is reported")
		require.NotContains(t, got, "large")
		require.NotContains(t, got, "z")
		require.EqualValues(t, 1, tr.openFiles.sem.Available())
		require.Equal(t, budget, tr.memory.sem.Available())
	}
}

// doneWhen is a context that is done when the function returns true.
type doneWhen struct {
	context.Context
	done func() bool
}

func (c doneWhen) Err() error {
	if c.done() {
		return context.Canceled
	}
	return nil
}

func TestCancelIsNoticedBetweenChunksOfHashing(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": make([]byte, 5*chunkSize)})
	tr := newTree(dir, 1, 1, 5*chunkSize)
	ctx := doneWhen{t.Context(), func() bool { return tr.bytes.Load() >= 2*chunkSize }}
	res := tr.hashFile(ctx, filepath.Join(dir, "a"))
	require.Equal(t, context.Canceled, res.err)
	require.EqualValues(t, 2*chunkSize, tr.bytes.Load())
	require.EqualValues(t, 1, tr.openFiles.sem.Available())
	require.EqualValues(t, 5*chunkSize, tr.memory.sem.Available())
}

func TestCancelEndsTheWaitsForBothLimits(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	files := make(map[string][]byte)
	for i := range 10 {
		files[fmt.Sprint(i)] = []byte{byte(i)}
	}
	dir := clitest.WriteTree(t, files)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tr := newTree(dir, 5, 2, 100)
	require.NoError(
		t,
		tr.memory.acquire(ctx, 100),
	) // So two files are open and wait for memory, three wait to be opened.
	go func() {
		for tr.memory.sem.Waiting() < 2 || tr.openFiles.sem.Waiting() < 3 {
			if t.Context().Err() != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	require.Empty(t, results(t, ctx, tr))
	tr.memory.release(100)
	require.EqualValues(t, 2, tr.openFiles.sem.Available())
	require.EqualValues(t, 100, tr.memory.sem.Available())
	require.EqualValues(t, 3, tr.openFiles.statistics().Waits, "a wait that is cut short counts")
	require.EqualValues(t, 2, tr.memory.statistics().Waits)
}

func TestEmptyFileNeedsNoMemory(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"empty": nil, "large": make([]byte, 1000)})
	tr := newTree(dir, 2, 2, 100)
	emptyDone := make(chan struct{})
	openFile := tr.open
	tr.open = func(name string) (fs.File, error) {
		f, err := openFile(name)
		if err != nil {
			return nil, err
		}
		if filepath.Base(name) == "empty" {
			for tr.memory.sem.Available() > 0 { // until the large file has it all
				time.Sleep(time.Millisecond)
			}
			return &clitest.File{File: f, OnClose: func() { close(emptyDone) }}, nil
		}
		return &clitest.File{File: f, OnRead: func(p []byte) (int, error) {
			select {
			case <-emptyDone:
				return f.Read(p)
			case <-time.After(patience / 2):
				return 0, errors.New("the empty file waits for memory")
			}
		}}, nil
	}
	got := results(t, t.Context(), tr)
	require.NoError(t, got["large"].err)
	require.Equal(t, sha256.Sum256(nil), got["empty"].sum)
}

func TestFileIsClosedBeforeItIsHashed(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": clitest.RandomBytes(1, 1000)})
	tr := newTree(dir, 1, 1, 1000)
	openFile := tr.open
	closed := false
	tr.open = func(name string) (fs.File, error) {
		f, err := openFile(name)
		return &clitest.File{File: f, OnClose: func() {
			closed = true
			assert.Zero(t, tr.bytes.Load())
			assert.Zero(t, tr.memory.sem.Available(), "its memory is still in use")
		}}, err
	}
	require.NoError(t, results(t, t.Context(), tr)["a"].err)
	require.True(t, closed)
}

// manyFiles makes a tree of more empty files than the walk may be ahead of the output.
func manyFiles(t *testing.T) (dir string, n int) {
	files := make(map[string][]byte)
	for i := range lookahead + 300 {
		files[fmt.Sprintf("%05d", i)] = nil
	}
	return clitest.WriteTree(t, files), len(files)
}

func TestWalkStaysNearTheOutput(t *testing.T) {
	dir, files := manyFiles(t)
	tr := newTree(dir, 4, 4, 100)
	var opened atomic.Int64
	openFile := tr.open
	tr.open = func(name string) (fs.File, error) {
		opened.Add(1)
		return openFile(name)
	}
	n := 0
	for range tr.hashAll(t.Context()) {
		if n++; n == 1 {
			// While the output stands still, so do the workers, once they have done what is in the
			// queue.
			require.Eventually(t, func() bool { return opened.Load() > int64(lookahead/2) }, patience, time.Millisecond,
				"the workers go on while the output waits")
			for before := int64(-1); before != opened.Load(); time.Sleep(50 * time.Millisecond) {
				before = opened.Load()
			}
			require.LessOrEqual(t, opened.Load(), int64(lookahead+1))
		}
	}
	require.Equal(t, files, n)
}

func TestBreakLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	dir, files := manyFiles(t)
	tr := newTree(dir, 4, 2, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range tr.hashAll(t.Context()) {
			break
		}
	}()
	select {
	case <-done:
	case <-time.After(patience):
		require.Fail(t, "the loop does not end")
	}
	require.Less(t, tr.files.Load(), int64(files))
	require.EqualValues(t, 2, tr.openFiles.sem.Available())
	require.EqualValues(t, 1000, tr.memory.sem.Available())
}

func TestResultsComeInTheOrderOfTheWalk(t *testing.T) {
	files := variedFiles()
	dir := clitest.WriteTree(t, files)
	tr := newTree(dir, 8, 8, 1<<20)
	var got []string
	for res := range tr.hashAll(t.Context()) {
		got = append(got, res.path)
	}
	require.Equal(t, paths(dir, files), got)
	require.False(t, slices.IsSorted(got), "the order is by path element, which shows that it is the walk's")
}

func TestShortReadsMakeNoDifference(t *testing.T) {
	content := clitest.RandomBytes(1, 3000)
	dir := clitest.WriteTree(t, map[string][]byte{"a": content})
	for _, budget := range []int64{1, 700, 3000, 1 << 20} {
		tr := newTree(dir, 1, 1, budget)
		openFile := tr.open
		tr.open = func(name string) (fs.File, error) {
			f, err := openFile(name)
			return &clitest.File{File: f, OnRead: func(p []byte) (int, error) {
				n, err := f.Read(p[:min(len(p), 7)])
				if err == nil && n < 7 {
					err = io.EOF // as a Reader may
				}
				return n, err
			}}, err
		}
		got := results(t, t.Context(), tr)
		require.NoError(t, got["a"].err)
		require.Equal(t, sha256.Sum256(content), got["a"].sum, "budget %d", budget)
		require.False(t, got["a"].changed)
	}
}
