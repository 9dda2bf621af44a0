package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farad-go/farad/examples/internal/cli"
)

const (
	// lookahead is how many files the walk may be ahead of the output. It has to be large enough
	// that the workers stay busy while the output waits for a file that takes long.
	lookahead = 1024

	// chunkSize is how much is read or hashed between two looks at the context: a few milliseconds'
	// work.
	chunkSize = 1 << 20
)

// errNotRegular is the error of a file that was regular when the walk saw it, and no longer is when
// it is opened.
var errNotRegular = errors.New("not a regular file any more")

// A result is what became of one file, or of a directory that could not be read.
type result struct {
	path    string
	err     error // If it is not nil, the fields below mean nothing.
	sum     [sha256.Size]byte
	size    int64 // the number of bytes read
	changed bool  // The file was written to while it was read.
}

// A tree is one run over a directory tree.
type tree struct {
	root    string
	workers int
	vcs     bool // with what belongs to version control

	openFiles *limit
	memory    *limit

	files   atomic.Int64 // hashed
	bytes   atomic.Int64 // hashed, including those of files not finished
	skipped atomic.Int64 // neither regular files nor directories
	leftOut atomic.Int64 // folders, or files, of version control

	// open is a variable for the tests.
	open func(name string) (fs.File, error)
}

func newTree(root string, workers int, open, mem int64) *tree {
	return &tree{
		root:      root,
		workers:   workers,
		openFiles: newLimit(open),
		memory:    newLimit(mem),
		open:      func(name string) (fs.File, error) { return os.OpenFile(name, openFlags, 0) },
	}
}

// walk calls visit for every regular file below the root, in lexical order, and for every error on
// the way. It calls skip for every other thing that is not a directory, and leaveOut for what
// belongs to version control.
func (t *tree) walk(ctx context.Context, visit func(path string, d fs.DirEntry, err error), skip, leaveOut func()) {
	cli.Walk{Root: t.root, VCS: t.vcs, File: visit, Other: skip, LeftOut: leaveOut}.Run(ctx)
}

// hashAll hashes every regular file of the tree and yields the results in the order of the walk. It
// stops early if the context is done or the caller breaks out of the loop, and then leaves out the
// files that it could not finish. When it returns, all that it has started has ended.
func (t *tree) hashAll(ctx context.Context) iter.Seq[result] {
	return func(yield func(result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer cancel()

		type job struct {
			path string
			out  chan result // has room for the one result
		}
		jobs := make(chan job)
		// The outputs of all the jobs in the order of the walk. Its capacity is what holds the walk
		// back.
		outs := make(chan chan result, lookahead)

		wg.Go(func() {
			defer close(outs)
			defer close(jobs)
			t.walk(ctx, func(path string, _ fs.DirEntry, err error) {
				out := make(chan result, 1)
				select {
				case outs <- out:
				case <-ctx.Done():
					return
				}
				if err != nil {
					out <- result{path: path, err: err}
					return
				}
				select {
				case jobs <- job{path, out}:
				case <-ctx.Done():
					out <- result{path: path, err: ctx.Err()}
				}
			}, func() { t.skipped.Add(1) }, func() { t.leftOut.Add(1) })
		})
		for range t.workers {
			wg.Go(func() {
				for j := range jobs {
					j.out <- t.hashFile(ctx, j.path)
				}
			})
		}

		for out := range outs {
			res := <-out
			if err := ctx.Err(); err != nil && errors.Is(res.err, err) {
				continue
			}
			if !yield(res) {
				return
			}
		}
	}
}

// hashFile hashes one file within the limits.
func (t *tree) hashFile(ctx context.Context, path string) result {
	res := result{path: path}
	h := sha256.New()
	if res.size, res.changed, res.err = t.readFile(ctx, path, h); res.err == nil {
		h.Sum(res.sum[:0])
		t.files.Add(1)
	}
	return res
}

// readFile writes the content of a file to h. It returns the size of the content, and whether it
// changed meanwhile.
func (t *tree) readFile(ctx context.Context, path string, h hash.Hash) (size int64, changed bool, err error) {
	if err := t.openFiles.acquire(ctx, 1); err != nil {
		return 0, false, err
	}
	f, err := t.open(path)
	if err != nil {
		t.openFiles.release(1)
		return 0, false, err
	}
	closeFile := sync.OnceFunc(func() {
		_ = f.Close() // It was only read.
		t.openFiles.release(1)
	})
	defer closeFile()
	before, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	if !before.Mode().IsRegular() {
		return 0, false, errNotRegular
	}

	n := min(before.Size(), t.memory.size)
	if err := t.memory.acquire(ctx, n); err != nil {
		return 0, false, err
	}
	defer t.memory.release(n)
	buf := make([]byte, n)
	// The size is a guess: a file may grow, and some of those in /proc have the size 0 and a
	// content. What comes after the buffer is full goes here. This is small and fixed, like the
	// stack of a worker, and not part of the budget.
	more := make([]byte, 512)

	r := &contextReader{ctx, f}
	for eof := false; !eof; {
		n, err := io.ReadFull(r, buf)
		var m int
		if err == nil {
			m, err = r.Read(more)
		}
		if eof = err == io.EOF || err == io.ErrUnexpectedEOF; eof {
			after, err := f.Stat()
			if err != nil {
				return 0, false, err
			}
			changed = after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime())
			closeFile() // The rest is in memory, so another worker may open a file now.
		} else if err != nil {
			return 0, false, err
		}
		for _, data := range [][]byte{buf[:n], more[:m]} {
			if err := t.hashBytes(ctx, h, data); err != nil {
				return 0, false, err
			}
			size += int64(len(data))
		}
	}
	return size, changed, nil
}

// hashBytes writes data to h.
func (t *tree) hashBytes(ctx context.Context, h hash.Hash, data []byte) error {
	for chunk := range slices.Chunk(data, chunkSize) {
		if err := ctx.Err(); err != nil {
			return err
		}
		runtime.Gosched() // as in Read: meanwhile others may come to have memory as well
		h.Write(chunk)    // never fails
		t.bytes.Add(int64(len(chunk)))
	}
	return nil
}

// A contextReader reads in chunks, as long as the context is not done.
//
// Before each it lets others run, as they do while a disk is waited for. The system may have the
// file in memory, and then a worker would go all the way from the open to the close alone, on a
// small file, and no limit would ever be reached.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	runtime.Gosched()
	return r.r.Read(p[:min(len(p), chunkSize)])
}
