package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/panjf2000/ants/v2"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

// chunkSize is how much is read or compressed between two looks at the context: some milliseconds'
// work.
const chunkSize = 256 << 10

// errNotRegular is the error of a file that was regular when it was listed, and no longer is when
// it is opened.
var errNotRegular = errors.New("not a regular file any more")

// A file is what the walk knows of one.
type file struct {
	path string
	size int64
}

// list returns the regular files below the root, in lexical order.
func list(ctx context.Context, opts options, rep *reporter) []file {
	var files []file
	cli.Walk{Root: opts.root, VCS: opts.vcs, File: func(path string, d fs.DirEntry, err error) {
		if err == nil {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				files = append(files, file{path, info.Size()})
				return
			}
		}
		rep.fail(path, err)
	}}.Run(ctx)
	return files
}

// totals are of some files.
type totals struct{ files, bytes, squeezed int64 }

func (t *totals) add(u totals) {
	t.files += u.files
	t.bytes += u.bytes
	t.squeezed += u.squeezed
}

// A squeezer compresses files.
type squeezer struct {
	rep  *reporter
	pool *antspool.Pool
	mem  int64

	writers sync.Pool // of *gzip.Writer: each has almost a megabyte of tables

	done atomic.Int64 // bytes compressed, including those of files that are not finished

	mu     sync.Mutex
	held   int64 // of the memory; guarded by mu, as all below
	peak   int64
	byKind map[string]totals

	// open is a variable for the tests.
	open func(name string) (fs.File, error)
}

func newSqueezer(opts options, rep *reporter) (*squeezer, error) {
	s := &squeezer{rep: rep, mem: opts.mem, byKind: map[string]totals{}}
	s.open = func(name string) (fs.File, error) { return os.Open(name) }
	s.writers.New = func() any {
		w, err := gzip.NewWriterLevel(nil, opts.level)
		if err != nil {
			panic(err) // the level has been checked
		}
		return w
	}
	a, err := ants.NewPool(opts.workers, ants.WithNonblocking(true))
	if err != nil {
		return nil, err
	}
	s.pool = antspool.New(a, antspool.WithGate(semaphore.New(s.mem)))
	return s, nil
}

// squeezeAll compresses the files, until the context is done. When it returns, all that it has
// started has ended.
func (s *squeezer) squeezeAll(ctx context.Context, files []file) {
	for _, f := range files {
		weight := min(f.size, s.mem)
		if s.pool.Submit(ctx, weight, func() { s.squeeze(ctx, f.path, weight) }) != nil {
			break // The context is done: nothing else ends a wait for what there is in all.
		}
	}
	// What has been submitted has begun or is sure to, so that this ends no job, and waits for all
	// of them. It does not take long if the context is done, because they look at it.
	_ = s.pool.ReleaseContext(context.Background())
}

// squeeze compresses one file.
func (s *squeezer) squeeze(ctx context.Context, path string, buffer int64) {
	// The panic handler of ants would not know the file, and might come when the summary has been
	// written.
	defer func() {
		if v := recover(); v != nil {
			s.rep.fail(path, fmt.Errorf("panic: %v", v))
		}
	}()
	s.use(buffer)
	defer s.use(-buffer)
	t, err := s.compress(ctx, path, buffer)
	switch {
	case err == nil:
		s.mu.Lock()
		defer s.mu.Unlock()
		sum := s.byKind[kind(path)]
		sum.add(t)
		s.byKind[kind(path)] = sum
	case ctx.Err() != nil && errors.Is(err, ctx.Err()): // stopped, which is no failure of the file
	default:
		s.rep.fail(path, err)
	}
}

// kind is the extension of a file's name, as a name for the table.
func kind(path string) string {
	name := filepath.Base(path)
	if ext := strings.ToLower(filepath.Ext(strings.TrimLeft(name, "."))); ext != "" && ext != "." {
		return ext
	}
	return "(none)"
}

func (s *squeezer) use(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held += n
	s.peak = max(s.peak, s.held)
}

// compress reads a file and counts what gzip makes of it.
func (s *squeezer) compress(ctx context.Context, path string, buffer int64) (totals, error) {
	f, err := s.open(path)
	if err != nil {
		return totals{}, err
	}
	defer func() { _ = f.Close() }() // It was only read.
	if fi, err := f.Stat(); err != nil {
		return totals{}, err
	} else if !fi.Mode().IsRegular() {
		return totals{}, errNotRegular
	}

	var out counter
	w := s.writers.Get().(*gzip.Writer)
	defer s.writers.Put(w)
	w.Reset(&out)
	// A file may have grown since it was listed, and some have the size 0 and a content. These few
	// bytes are for them, and are not part of the budget.
	buf := make([]byte, max(buffer, bytes.MinRead))
	t := totals{files: 1}
	for {
		n, err := readFull(ctx, f, buf)
		t.bytes += int64(n)
		for p := buf[:n]; len(p) > 0; {
			if err := ctx.Err(); err != nil {
				return totals{}, err
			}
			chunk := p[:min(len(p), chunkSize)]
			_, _ = w.Write(chunk) // to a counter
			s.done.Add(int64(len(chunk)))
			p = p[len(chunk):]
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return totals{}, err
		}
	}
	_ = w.Close()
	t.squeezed = int64(out)
	return t, nil
}

// readFull reads until p is full or the file ends, and then returns io.EOF.
func readFull(ctx context.Context, r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		var m int
		m, err = r.Read(p[n:min(len(p), n+chunkSize)])
		n += m
	}
	return n, err
}

// counter is a writer that counts.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
