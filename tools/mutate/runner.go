package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// An outcome is what the tests made of a mutant.
type outcome int

const (
	survived outcome = iota
	killed
	timedOut
	broken // did not compile
)

type result struct {
	mutant  *mutant
	outcome outcome
	listed  bool   // as an equivalent
	command string // which killed it
	how     string // the test or the panic that killed it
	elapsed time.Duration
	err     error // it could not be run
}

func (r *result) status() string {
	switch {
	case r.outcome == survived && r.listed:
		return "equivalent"
	case r.outcome == survived:
		return "SURVIVED"
	case r.outcome == killed:
		return "killed"
	case r.outcome == timedOut:
		return "killed (timeout)"
	default:
		return "did not compile"
	}
}

func (r *result) String() string {
	m := r.mutant
	s := fmt.Sprintf("%-10s %s:%d %s %s: %s  (%.1fs)",
		r.status(), m.file.name, m.line, m.fn, m.op, m.note, r.elapsed.Seconds())
	if r.how != "" {
		s += " " + r.how
	}
	return s
}

// A runner runs the tests on mutants.
type runner struct {
	root  string
	dir   string                   // for files that are thrown away
	tests func(m *mutant) []string // the tests that judge a mutant
	limit time.Duration            // for each test; 0: derived from its time without a mutant

	mu   sync.Mutex
	took map[string]time.Duration // the time without a mutant, per test; guarded by mu
}

// timeout returns how long a test may take, which must pass without a mutant: that is found out
// when it is first needed.
func (r *runner) timeout(ctx context.Context, test string) (time.Duration, error) {
	r.mu.Lock() // others that need it at the same time wait
	defer r.mu.Unlock()
	if r.took[test] == 0 {
		start := time.Now()
		text, err := r.test(ctx, r.dir, "", test)
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err != nil {
			return 0, fmt.Errorf("without any mutant: go test %s: %w\n%s", test, err, text)
		}
		if r.took == nil {
			r.took = map[string]time.Duration{}
		}
		r.took[test] = time.Since(start)
	}
	if r.limit > 0 {
		return r.limit, nil
	}
	return 10*time.Second + 3*r.took[test], nil
}

// baseline runs the first test of each mutant on the unchanged tree. The other tests run when a
// mutant survives the first.
func (r *runner) baseline(ctx context.Context, mutants []*mutant, out io.Writer) error {
	start := time.Now()
	for _, m := range mutants {
		if _, err := r.timeout(ctx, r.tests(m)[0]); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "baseline passes in %.1fs\n", time.Since(start).Seconds())
	return nil
}

