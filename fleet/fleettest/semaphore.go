package fleettest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/fleet"
)

var semaphores = []func(w *world){
	permitsAreSharedByProcesses, idlePermitsStayUntilSomebodyWaits, aPermitOfZero, misuse,
	cancelLosesNothing, resize, aSemaphoreIsClosed, closeReturnsWhatIsIdle, aTryAsks, future,
	futureOfZero, bindOfAFutureThatHolds, tokensGrow, whoGivesUpLeavesNothingIdle,
	manyWhoAreTooLargeReadOnce, whoIsTooLargeAsksAgain, permitsTakenOneByOneAreAFewEntries,
	moreEntriesThanATransactionTakes, theLongestTimes, status, observedLocks,
}

func permitsAreSharedByProcesses(w *world) {
	a, b := w.semaphore(w.join(), 3), w.semaphore(w.join(), 99)
	w.equal(3, b.Size(), "the size that it has")
	w.noError(a.Acquire(w.ctx, 2))
	w.noError(b.Acquire(w.ctx, 1))
	w.errorIs(b.AcquireTimeout(50*time.Millisecond, 1), context.DeadlineExceeded)
	got := make(chan error)
	go func() { got <- b.Acquire(w.ctx, 2) }()
	a.Release(2)
	w.noError(receive(w, got))
	w.check(!a.TryAcquire(1))
	b.Release(3)
}

// At most size permits are held at any time, by however many processes.
func conservation(w *world) {
	for _, procs := range []int{1, 2, 4, 16} {
		func() {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			const size = 5
			var held, grants atomic.Int64
			var wg sync.WaitGroup
			for i := range 3 {
				s := w.semaphore(w.join(fleet.WithTenure(2*time.Millisecond)), size)
				for j := range 6 {
					r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
					wg.Go(func() {
						for range 30 {
							n := 1 + r.Int64N(size)
							ctx, cancel := w.ctx, context.CancelFunc(func() {})
							if r.IntN(3) == 0 {
								ctx, cancel = context.WithTimeout(w.ctx, time.Duration(r.IntN(4000))*time.Microsecond)
							}
							if s.Acquire(ctx, n) == nil {
								if now := held.Add(n); now > size {
									w.Errorf("%d are held of %d", now, size)
								}
								if r.IntN(2) == 0 {
									time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
								}
								held.Add(-n)
								grants.Add(1)
								s.Release(n)
							}
							cancel()
						}
					})
				}
			}
			wg.Wait()
			w.check(grants.Load() > 100)
		}()
	}
}

func idlePermitsStayUntilSomebodyWaits(w *world) {
	f, g := w.join(), w.join()
	a, b := w.semaphore(f, 1), w.semaphore(g, 1)
	w.noError(a.Acquire(w.ctx, 1))
	a.Release(1)
	for range 100 {
		w.check(a.TryAcquire(1), "without the network")
		a.Release(1)
	}
	w.equal(1, w.entries("semaphore"))
	w.check(!b.TryAcquire(1), "another process has it")
	w.noError(b.Acquire(w.ctx, 1))
	w.check(!a.TryAcquire(1))
	b.Release(1)
}

func aPermitOfZero(w *world) {
	s := w.semaphore(w.join(), 1)
	w.noError(s.Acquire(w.ctx, 0))
	w.noError(s.AcquireTimeout(time.Second, 0))
	w.errorIs(s.AcquireTimeout(0, 0), context.DeadlineExceeded)
	w.check(s.TryAcquire(0))
	s.Release(0)
	s.Close()
	w.errorIs(s.Acquire(w.ctx, 0), fleet.ErrClosed)
	w.check(!s.TryAcquire(0))
}

