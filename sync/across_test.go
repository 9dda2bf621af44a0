//go:build !interleave

package sync

import (
	"context"
	"runtime"
	std "sync"
	"testing"
	"testing/synctest"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// A permit that a stranger has, and the line of those who want it.
type permit struct {
	mu   std.Mutex
	list waiting.Queue
	free bool
}

func (l *permit) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list.Len()
}

func (l *permit) pop() *waiting.Waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list.PopFront()
}

func (l *permit) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free {
		l.free = false
		return waiting.Granted
	}
	w.Arm(waker)
	l.list.PushBack(w)
	return waiting.Pending
}

func (l *permit) Unlink(w *waiting.Waiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list.Remove(w)
}

func (l *permit) GiveBack(int64) bool {
	for {
		w := l.pop()
		if w == nil {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.free = true
			return true
		}
		if w.Deliver(waiting.Granted) {
			return true
		}
	}
}

// A wait across the border of a bubble that its context ends in any way, in any of the calls that
// it makes, leaves nobody in the line, and gives back what it was granted.
func TestWaitAcrossLosesNothingToItsContext(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("of the context") }, "Goexit": runtime.Goexit} {
		for _, when := range []string{"free", "freed", "cancelled", "cancelled and freed"} {
			for _, method := range []string{"Err", "Done"} {
				calls := 0
				for again := true; again; {
					calls++
					l := &permit{free: when == "free"}
					again = false
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						c := locktest.NewTrapContext(ctx, method, int64(calls), func() { again = true; end() })
						var f waiting.Future
						waiting.Bind(&f, l, 1)
						ended := make(chan error, 1)
						go func() {
							err := context.Canceled
							defer func() {
								_ = recover()
								ended <- err
							}()
							err = waitAcross(&f, waiting.UntilDone(c))
						}()
						locktest.Eventually(t, "it waits, or has ended", func() bool { return l.Waiting() > 0 || len(ended) > 0 })
						if when == "cancelled" || when == "cancelled and freed" {
							cancel()
						}
						if when == "freed" || when == "cancelled and freed" {
							l.GiveBack(1)
						}
						err := <-ended
						if when == "cancelled" {
							l.GiveBack(1)
						}
						if err == nil {
							f.Release()
						}
						require.False(t, f.Complete())
					})
					require.Zero(t, l.Waiting(), "%s in call %d of %s, %s", name, calls, method, when)
					require.True(t, l.free, "%s in call %d of %s, %s", name, calls, method, when)
					require.Less(t, calls, 20, "it is asked for ever")
				}
				t.Logf("%s of %s, %s: %d calls", name, method, when, calls-1)
			}
		}
	}
}
