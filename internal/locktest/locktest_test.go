package locktest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// told is a test that keeps the message of its failure.
type told struct {
	testing.TB
	message string
}

func (*told) Helper() {}

func (f *told) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// messageOf runs f in a goroutine of its own, and returns the message that it fails with.
func messageOf(f func(t testing.TB)) string {
	t, done := new(told), make(chan struct{})
	go func() {
		defer close(done)
		f(t)
	}()
	<-done
	return t.message
}

// waiting is how many wait.
type waiting struct{ atomic.Int64 }

func (w *waiting) Waiting() int64 { return w.Load() }

func TestWhatDoesNotHappenIsTold(t *testing.T) {
	full := func() chan int {
		c := make(chan int, 1)
		c <- 1
		return c
	}
	var two waiting
	two.Store(2)
	for want, f := range map[string]func(t testing.TB){
		"nothing came\ngoroutine":   func(t testing.TB) { Receive(t, make(chan int)) },
		"came too early":            func(t testing.TB) { RequireBlocked(t, full()) },
		"never: thunder\ngoroutine": func(t testing.TB) { Eventually(t, "thunder", slowly) },
		"2 wait, not 1\ngoroutine":  func(t testing.TB) { AwaitWaiting(t, slow{&two}, 1) },
		`panicked with "boom"`:      func(t testing.TB) { RequireMisuse(t, func() { panic("boom") }) },
		`panicked with "<nil>"`:     func(t testing.TB) { RequireMisuse(t, func() {}) },
		"": func(t testing.TB) {
			RequireMisuse(t, func() { panic("unlock of unlocked lock") })
			if v := Receive(t, full()); v != 1 {
				t.Fatalf("%d came", v)
			}
			RequireBlocked(t, make(chan int))
			AwaitWaiting(t, &two, 2)
			calls := 0
			Eventually(t, "three", func() bool { calls++; return calls == 3 })
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := messageOf(f); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
				t.Errorf("%.40q, want %q", got, want)
			}
		})
	}
}

// slowly lets a second pass in a bubble, and is never true.
func slowly() bool { time.Sleep(time.Second); return false }

// slow is slowly with a number.
type slow struct{ *waiting }

func (s slow) Waiting() int64 { slowly(); return s.waiting.Waiting() }

func TestAllProcsAreRun(t *testing.T) {
	var got []int
	before := runtime.GOMAXPROCS(0)
	AtEveryProcs(t, func(*testing.T) { got = append(got, runtime.GOMAXPROCS(0)) })
	want := "[1 2 4 16]"
	if testing.Short() && RaceEnabled {
		want = fmt.Sprint([]int{before})
	}
	if fmt.Sprint(got) != want || runtime.GOMAXPROCS(0) != before {
		t.Errorf("%v, and %d afterwards", got, runtime.GOMAXPROCS(0))
	}
}

// A channel of one place as a lock.
type channel struct {
	c chan struct{}
	n waiting
}

func (l *channel) lock() {
	l.n.Add(1)
	l.c <- struct{}{}
	l.n.Add(-1)
}

func (l *channel) unlock() { <-l.c }

func TestAllocationsOfAWaitAreCounted(t *testing.T) {
	SkipUnderRace(t)
	var kept *int
	for want := range 3 {
		l := &channel{c: make(chan struct{}, 1)}
		got := AllocsPerWait(&l.n, l.lock, l.unlock, func() {
			l.lock()
			for range want {
				kept = new(int)
			}
			l.unlock()
		})
		if got != float64(want) {
			t.Errorf("%v, want %d (%v)", got, want, kept)
		}
	}
}

func TestBlockedGoroutinesAreCounted(t *testing.T) {
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	const function = "(*channel).unlock"
	before := TimesBlocked(t, function)
	l := &channel{c: make(chan struct{})}
	Eventually(t, "a goroutine blocked", func() bool {
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.unlock()
		}()
		runtime.Gosched() // for it to be first, and block
		l.lock()
		Receive(t, done)
		return TimesBlocked(t, function) > before
	})
	if n := TimesBlocked(t, "(*channel).nobody"); n != 0 {
		t.Errorf("a function that was not called blocked %d times", n)
	}
}

func TestWakersTellWhetherTheyWereWoken(t *testing.T) {
	var count CountingWaker
	c := NewChannelWaker()
	RequireBlocked(t, c)
	for range 3 {
		count.Wake()
		c.Wake()
	}
	if n := count.Load(); n != 3 {
		t.Errorf("counted %d of 3", n)
	}
	Receive(t, c)
	RequireBlocked(t, c)
}

func TestOnlyTheKnownTestIsSkipped(t *testing.T) {
	for name, want := range map[string]bool{"known": true, "other": false} {
		skipped := true
		t.Run(name, func(t *testing.T) {
			t.Cleanup(func() { skipped = t.Skipped() })
			SkipKnown(t, name, []Known{{"third", "why not"}, {"known", "why"}})
		})
		if skipped != want {
			t.Errorf("%s: skipped %v", name, skipped)
		}
	}
}

// A search for the module's root ends, whether there is one or not.
func TestTheRootOfAModuleIsFound(t *testing.T) {
	outside := t.TempDir()
	require.Empty(t, moduleRoot(filepath.Join(outside, "a", "b")))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "go.mod"), nil, 0o600))
	require.Equal(t, outside, moduleRoot(filepath.Join(outside, "a", "b")))
	require.Equal(t, outside, moduleRoot(outside))
}