func misuse(w *world) {
	f := w.join()
	s := w.semaphore(f, 2)
	w.panics(func() { _ = s.Acquire(w.ctx, -1) }, "fleet: acquire of a negative number of permits")
	w.panics(func() { _ = s.AcquireTimeout(1, -1) }, "fleet: acquire of a negative number of permits")
	w.panics(func() { s.TryAcquire(-1) }, "fleet: acquire of a negative number of permits")
	w.panics(func() { _, _ = s.TryAcquirePermit(w.ctx, -1) }, "fleet: acquire of a negative number of permits")
	w.panics(func() { _ = s.Acquire(nil, 1) }, "fleet: nil context") //nolint:staticcheck // the test
	w.panics(func() { s.Release(-1) }, "fleet: release of a negative number of permits")
	w.panics(func() { _ = s.Resize(w.ctx, -1) }, "fleet: negative size")
	w.panics(func() { fleet.WithTTL(0) })
	w.panics(func() { fleet.WithTTL(math.MaxInt64) })
	w.panics(func() { fleet.WithTenure(-1) })
	w.panics(func() { _, _ = fleet.New(w.ctx, nil) })

	w.noError(s.Acquire(w.ctx, 1))
	w.panics(func() { s.Release(2) }, "fleet: released 2 permits, but this process holds fewer")
	s.Release(1)
	p, err := s.AcquirePermit(w.ctx, 1)
	w.noError(err)
	w.panics(func() { s.Release(1) }) // what a Permit holds is not released without it
	p.Release()
	p.Release()
	w.equal(0, p.N())

	err = s.Acquire(w.ctx, 3)
	w.errorIs(err, fleet.ErrTooLarge)
	w.equal("fleet: a request for 3 permits exceeds the size, 2", err)
	_, err = f.Semaphore(w.ctx, "", 1)
	w.check(err != nil, "a name is empty")
	done, cancel := context.WithCancel(w.ctx)
	cancel()
	w.errorIs(s.Acquire(done, 1), context.Canceled, "even if permits are free")
}

func cancelLosesNothing(w *world) {
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	w.noError(a.Acquire(w.ctx, 1))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(w.ctx, time.Duration(i)*500*time.Microsecond)
			defer cancel()
			if err := b.Acquire(ctx, 1); err == nil {
				b.Release(1)
			}
		})
	}
	time.Sleep(3 * time.Millisecond)
	a.Release(1)
	wg.Wait()
	w.noError(a.Acquire(w.ctx, 1))
	a.Release(1)
	w.eventually(func() bool { return w.entries("semaphore") <= 1 }, "what nobody wants is taken back")
}

func resize(w *world) {
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	got := make(chan error, 1)
	w.noError(a.Acquire(w.ctx, 1))
	w.noError(b.Resize(w.ctx, 3))
	w.noError(a.Acquire(w.ctx, 2), "three, says the server")
	w.eventually(func() bool { return a.Size() == 3 && b.Size() == 3 }, "all know it")
	go func() { got <- b.Acquire(w.ctx, 2) }()
	w.eventually(func() bool { return b.Waiting() == 1 }, "it waits")
	w.noError(a.Resize(w.ctx, 1))
	w.errorIs(receive(w, got), fleet.ErrTooLarge, "the size fell during the wait")
	a.Release(2)
	w.errorIs(b.AcquireTimeout(20*time.Millisecond, 1), context.DeadlineExceeded, "one is held of one")
	a.Release(1)
	w.noError(b.Acquire(w.ctx, 1))
	b.Release(1)
	w.noError(b.Resize(w.ctx, 0))
	w.eventually(func() bool { return a.Size() == 0 }, "nothing is left")
	w.errorIs(a.Acquire(w.ctx, 1), fleet.ErrTooLarge)
}

func aSemaphoreIsClosed(w *world) {
	f := w.join()
	a, b := w.semaphore(f, 1), w.semaphore(w.join(), 1)
	w.noError(a.Acquire(w.ctx, 1))
	got := make(chan error, 1)
	go func() { got <- a.Acquire(w.ctx, 1) }()
	w.eventually(func() bool { return a.Waiting() == 1 }, "it waits")
	a.Close()
	a.Close()
	w.errorIs(receive(w, got), fleet.ErrClosed)
	w.errorIs(a.Acquire(w.ctx, 1), fleet.ErrClosed)
	_, err := b.TryAcquirePermit(w.ctx, 1)
	w.errorIs(err, fleet.ErrBusy, "what is held stays held")
	a.Release(1)
	w.noError(b.Acquire(w.ctx, 1))
	b.Release(1)
	w.eventually(func() bool {
		again, err := f.Semaphore(w.ctx, "s", 1)
		if err != nil || again.Acquire(w.ctx, 1) != nil {
			return false
		}
		again.Release(1)
		return true
	}, "opened again")
}

func closeReturnsWhatIsIdle(w *world) {
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	w.noError(a.Acquire(w.ctx, 1))
	a.Release(1)
	a.Close()
	w.eventually(func() bool { return w.entries("semaphore") == 0 }, "returned")
	w.noError(b.Acquire(w.ctx, 1))
	b.Release(1)
}