// all runs the tests on the mutants, n at a time, and yields the results as they come, counted from
// 1.
func (r *runner) all(ctx context.Context, mutants []*mutant, n int) iter.Seq2[int, *result] {
	return func(yield func(int, *result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		todo, done := make(chan *mutant), make(chan *result)
		var workers sync.WaitGroup
		workers.Go(func() {
			defer close(todo)
			for _, m := range mutants {
				select {
				case todo <- m:
				case <-ctx.Done():
					return
				}
			}
		})
		for range n {
			workers.Go(func() {
				for m := range todo {
					res := r.run(ctx, m)
					select {
					case done <- res:
					case <-ctx.Done(): // the commands were killed: the result means nothing
					}
				}
			})
		}
		go func() {
			workers.Wait()
			close(done)
		}()
		defer func() { // A caller that leaves the loop leaves no commands behind.
			cancel()
			workers.Wait()
		}()
		i := 0
		for res := range done {
			if i++; !yield(i, res) {
				return
			}
		}
	}
}

// run runs the commands on one mutant until one kills it.
func (r *runner) run(ctx context.Context, m *mutant) *result {
	res := &result{mutant: m}
	if m.broken {
		res.outcome = broken
		return res
	}
	start := time.Now()
	dir, err := os.MkdirTemp(r.dir, "")
	if err != nil {
		res.err = err
		return res
	}
	defer os.RemoveAll(dir)
	overlay, err := writeOverlay(dir, m)
	if err != nil {
		res.err = err
		return res
	}
	for _, test := range r.tests(m) {
		timeout, err := r.timeout(ctx, test)
		if err != nil {
			res.err = err
			return res
		}
		limited, cancel := context.WithTimeout(ctx, timeout)
		out, err := r.test(limited, dir, overlay, test)
		late := limited.Err() != nil
		cancel()
		res.elapsed = time.Since(start)
		switch {
		case ctx.Err() != nil:
			res.err = ctx.Err()
			return res
		case buildFailed.Match(out):
			res.outcome = broken
			return res
		case packageFailed.Match(out):
			res.outcome, res.how, res.command = killed, cause(out), test
			return res
		case late:
			res.outcome = timedOut
			if !explores(test) {
				return res // it hangs
			} // or there is more to explore: another command may know
		case err != nil: // not the doing of the mutant: the go command itself failed
			res.err = fmt.Errorf("go test %s: %w\n%s", test, err, out)
			return res
		}
	}
	return res
}

// explores reports whether a test searches the schedules of the model, which with a mutant may be
// many more than without.
func explores(test string) bool { return strings.Contains(test, "-tags interleave") }

// writeOverlay writes the mutant and its helpers to dir, and returns the overlay file for the go
// command.
func writeOverlay(dir string, m *mutant) (string, error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	write := func(path, stand string, text []byte) error {
		stand = filepath.Join(dir, stand)
		overlay.Replace[path] = stand
		return os.WriteFile(stand, text, 0o666)
	}
	path := filepath.Join(dir, "overlay.json")
	if err := write(m.file.path, "mutant.go", m.source()); err != nil {
		return "", err
	}
	if err := write(filepath.Join(m.file.pkg.dir, helperFile), "helper.go", helper(m.file)); err != nil {
		return "", err
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, text, 0o666)
}

// test runs go test, and kills it with all its children when ctx is done or the first package has
// failed.
func (r *runner) test(ctx context.Context, dir, overlay, arguments string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	more := strings.Fields(arguments)
	args := []string{"test"}
	if len(more) > 1 && more[0] == "-C" { // the go command wants it first
		args, more = append(args, more[:2]...), more[2:]
	}
	args = append(args, "-overlay="+overlay, "-vet=off", "-failfast", "-count=1")
	args = append(args, more...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOTMPDIR="+dir) // what a killed command leaves behind goes with dir
	out := &watcher{failed: cancel}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 5 * time.Second
	ownGroup(cmd)
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // another process kept the pipe open; the command itself was content
	}
	return out.text.Bytes(), err
}

var (
	packageFailed = regexp.MustCompile(`(?m)^FAIL\t.*\n`)
	buildFailed   = regexp.MustCompile(`(?m)^FAIL\t\S+ \[(build|setup) failed\]\n`)
	causes        = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^(?:panic|fatal error): .*`)
)

// cause finds out what made a test fail.
func cause(out []byte) string {
	m := causes.FindSubmatch(out)
	switch {
	case m == nil:
		return ""
	case m[1] != nil:
		return string(m[1])
	default:
		return string(m[0])
	}
}

// A watcher keeps the start and the end of a command's output, and calls failed when a package has
// failed: what comes then costs time and changes nothing.
type watcher struct {
	text   bytes.Buffer
	failed func()
}

const outputKept = 1 << 15 // of each

func (w *watcher) Write(p []byte) (int, error) {
	w.text.Write(p)
	b := w.text.Bytes()
	if packageFailed.Match(b) {
		w.failed()
	} else if len(b) > 4*outputKept { // a mutant may chatter until it times out
		w.text.Truncate(outputKept + copy(b[outputKept:], b[len(b)-outputKept:]))
	}
	return len(p), nil
}
