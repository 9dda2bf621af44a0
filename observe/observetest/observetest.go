package observetest

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/observed/agents"
	"github.com/farad-go/farad/internal/observed/records"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/observe"
)

// The parts of a run that only the tests of this package change.
const (
	period   = 100 * time.Millisecond // between two looks
	patience = time.Second            // for who may still release what an ended goroutine has acquired
	margin   = 2 * time.Second        // before the time of the tests is up
)

// A watch is what has been found in this process.
type watch struct {
	mu       sync.Mutex
	on       bool
	reasons  *reasons
	reported map[string]bool // by their texts' identities
	open     []report        // that no test has been given yet
	checked  []*check        // tests that run
}

var process = watch{reported: map[string]bool{}}

// bubbles makes the linker keep what a bubble needs. Then the locks of package sync have no fast
// paths, and each of them is observed from its first use on: see canBubble in sync/bubble.go.
var bubbles = synctest.Test

// began is about when the time of the tests began to run.
var began = time.Now()

// A check is a test that runs.
type check struct{ name string }

// Main runs the tests of a package, and exits. TestMain calls it, in the place of m.Run. For
// another that runs tests, such as goleak.VerifyTestMain, there is [Wrap].
func Main(m interface{ Run() int }) { os.Exit(Wrap(m).Run()) }

// Wrap returns what runs the tests of m, and fails if they pass, but something was found.
func Wrap(m interface{ Run() int }) interface{ Run() int } { return wrapped{m} }

type wrapped struct{ m interface{ Run() int } }

// Run runs the tests.
func (w wrapped) Run() int {
	if !flag.Parsed() {
		flag.Parse()
	}
	if flagged("test.bench") != "" || flagged("test.list") != "" {
		return w.m.Run()
	}
	_ = process.start()
	code := w.m.Run()
	found := process.end(nil, 0, code == 0)
	complete := code == 0 && flagged("test.run") == "" && flagged("test.skip") == "" && !testing.Short()
	if complete {
		found = append(found, process.reasons.unused()...)
	}
	for _, text := range found {
		fmt.Fprintf(os.Stderr, "%s", text)
	}
	if len(found) > 0 {
		return cmp.Or(code, 1)
	}
	return code
}

// flagged returns the value of a flag of the test program.
func flagged(name string) string {
	if f := flag.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

// Check has t fail at its end if something was found. Call it first: what other cleanups release is
// then released before. A test that calls it may be parallel, and have subtests.
func Check(t testing.TB) {
	t.Helper()
	if err := process.start(); err != nil {
		t.Fatal(err)
	}
	c := process.enter(t.Name())
	t.Cleanup(func() {
		for _, text := range process.end(c, agents.Goroutine(), !t.Failed() && !t.Skipped() && !panicking()) {
			t.Fail()
			_, _ = io.WriteString(t.Output(), text)
		}
	})
}

// start begins to observe all locks.
func (w *watch) start() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	runtime.KeepAlive(bubbles)
	if w.on {
		return w.reasons.err
	}
	w.on = true
	w.reasons = readReasons()
	configure(-1)
	observe.All(observe.LevelHolders)
	observe.On(func(d observe.Deadlock) { w.halt(deadlocked(&d)) })
	observe.On(func(s observe.Suspicion) {
		if s.Why == observe.Inversion {
			w.add(inverted(&s))
		}
	})
	if d, err := time.ParseDuration(flagged("test.timeout")); err == nil && d > 0 && !waiting.InBubble() {
		time.AfterFunc(time.Until(began.Add(d-min(margin, d/2))), lastLook)
	}
	return w.reasons.err
}

func configure(wait time.Duration) {
	observe.Configure(observe.Config{
		Period: period, LongWait: wait, LongHold: -1, NeverPolled: -1, Logger: slog.New(slog.DiscardHandler),
	})
}

// lastLook shows what may be a deadlock. Now nobody will be wronged: the time is up.
func lastLook() {
	configure(time.Second)
	records.Look()
	for _, s := range observe.Read().Suspicions {
		if s.Why == observe.Unreleased {
			fmt.Fprint(os.Stderr, suspected(&s))
		}
	}
}

func (w *watch) add(r report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(r)
}

// halt ends the program for a report after which no test can end, unless it is known or suppressed.
func (w *watch) halt(r report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.addLocked(r) {
		return
	}
	for _, o := range w.open {
		if o.id == r.id || o.functions() != r.functions() { // otherwise it is the inversion that has led here
			fmt.Fprint(os.Stderr, o.text)
		}
	}
	os.Exit(2)
}

// addLocked keeps r unless it is known or suppressed, and reports whether it did.
func (w *watch) addLocked(r report) bool {
	if w.reported[r.id] || w.reasons.have(r.key) {
		return false
	}
	w.reported[r.id] = true
	w.open = append(w.open, r)
	return true
}

func (w *watch) enter(name string) *check {
	w.mu.Lock()
	defer w.mu.Unlock()
	root, _, _ := strings.Cut(name, "/")
	c := &check{root}
	w.checked = append(w.checked, c)
	return c
}

// end returns the reports for the test c that ends, or for the package if c is nil. Me is the
// goroutine of the test. If it has passed, what is held for ever is looked for.
func (w *watch) end(c *check, me uint64, passed bool) (texts []string) {
	records.Look() // as long as the locks are there
	if passed {
		for range 2 { // what the first finds, the second collects
			collect()
		}
		records.Look()
	}
	var held []report
	for end := time.Now().Add(patience); passed; time.Sleep(patience / 20) {
		held = stillHeld(observe.Read(), me)
		if len(held) == 0 || time.Now().After(end) {
			break
		}
	}
	s := observe.Read()
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range s.Suspicions {
		if s.Suspicions[i].Why == observe.Inversion {
			w.addLocked(inverted(&s.Suspicions[i]))
		}
	}
	if passed {
		for _, r := range slices.Concat(leaked(s.Leaks), held) {
			w.addLocked(r)
		}
	}
	w.checked = slices.DeleteFunc(w.checked, func(o *check) bool { return o == c })
	w.open = slices.DeleteFunc(w.open, func(r report) bool {
		if c != nil && !r.of(c) && slices.ContainsFunc(w.checked, r.of) {
			return false // it is another's
		}
		texts = append(texts, r.text)
		return true
	})
	if w.reasons.err != nil && c == nil {
		texts = append(texts, w.reasons.err.Error()+"\n")
	}
	return texts
}

// collect collects garbage, and returns when that has been reported, as far as can be known.
func collect() {
	var done atomic.Bool
	runtime.AddCleanup(new([32]byte), func(done *atomic.Bool) { done.Store(true) }, &done)
	runtime.GC()
	for range 1000 {
		if done.Load() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// panicking reports whether the caller is deferred, and a panic has called it.
func panicking() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	for f, more := frames.Next(); more; f, more = frames.Next() {
		if f.Function == "runtime.gopanic" {
			return true
		}
	}
	return false
}
