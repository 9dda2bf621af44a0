//go:build !interleave

package share

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/waiter"
)

// A share that goroutines wait for does what every semaphore does.
func TestPermitsAreASemaphore(t *testing.T) {
	semtest.Run(t, asSemaphore(), semtest.Known{
		Test: "FreePermitsNeedNoChannelOfAContext",
		Why:  "package fleet tries before it waits, and a limit has the channel",
	})
}

// All that one release serves run before its caller does.
func TestOneReleaseHandsOverToSeveral(t *testing.T) { semtest.RequireHandOff(t, newSemaphore(3), 3) }

// A plain is a share as one may write it down: one goroutine, no locks.
type plain struct {
	given, held, bound int64
	closed, observed   bool
	line               []*round
}

// A round is that of a future, of a share and of the plain one.
type round struct {
	f   waiter.Future
	r   Request
	n   int64
	err error // nil: granted
}

func (p *plain) free() int64 { return p.given - p.held }

func (p *plain) take(n int64, can bool) bool {
	can = can && !p.closed && len(p.line) == 0 && p.free() >= n
	if can {
		p.held += n
	}
	return can
}

func (p *plain) release(n int64) bool {
	if n > p.held {
		return false
	}
	p.held -= n
	p.serve()
	return true
}

func (p *plain) serve() {
	for len(p.line) > 0 && p.free() >= p.line[0].n {
		p.held += p.line[0].n
		p.line[0].err = nil
		p.line = p.line[1:]
	}
}

func (p *plain) start(r *round) {
	switch {
	case p.take(r.n, !p.observed):
		r.err = nil
	case p.closed:
		r.err = waiter.ErrClosed
	case r.n > p.bound:
		r.err = waiter.ErrTooLarge
	case p.take(r.n, true):
		r.err = nil
	default:
		r.err = waiter.ErrPending
		p.line = append(p.line, r)
	}
}

// end ends the requests that wait and are such.
func (p *plain) end(err error, such func(r *round) bool) {
	p.line = slices.DeleteFunc(p.line, func(r *round) bool {
		if such(r) {
			r.err = err
		}
		return such(r)
	})
	p.serve()
}

func (p *plain) demand(enough int64) (oldest, all int64) {
	for _, r := range p.line {
		if all < enough {
			oldest = p.line[0].n
			all += r.n
		}
	}
	return oldest, all
}

// Whatever one goroutine does, in whatever order, the permits and the requests are those of a share
// that is written down plainly.
func TestPermitsDoWhatAPlainModelDoes(t *testing.T) {
	for seed := range locktest.Scaled(8000) {
		x := &both{rng: rand.New(rand.NewPCG(uint64(seed), 0)), plain: plain{bound: 3}, share: new(Share)}
		x.share.Init(new(Bell), func() bool { return true })
		x.share.Bound(3)
		for step := range 60 {
			what := x.step(t)
			x.compare(t)
			if t.Failed() {
				t.Fatalf("seed %d, step %d: %s", seed, step, what)
			}
		}
	}
}

// Both are a share and the plain one, to which the same is done.
type both struct {
	rng    *rand.Rand
	share  *Share
	plain  plain
	loose  int64 // permits that are held, and not by a future
	rounds []*round
}

