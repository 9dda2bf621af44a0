package measure

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var hoard = 1024 // a variable: a constant size would be had on the stack

// steady takes a microsecond and two allocations for each operation, on paper.
var steady = LapImpl{"steady", func(l *Lap) error {
	l.Ops = l.Todo
	l.Elapsed = time.Duration(l.Todo) * time.Microsecond
	l.Mallocs = 2 * uint64(l.Todo)
	return nil
}}

func TestTheLastLapFillsTheWindow(t *testing.T) {
	s, err := Laps(steady, 1, Timing{Window: 20 * time.Millisecond, Limit: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if want := (LapSample{NsPerOp: 1000, AllocsPerOp: 2, Ops: 20_000}); s != want {
		t.Errorf("%+v, want %+v", s, want)
	}
}

// The time is that of a bubble: however busy the machine is, what is on the clock takes a
// millisecond, and the rest nothing of it.
func TestOnlyWhatIsOnTheClockCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lap
		var kept [][]byte
		keep := func() error { kept = append(kept, make([]byte, hoard)); time.Sleep(time.Millisecond); return nil }
		for range 100 {
			_ = keep()
			if err := l.Clock(1, keep); err != nil {
				t.Fatal(err)
			}
		}
		if l.Ops != 100 || len(kept) != 200 {
			t.Fatalf("%d operations, %d kept", l.Ops, len(kept))
		}
		if l.Mallocs < 100 || l.Mallocs > 150 { // the slice grows, and something else may happen
			t.Errorf("%d allocations in 100 operations that make one", l.Mallocs)
		}
		if l.Elapsed != 100*time.Millisecond {
			t.Errorf("%v on the clock, which does not run while nothing is measured", l.Elapsed)
		}
	})
}

func TestBrokenTasksAreReported(t *testing.T) {
	limits := Timing{Window: time.Millisecond, Limit: 20 * time.Millisecond}
	boom := errors.New("boom")
	if _, err := Laps(LapImpl{"", func(*Lap) error { return boom }}, 1, limits); !errors.Is(err, boom) {
		t.Errorf("a failing lap gives %v", err)
	}
	hang := make(chan struct{})
	defer close(hang)
	stuck := LapImpl{"", func(*Lap) error { <-hang; return nil }}
	if _, err := Laps(stuck, 1, limits); !errors.Is(err, ErrStuck) {
		t.Errorf("a lap that never ends gives %v", err)
	}
	if _, err := Laps(LapImpl{"", func(*Lap) error { return nil }}, 1, limits); err == nil {
		t.Error("a lap without an operation gives no error")
	}
}