func aTryAsks(w *world) {
	a, b := w.semaphore(w.join(), 2), w.semaphore(w.join(), 2)
	w.check(!a.TryAcquire(1), "nothing is here yet")
	p, err := a.TryAcquirePermit(w.ctx, 1)
	w.noError(err)
	w.check(p.Valid())
	_, err = b.TryAcquirePermit(w.ctx, 2)
	w.errorIs(err, fleet.ErrBusy, "one is held")
	q, err := b.TryAcquirePermit(w.ctx, 1)
	w.noError(err)
	_, err = b.TryAcquirePermit(w.ctx, 3)
	w.errorIs(err, fleet.ErrTooLarge)
	for size := int64(3); size < 20; size++ {
		w.noError(a.Resize(w.ctx, size))
		_, err = b.TryAcquirePermit(w.ctx, size)
		w.errorIs(err, fleet.ErrBusy, "the server knows the size")
	}
	p.Release()
	q.Release()
}

func future(w *world) {
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	w.noError(a.Acquire(w.ctx, 1))
	var f fleet.Future
	b.Bind(&f, 1)
	w.check(!f.Poll(nil))
	w.errorIs(f.Err(), fleet.ErrPending)
	select {
	case <-f.Done():
		w.fatal("held elsewhere")
	case <-time.After(20 * time.Millisecond):
	}
	a.Release(1)
	receive(w, f.Done())
	w.noError(f.Err())
	p := f.Permit()
	w.check(p.Valid())
	f.Release()
	w.check(p.Valid(), "it is the handle's")
	p.Release()
	w.check(!p.Valid())

	b.Bind(&f, 1)
	receive(w, f.Done())
	f.Release()
	b.Bind(&f, 2)
	receive(w, f.Done())
	w.errorIs(f.Err(), fleet.ErrTooLarge)
	f.Release()
	w.noError(b.Acquire(w.ctx, 1))
	b.Release(1)
}

func tokensGrow(w *world) {
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	var last *fleet.Permit
	for i := range 20 {
		s := a
		if i%3 == 0 {
			s = b
		}
		p, err := s.AcquirePermit(w.ctx, 1)
		w.noError(err)
		if last != nil {
			w.check(p.Token().Compare(last.Token()) > 0)
		}
		w.equal([]int64{p.Token().Lease}, p.Token().Survivors)
		last = p
		p.Release()
	}
}

func acquireAllocatesNothing(w *world) {
	s := w.semaphore(w.join(), 1)
	w.noError(s.Acquire(w.ctx, 1))
	s.Release(1)
	w.equal(0, testing.AllocsPerRun(100, func() {
		if s.Acquire(w.ctx, 1) != nil {
			w.Errorf("refused")
		}
		s.Release(1)
	}))
}

// A request for nothing needs no session.
func futureOfZero(w *world) {
	f := w.join()
	for i := range 100 {
		s, err := f.Semaphore(w.ctx, fmt.Sprint(i), 2)
		w.noError(err)
		var a fleet.Future
		s.Bind(&a, 0)
		receive(w, a.Done())
		w.noError(a.Err())
		a.Release()
	}
}

// A grant that comes beside a cancel goes back at once, not when the tenure ends.
func whoGivesUpLeavesNothingIdle(w *world) {
	a, b := w.semaphore(w.join(fleet.WithTenure(time.Hour)), 1), w.semaphore(w.join(), 1)
	for range 20 {
		w.noError(a.Acquire(w.ctx, 1))
		ctx, cancel := context.WithCancel(w.ctx)
		gone, got := make(chan error), make(chan error)
		go func() { gone <- a.Acquire(ctx, 1) }()
		w.eventually(func() bool { return a.Waiting() == 1 }, "it waits")
		go func() { got <- b.AcquireTimeout(patience/2, 1) }()
		w.eventually(func() bool { return w.entries("semaphore") == 2 }, "it waits")
		time.Sleep(5 * time.Millisecond)
		cancel()
		a.Release(1)
		w.errorIs(receive(w, gone), context.Canceled)
		w.noError(receive(w, got))
		b.Release(1)
	}
}

// What a future still holds must not be forgotten by Bind.
func bindOfAFutureThatHolds(w *world) {
	s := w.semaphore(w.join(), 1)
	var f fleet.Future
	s.Bind(&f, 1)
	receive(w, f.Done())
	w.noError(f.Err())
	w.panics(func() { s.Bind(&f, 1) })
	f.Release()
	s.Bind(&f, 1)
	receive(w, f.Done())
	w.noError(f.Err())
	f.Release()
}