// step does something, and returns what.
func (x *both) step(t *testing.T) (what string) {
	n := 1 + x.rng.Int64N(3)
	took := func(want, got bool) {
		assert.Equal(t, want, got)
		if got {
			x.loose += n
		}
	}
	switch k := x.rng.IntN(40); {
	case k < 4:
		took(x.plain.take(n, !x.plain.observed), x.share.Try(n))
		return fmt.Sprint("try ", n)
	case k < 7:
		took(x.plain.take(n, true), x.share.TryObserved(n))
		return fmt.Sprint("try, observed ", n)
	case k < 14 && x.loose > 0:
		n = 1 + x.rng.Int64N(x.loose)
		x.loose -= n
		assert.Equal(t, x.plain.release(n), x.share.Release(n))
		return fmt.Sprint("release ", n)
	case k < 15:
		assert.False(t, x.share.Release(x.plain.held+n))
		return "release of too many"
	case k < 22:
		n = x.rng.Int64N(5)
		x.plain.given = n
		x.plain.serve()
		x.share.Resize(n)
		return fmt.Sprint("resize ", n)
	case k < 24:
		n = x.rng.Int64N(4)
		x.plain.bound = n
		x.plain.end(waiter.ErrTooLarge, func(r *round) bool { return r.n > n })
		x.share.Bound(n)
		return fmt.Sprint("bound ", n)
	case k < 26:
		x.plain.observed = !x.plain.observed
		x.share.Observe(x.plain.observed)
		return "observe"
	case k < 27 && x.rng.IntN(4) == 0:
		x.plain.closed = true
		x.plain.end(waiter.ErrClosed, func(*round) bool { return true })
		x.share.Close()
		return "close"
	case k < 34:
		r := &round{n: n}
		x.rounds = append(x.rounds, r)
		r.r.Of(x.share)
		waiter.Bind(&r.f, &r.r, n)
		r.f.Poll(nil)
		x.plain.start(r)
		return fmt.Sprint("future ", n)
	case len(x.rounds) > 0:
		i := x.rng.IntN(len(x.rounds))
		r := x.rounds[i]
		x.rounds = slices.Delete(x.rounds, i, i+1)
		if r.err == nil {
			x.plain.release(r.n)
		}
		x.plain.end(waiter.ErrCancelled, func(o *round) bool { return o == r })
		r.f.Release()
		return fmt.Sprint("future released ", r.n)
	}
	return "nothing"
}

// compare looks at all that can be seen.
func (x *both) compare(t *testing.T) {
	p, s := &x.plain, x.share
	assert.Equal(t, [...]int64{p.given, p.free(), p.held}, [...]int64{s.Given(), s.Available(), s.Held()})
	assert.Equal(t, len(p.line), s.Waiting())
	assert.Equal(t, p.observed, s.IsObserved())
	enough := x.rng.Int64N(6)
	oldest, all := s.Demand(enough)
	wantOldest, wantAll := p.demand(enough)
	assert.Equal(t, [...]int64{wantOldest, wantAll}, [...]int64{oldest, all}, "enough: %d", enough)
	for _, r := range x.rounds {
		assert.ErrorIs(t, r.f.Err(), r.err)
	}
}

// Goroutines and futures take permits in every way, while what is given rises and falls, and the
// share is observed now and then. In the end all are back.
func TestPermitsAreConserved(t *testing.T) {
	const users, most = 8, 4
	locktest.AtEveryProcs(t, func(t *testing.T) {
		s := newSemaphore(most) // no request is for more
		s.Bound(most)
		var held atomic.Int64
		var using sync.WaitGroup
		for u := range users {
			using.Go(func() {
				var f waiter.Future
				var r Request
				rng := rand.New(rand.NewPCG(uint64(u), 1))
				for range locktest.Scaled(16000) {
					n := 1 + rng.Int64N(most)
					got := false
					if rng.IntN(8) == 0 {
						s.Bound(most) // as the driver does after a refusal
					}
					switch rng.IntN(6) {
					case 0:
						got = s.Try(n)
					case 1:
						got = s.TryObserved(n)
					case 2:
						got = s.Wait(waiter.After(time.Duration(rng.IntN(3000))), n) == nil
					case 3:
						waiter.Bind(&f, &r, n)
						r.Of(&s.Share)
						got = f.Poll(nil) && f.Take() == nil
						f.Release()
					default:
						got = s.Wait(waiter.Limit{}, n) == nil
					}
					if got {
						if h := held.Add(n); h > most {
							t.Errorf("%d are held of %d", h, most)
						}
						held.Add(-n)
						if !s.Share.Release(n) {
							t.Error("a release of what is held was refused")
						}
					}
				}
			})
		}
		used := make(chan struct{})
		go func() { defer close(used); using.Wait() }()
		rng := rand.New(rand.NewPCG(0, 2))
		for over := false; !over; {
			s.Share.Resize(rng.Int64N(most))
			s.Observe(rng.IntN(2) == 0)
			s.Demand(most)
			s.Share.Resize(most)
			select {
			case <-used:
				over = true
			default:
				runtime.Gosched()
			}
		}
		s.Observe(false)
		semtest.RequireIdle(t, s)
		require.True(t, s.Try(most), "a flag is left")
	})
}

