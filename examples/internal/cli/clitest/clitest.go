// Package clitest has what the tests of several examples share.
package clitest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
)

// runAsProgram is the environment variable that makes a test binary behave as the program.
const runAsProgram = "FARAD_TEST_RUN_AS_PROGRAM"

// IsProgram reports whether a test binary was started by [Command]: then TestMain calls main, and
// nothing else.
func IsProgram() bool {
	if name := os.Getenv(readyFile); name != "" {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			panic(err)
		}
	}
	return os.Getenv(runAsProgram) != ""
}

// Command returns the program with some arguments, for the tests that need a process of their own.
// The end of the test kills it.
func Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), runAsProgram+"=1")
	return cmd
}

// readyFile is the environment variable with the name of a file that a program of [Interrupt] makes
// when a signal does not kill it any more.
const readyFile = "FARAD_TEST_READY_FILE"

// Interrupt starts the program with some arguments, which have it run for long, and sends it the
// signal of Ctrl-C. It returns the exit code, and what the program has written.
func Interrupt(t testing.TB, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no such signals")
	}
	cmd := Command(t, args...)
	ready := filepath.Join(t.TempDir(), "ready")
	cmd.Env = append(cmd.Env, readyFile+"="+ready)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	for deadline := time.After(time.Minute); ; { // Again, in case that the program did not listen to the last one yet.
		select {
		case <-ended:
			return cmd.ProcessState.ExitCode(), out.String(), errs.String()
		case <-deadline:
			t.Fatal("does not end")
		case <-time.After(20 * time.Millisecond):
			if _, err := os.Stat(ready); err == nil {
				_ = cmd.Process.Signal(os.Interrupt)
			}
		}
	}
}

// RequireWidth checks that what was drawn on a terminal fits its columns.
func RequireWidth(t testing.TB, drawn string, columns int) {
	t.Helper()
	for line := range strings.FieldsFuncSeq(drawn, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if n := utf8.RuneCountInString(line); n > columns {
			t.Fatalf("%d columns are too many for %d: %q", n, columns, line)
		}
	}
}

// WriteTree makes the files below a new directory, which it returns. Their names have slashes on
// every system.
func WriteTree(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// RandomBytes returns n bytes, which are the same for the same seed.
func RandomBytes(seed, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

// A File is a file whose methods a test can replace.
type File struct {
	fs.File
	OnRead  func(p []byte) (int, error) // called instead of Read
	OnClose func()                      // called before Close
}

// Read implements [fs.File].
func (f *File) Read(p []byte) (int, error) {
	if f.OnRead != nil {
		return f.OnRead(p)
	}
	return f.File.Read(p)
}

// Close implements [fs.File].
func (f *File) Close() error {
	if f.OnClose != nil {
		f.OnClose()
	}
	return f.File.Close()
}

// HighWater counts something up and down, and remembers the largest count.
type HighWater struct{ now, peak atomic.Int64 }

// Add counts n up, or down if it is negative.
func (h *HighWater) Add(n int64) {
	now := h.now.Add(n)
	for { // Each retry follows a larger peak of another.
		peak := h.peak.Load()
		if now <= peak || h.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

// Now returns the count.
func (h *HighWater) Now() int64 { return h.now.Load() }

// Peak returns the largest count.
func (h *HighWater) Peak() int64 { return h.peak.Load() }

// WriterFunc is a function as an [io.Writer].
type WriterFunc func(p []byte) (int, error)

// Write implements [io.Writer].
func (f WriterFunc) Write(p []byte) (int, error) { return f(p) }

// DiskFull is a writer that fails.
var DiskFull io.Writer = WriterFunc(func([]byte) (int, error) { return 0, errors.New("disk full") })
