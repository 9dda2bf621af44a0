package rt_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// sizes are of lists that are polled as a whole, and of lists whose parts are polled when they
// are woken.
var sizes = []int{1, 2, 8, 9, 100}

// counted is a future that counts its polls.
type counted struct {
	rt.Future
	polls *int
}

func (c *counted) Poll(w waiter.Waker) bool {
	*c.polls++
	return c.Future.Poll(w)
}

// requests returns futures for a permit each of s, and what counts their polls.
func requests(s *semaphore.Semaphore, n int) (fs []rt.Future, polls *int) {
	polls = new(int)
	for range n {
		fs = append(fs, &counted{again(s, 1), polls})
	}
	return fs, polls
}

func requestsOf(s *semaphore.Semaphore, n int) []rt.Future {
	fs, _ := requests(s, n)
	return fs
}

// The work for n futures that complete one after the other is n, and not n squared.
func TestJoinOfManyIsLinear(t *testing.T) {
	const n = 16_000
	s := held(t, n)
	fs, polls := requests(s, n)
	all := rt.AllOf(fs...)
	var w locktest.CountingWaker
	for done := all.Poll(&w); !done; done = all.Poll(&w) {
		require.LessOrEqual(t, *polls, 3*n)
		s.Release(1)
	}
	require.NoError(t, all.Err())
	s.Release(n)
	requireIdle(t, s)

	// The same in a task, from another goroutine, with a watchdog.
	for _, opts := range [][]rt.Option{nil, {rt.WithWatchdog(time.Hour, func(rt.Report) {})}} {
		s := held(t, n)
		fs, polls := requests(s, n)
		ex := solo(t, opts...)
		h := spawned(ex, func(cx *rt.Context) error { return rt.Join(cx, fs...) })
		for range n {
			s.Release(1)
		}
		_, err := wait(t, h)
		require.NoError(t, err)
		require.LessOrEqual(t, *polls, 3*n)
		s.Release(n)
		requireIdle(t, s)
	}
}

// All parts begin with the first poll, in the order of the list.
func TestJoinBeginsInTheOrderOfTheList(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := held(t, 1)
			var fs []rt.Future
			for range n {
				fs = append(fs, request(s, 1))
			}
			all := rt.AllOf(fs...)
			require.False(t, all.Poll(nil))
			require.EqualValues(t, n, s.Waiting())
			for _, f := range fs {
				s.Release(1)
				require.NoError(t, f.Err())
			}
			require.True(t, all.Poll(nil))
			require.NoError(t, all.Err())
			s.Release(1)
			requireIdle(t, s)
		})
	}
}

// A part that has several steps goes on when it is woken, whatever the others wait for.
func TestPartOfAJoinGoesOnBesideTheOthers(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ex := solo(t)
				s, late := held(t, 1), held(t, 1)
				var fs []rt.Future
				for range n {
					fs = append(fs, request(s, 1))
				}
				limited := rt.Timeout(request(late, 1), time.Second)
				fs = append(fs, limited)
				h := spawned(ex, func(cx *rt.Context) error { return rt.Join(cx, fs...) })
				synctest.Wait()
				require.EqualValues(t, 1, late.Waiting())
				time.Sleep(time.Second)
				synctest.Wait()
				require.Zero(t, late.Waiting(), "its time is over, though the others still wait")
				require.ErrorIs(t, h.Err(), waiter.ErrPending)
				for range n {
					s.Release(1)
				}
				_, err := wait(t, h)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NoError(t, fs[0].Err())
			})
		})
	}
}

// The whole is woken for each part that may have completed, not for those that have been polled
// since.
func TestJoinIsWokenByEachPart(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := held(t, int64(n))
			var fs []rt.Future
			for range n {
				fs = append(fs, again(s, 1))
			}
			all := rt.AllOf(fs...)
			var first, second locktest.CountingWaker
			require.False(t, all.Poll(&first))
			for i := range n {
				w := &first
				if i%2 == 1 {
					w = &second // the waker of the last poll is the one that counts
				}
				require.Equal(t, false, all.Poll(w))
				before := w.Load()
				s.Release(1)
				require.Equal(t, before+1, w.Load())
			}
			require.True(t, all.Poll(&first))
			require.True(t, all.Poll(nil), "polling a complete future changes nothing")
			woken := first.Load() + second.Load()
			require.EqualValues(t, n, woken)
			all.Release()
			require.EqualValues(t, n, s.Available())
			requireIdle(t, s)

			// Another round, that is given up.
			s.TryAcquire(int64(n))
			require.False(t, all.Poll(&first))
			require.EqualValues(t, n, s.Waiting())
			all.Release()
			require.Zero(t, s.Waiting())
			require.ErrorIs(t, all.Err(), waiter.ErrPending)
			s.Release(int64(n))
			require.EqualValues(t, woken, first.Load()+second.Load(), "no goroutine waits any more")
			require.True(t, all.Poll(&first))
			require.NoError(t, all.Err())
			s.Release(int64(n))
			requireIdle(t, s)
		})
	}
}

// caught is a future that keeps the waker of its last poll.
type caught struct {
	counted
	waker waiter.Waker
}

func (c *caught) Poll(w waiter.Waker) bool {
	c.waker = w
	return c.counted.Poll(w)
}