// Neither side of a wait allocates, and neither does what was cancelled.
func TestWaitsAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	here, there := newSemaphore(0), newSemaphore(0)
	here.Bound(1)
	there.Bound(1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for there.Wait(waiter.Limit{}, 1) == nil {
			there.Share.Resize(0)
			there.Share.Release(1)
			here.Share.Resize(1)
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	limits := []waiter.Limit{{}, waiter.UntilDone(ctx), waiter.After(time.Hour)}
	waits := 0
	require.Zero(t, testing.AllocsPerRun(200, func() {
		there.Share.Resize(1)
		if here.Wait(limits[waits%len(limits)], 1) == nil {
			waits++
		}
		here.Share.Resize(0)
		here.Share.Release(1)
		if here.Wait(waiter.After(1), 1) == nil {
			t.Error("granted what is not there")
		}
	}))
	require.Equal(t, 201, waits)
	there.Close()
	<-ended
}

// A waker may look at the share and release: whoever ends a request holds no lock.
func TestWakersRunWithoutTheLock(t *testing.T) {
	for name, end := range map[string]func(s *Share, head *waiter.Future){
		"release": func(s *Share, _ *waiter.Future) { s.Release(1) },
		"resize":  func(s *Share, _ *waiter.Future) { s.Resize(3) },
		"unlink":  func(_ *Share, head *waiter.Future) { head.Release() },
		"bound":   func(s *Share, _ *waiter.Future) { s.Bound(0) },
		"close":   func(s *Share, _ *waiter.Future) { s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			s := &newSemaphore(1).Share
			s.Bound(2)
			require.True(t, s.Try(1))
			s.Resize(2)
			var f [2]waiter.Future
			var r [2]Request
			woken := 0
			for i := range f {
				n := int64(2 - i) // the second one waits behind the first, though it would fit
				r[i].Of(s)
				waiter.Bind(&f[i], &r[i], n)
				require.False(t, f[i].Poll(waiter.WakerFunc(func() {
					woken++
					s.Held()
					f[i].Release()
				})))
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				end(s, &f[0])
			}()
			locktest.Receive(t, ended)
			require.Positive(t, woken)
			require.Zero(t, s.Waiting())
		})
	}
}

// What is given comes and goes: a request may be for more than there is.
func TestRequestsWaitForGrowth(t *testing.T) {
	s := new(Share)
	s.Init(new(Bell), func() bool { return true })
	var f [2]waiter.Future
	var r [2]Request
	for i, n := range []int64{3, 1} {
		r[i].Of(s)
		waiter.Bind(&f[i], &r[i], n)
		require.False(t, f[i].Poll(nil))
	}
	require.False(t, s.Release(1), "nobody held it")
	s.Resize(2)
	require.False(t, f[0].Complete() || f[1].Complete(), "strict order")
	s.Resize(3)
	require.True(t, f[0].Complete())
	require.False(t, f[1].Complete())
	s.Resize(1) // a debt of two
	require.EqualValues(t, -2, s.Available())
	require.NoError(t, f[0].Take())
	require.True(t, s.Release(2))
	require.False(t, f[1].Complete(), "the debt is paid first")
	require.True(t, s.Release(1))
	require.True(t, f[1].Complete())
	require.False(t, s.Release(2), "an over-release is noticed whatever is given")
	require.NoError(t, f[1].Take())
	require.True(t, s.Release(1))
}

// A release that serves goroutines hands the processor over, whoever else it serves. A busy machine
// may interrupt the goroutine that runs at once, but not each time.
func TestOneReleaseHandsOverBesideAFuture(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, first := range []string{"goroutine", "future"} {
		ran := 0
		for range 20 {
			if releaseRunsTheGoroutine(t, first == "future") {
				ran++
			}
		}
		require.Positive(t, ran, "the %s is first", first)
	}
}

// releaseRunsTheGoroutine reports whether a goroutine, which waits before or behind a future, has
// its permit and has run when the release of both returns.
func releaseRunsTheGoroutine(t *testing.T, behind bool) bool {
	s := newSemaphore(2)
	require.True(t, s.Try(2))
	var ran atomic.Bool
	var f waiter.Future
	var r Request
	r.Of(&s.Share)
	waiter.Bind(&f, &r, 1)
	if behind {
		f.Poll(nil)
	}
	before, done := s.Waiting(), make(chan error)
	go func() {
		err := s.Wait(waiter.Limit{}, 1)
		ran.Store(true)
		done <- err
	}()
	for s.Waiting() == before {
		runtime.Gosched()
	}
	f.Poll(nil)
	require.True(t, s.Share.Release(2))
	at := ran.Load()
	require.NoError(t, <-done)
	require.NoError(t, f.Err())
	f.Release()
	require.True(t, s.Share.Release(1))
	return at
}
