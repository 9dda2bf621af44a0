package locktest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
)

// SkipUnderRace skips a test that counts allocations, which the race detector spoils.
func SkipUnderRace(t testing.TB) {
	t.Helper()
	if RaceEnabled {
		t.Skip("the race detector allocates, and makes sync.Pool forget things at random")
	}
}

// SkipSequential skips a long test of one goroutine where the race detector looks for races in the
// gate: it has none.
func SkipSequential(t testing.TB) {
	t.Helper()
	if RaceEnabled && testing.Short() {
		t.Skip("one goroutine, and the race detector makes it ten times as long")
	}
}

// AllocsPerWait returns the average allocations of waits that really wait, in the steady state. In
// each round, hold takes l; wait, in another goroutine, has to wait for l until letGo gives it
// back, and leaves it free.
func AllocsPerWait[N int | int64](l Waitable[N], hold, letGo, wait func()) float64 {
	start, done := make(chan struct{}), make(chan struct{})
	go func() {
		for range start {
			wait()
			done <- struct{}{}
		}
	}()
	defer close(start)
	round := func() {
		hold()
		start <- struct{}{}
		for l.Waiting() == 0 {
			runtime.Gosched()
		}
		letGo()
		<-done
	}
	for range 100 { // what is set up once, as the watch of a context is after some waits
		round()
	}
	return AllocsPerRun(200, round)
}

// AllocsPerRun is [testing.AllocsPerRun] with pools that hold nothing of what earlier tests have
// left there: else what f does not put back would be hidden until they are empty.
func AllocsPerRun(runs int, f func()) float64 {
	runtime.GC() // the pools keep theirs once more,
	runtime.GC() // and forget it
	return testing.AllocsPerRun(runs, f)
}

// AllocsPerTimeout is [AllocsPerRun] for an f that waits for short times. The timers of a process
// that does nothing else fire a millisecond late, so a goroutine yields meanwhile.
func AllocsPerTimeout(runs int, f func()) float64 {
	var stop atomic.Bool
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for !stop.Load() {
			runtime.Gosched()
		}
	}()
	defer func() {
		stop.Store(true)
		<-stopped
	}()
	return AllocsPerRun(runs, f)
}

// TimesBlocked returns how often the block profile has seen goroutines blocked below a function,
// which it knows by the end of its name.
func TimesBlocked(t testing.TB, function string) (n int64) {
	t.Helper()
	records := make([]runtime.BlockProfileRecord, 10000)
	size, ok := runtime.BlockProfile(records)
	if !ok {
		t.Fatalf("%d records in the block profile", size)
	}
	for _, r := range records[:size] {
		frames := runtime.CallersFrames(r.Stack())
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.HasSuffix(f.Function, function) {
				n += r.Count
				break
			}
		}
	}
	return n
}

// GoTool runs the go command in the module's root, and returns its output. It may fail: vet does so
// where a test wants it to.
func GoTool(t testing.TB, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command")
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root := moduleRoot(dir)
	if root == "" {
		t.Fatalf("%s is in no module", dir)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), "GOFLAGS=-buildvcs=false")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// moduleRoot returns the folder of the module that a folder is in, or "" if it is in none.
func moduleRoot(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}