// A part that was woken, and still waits, is polled once for it, and does not wake the whole again.
func TestPartThatWaitsOnDoesNotWakeItself(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := held(t, int64(n))
			fs, polls := requests(s, n)
			inner := &caught{counted: counted{again(s, 1), polls}}
			// Directly, and as a part of a part.
			for _, part := range []rt.Future{inner, rt.AllOf(append(fs, inner)...)} {
				all := rt.AllOf(append(requestsOf(s, n), part)...)
				var w locktest.CountingWaker
				require.False(t, all.Poll(&w))
				for i := range 3 {
					inner.waker.Wake()
					require.EqualValues(t, i+1, w.Load())
					require.False(t, all.Poll(&w))
					require.EqualValues(t, i+1, w.Load(), "it has woken itself")
				}
				all.Release()
			}
			require.Zero(t, s.Waiting())
		})
	}
}

// A part that was woken when the whole was given up is heard of in the next round.
func TestJoinThatWasGivenUpHearsOfEveryPart(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := held(t, int64(n))
			all := rt.AllOf(requestsOf(s, n)...)
			var w locktest.CountingWaker
			require.False(t, all.Poll(&w))
			s.Release(int64(n)) // all are woken
			all.Release()
			require.True(t, s.TryAcquire(int64(n)))
			require.False(t, all.Poll(&w))
			for range n {
				before := w.Load()
				s.Release(1)
				require.Equal(t, before+1, w.Load())
				all.Poll(&w)
			}
			require.NoError(t, all.Err())
			s.Release(int64(n))
			requireIdle(t, s)
		})
	}
}

// A part that the same task polls by itself is still part of the whole.
func TestPartOfAJoinMayBePolledByItself(t *testing.T) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			ex := solo(t)
			s := held(t, int64(n))
			fs, _ := requests(s, n)
			all := rt.AllOf(fs...)
			first, polled := true, make(chan struct{})
			p := newPoll(func(cx *rt.Context) bool {
				done := cx.Poll(all)
				if first {
					first = false
					assert.False(t, cx.Poll(fs[0]))
					close(polled)
				}
				return done
			})
			require.NoError(t, ex.Spawn(p))
			locktest.Receive(t, polled)
			for range n {
				s.Release(1)
			}
			require.NoError(t, ended(t, &p.Task))
			require.NoError(t, all.Err())
			s.Release(int64(n))
			requireIdle(t, s)
		})
	}
}

// Joins of many, whose parts come from several goroutines and are given up at any time: no wake
// and no permit is lost.
func TestNoWakeIsLostToAJoinOfMany(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := start(t)
		s := semaphore.New(64)
		for i := range locktest.Scaled(300) {
			n := 9 + rand.IntN(50)
			require.True(t, s.TryAcquire(64))
			fs, _ := requests(s, n)
			h := spawned(ex, func(cx *rt.Context) error { return rt.Join(cx, fs...) })
			release := func() {
				for range 32 {
					s.Release(1)
				}
			}
			go release()
			if i%3 == 0 {
				h.Abort()
			}
			release()
			if _, err := wait(t, h); err == nil {
				s.Release(int64(n))
			}
			locktest.Eventually(t, "all are back", func() bool { return s.Available() == 64 })
			requireIdle(t, s)
		}
	})
}

// The same future twice in one list would be taken for two: it panics, however long the list.
func TestSameFutureTwiceInAListPanics(t *testing.T) {
	ex := solo(t, quiet)
	for _, n := range []int{2, 8, 9, 100} {
		for name, wait := range map[string]func(fs []rt.Future) error{
			"Select": func(fs []rt.Future) error {
				return run(t, ex, func(cx *rt.Context) error { _, err := rt.Select(cx, fs...); return err })
			},
			"Join": func(fs []rt.Future) error {
				return run(t, ex, func(cx *rt.Context) error { return rt.Join(cx, fs...) })
			},
			"FirstOf": func(fs []rt.Future) error { return rt.BlockOn(bg, rt.FirstOf(fs...)) },
			"AllOf":   func(fs []rt.Future) error { return rt.BlockOn(bg, rt.AllOf(fs...)) },
		} {
			t.Run(fmt.Sprintf("%s of %d", name, n), func(t *testing.T) {
				s, free := held(t, 1), semaphore.New(1)
				fs, _ := requests(s, n)
				fs[0] = request(free, 1) // the one that wins
				fs[n-1] = fs[0]
				var told any
				func() {
					defer func() {
						if r := recover(); r != nil {
							told = r
						}
					}()
					err := wait(fs)
					if p, ok := err.(*rt.PanicError); ok { //nolint:errorlint // nothing is wrapped
						told = p.Value
					}
				}()
				require.Contains(t, told, "the same future twice")
				require.Zero(t, s.Waiting())
				requireIdle(t, free)
			})
		}
	}
}

// value is a future that is no pointer: two that are equal are two.
type value struct{}

func (value) Poll(waiter.Waker) bool { return true }
func (value) Err() error             { return nil }
func (value) Release()               {}

// incomparable is one that cannot be compared.
type incomparable struct {
	value
	_ []int
}

// nothingAtAll has no size: two of them may be at the same address.
type nothingAtAll struct{}

func (*nothingAtAll) Poll(waiter.Waker) bool { return true }
func (*nothingAtAll) Err() error             { return nil }
func (*nothingAtAll) Release()               {}

func TestEqualFuturesAreNotTheSame(t *testing.T) {
	ex := solo(t)
	for _, n := range []int{1, 100} {
		var fs []rt.Future
		for range n {
			fs = append(fs, value{}, value{}, incomparable{}, incomparable{}, &nothingAtAll{}, &nothingAtAll{})
		}
		require.NoError(t, run(t, ex, func(cx *rt.Context) error { return rt.Join(cx, fs...) }))
		require.NoError(t, run(t, ex, func(cx *rt.Context) error { _, err := rt.Select(cx, fs...); return err }))
		require.NoError(t, rt.BlockOn(bg, rt.FirstOf(fs...)))
	}
}
