package fleettest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/store"
)

// What is in more entries than a transaction deletes comes back all the same. A process merges its
// entries, and so has a few. Here somebody writes more, on its lease.
func moreEntriesThanATransactionTakes(w *world) {
	const n = 300
	a, b := w.semaphore(w.join(fleet.WithTTL(time.Minute)), n), w.semaphore(w.join(), n)
	p, err := a.AcquirePermit(w.ctx, 1)
	w.noError(err)
	lease := p.Token().Lease
	var more []store.Op
	for i := range int64(n - 1) {
		more = append(more, store.Op{Key: store.Key{Lease: lease, Seq: 1<<40 + i}, Weight: 1})
	}
	w.write("semaphore", lease, more...)
	w.equal(n, w.entries("semaphore"))
	p.Release()
	w.noError(b.Acquire(w.ctx, n))
	b.Release(n)
}

// Who is in the line when the store runs out of space is served, also if the holder's process wants
// more.
func whoWaitsIsServedWithoutSpace(w *world) {
	f, x := w.disturbed(fleet.WithTenure(0))
	a, b := w.semaphore(f, 2), w.semaphore(w.join(), 2)
	w.noError(a.Acquire(w.ctx, 1))
	w.noError(a.Acquire(w.ctx, 1)) // two entries
	got, again := make(chan error, 1), make(chan error, 1)
	go func() { got <- b.Acquire(w.ctx, 2) }()
	w.eventually(func() bool { return w.entries("semaphore") == 3 }, "it is in the line")
	drain, err := w.Fill()
	w.noError(err)
	before := x.sum(x.asked, "txn")
	go func() { again <- a.Acquire(w.ctx, 1) }()
	w.eventually(func() bool { return x.sum(x.asked, "txn") > before+1 }, "it asks, and is refused")
	a.Release(1)
	a.Release(1)
	w.eventually(func() bool { return w.entries("semaphore") == 1 }, "what was released comes back")
	w.noError(receive(w, got))
	b.Release(2)
	w.noError(drain())
	w.noError(receive(w, again))
	a.Release(1)
}

// A process may join for as long as a TTL can be, and keep a block for ever while it uses it.
func theLongestTimes(w *world) {
	const year = 365 * 24 * time.Hour
	w.panics(func() { fleet.WithTTL(year + 1) })
	f, x := w.disturbed(fleet.WithTTL(year), fleet.WithTenure(math.MaxInt64))
	a, b := w.semaphore(f, 1), w.semaphore(w.join(), 1)
	p, err := a.AcquirePermit(w.ctx, 1)
	w.noError(err)
	w.check(p.Valid())
	got := make(chan error, 1)
	go func() { got <- b.Acquire(w.ctx, 1) }()
	w.eventually(func() bool { return w.entries("semaphore") == 2 }, "it waits")
	before := x.sum(x.asked, "txn")
	for range 100 { // each waits before the other releases
		next := make(chan *fleet.Permit)
		go func() {
			q, err := a.AcquirePermit(w.ctx, 1)
			w.noError(err)
			next <- q
		}()
		w.eventually(func() bool { return a.Waiting() == 1 }, "it waits")
		p.Release()
		p = receive(w, next)
	}
	w.equal(before, x.sum(x.asked, "txn"), "handed on here")
	p.Release()
	w.noError(receive(w, got), "nobody waits here")
	b.Release(1)
}

// Somebody deletes the size while the line is in use. Who opens it then does not decide on another
// one: it is 0 until somebody says what it is to be. A line that nobody uses is a new one.
func aSizeThatIsDeleted(w *world) {
	f := w.join()
	a := w.semaphore(f, 3)
	w.noError(a.Acquire(w.ctx, 1))
	w.noError(w.DeleteSize("semaphore", "s"))
	w.eventually(func() bool { return a.Size() == 0 }, "it is gone")
	b := w.semaphore(w.join(), 1)
	w.equal(0, b.Size())
	w.errorIs(b.Acquire(w.ctx, 1), fleet.ErrTooLarge)
	w.noError(b.Resize(w.ctx, 3))
	w.noError(b.Acquire(w.ctx, 2))
	a.Release(1)
	b.Release(2)

	a.Close()
	b.Close()
	w.eventually(func() bool { return w.entries("semaphore") == 0 }, "nobody uses it")
	w.noError(w.DeleteSize("semaphore", "s"))
	w.equal(1, w.semaphore(f, 1).Size())
}

// Permits that are taken one by one are a few entries, and go back at once.
func permitsTakenOneByOneAreAFewEntries(w *world) {
	f, x := w.disturbed()
	a, b := w.semaphore(f, 1000), w.semaphore(w.join(), 1000)
	for i := range 1000 {
		w.noError(a.Acquire(w.ctx, 1))
		w.check(i%7 > 0 || w.entries("semaphore") <= 8) // to look takes as long as to acquire
	}
	before, vain := x.sum(x.asked, "txn"), x.sum(x.vain, "txn")
	a.Release(1000)
	w.noError(b.Acquire(w.ctx, 1000))
	// One that a busy server leaves unanswered is made again.
	w.check(x.sum(x.asked, "txn")-before <= 2 || x.sum(x.vain, "txn") > vain)
	b.Release(1000)
}

// Who is refused because the size has fallen asks the server first, but not each by itself.
func manyWhoAreTooLargeReadOnce(w *world) {
	const waiters = 1000
	f, x := w.disturbed()
	s := w.semaphore(f, 5)
	w.noError(s.Acquire(w.ctx, 5))
	done := make(chan error, waiters)
	for range waiters {
		go func() { done <- s.Acquire(w.ctx, 4) }()
	}
	w.eventually(func() bool { return s.Waiting() == waiters }, "they wait")
	before := x.sum(x.asked, "read")
	w.noError(s.Resize(w.ctx, 3))
	for range waiters {
		w.errorIs(receive(w, done), fleet.ErrTooLarge)
	}
	w.check(x.sum(x.asked, "read")-before <= waiters/20, "reads of the line")
	s.Release(5)
}

// A request that seems too large gets its answer even if the servers are silent at first, and
// nothing else happens in the line.
func whoIsTooLargeAsksAgain(w *world) {
	f, x := w.disturbed()
	s := w.semaphore(f, 2)
	w.noError(s.Acquire(w.ctx, 1)) // the line is known
	silent := func() {
		var reads atomic.Int64
		x.on(func(_ context.Context, request string, _ func(context.Context)) error {
			if request == "read" && reads.Add(1) <= 3 {
				return errors.New("unavailable")
			}
			return nil
		})
	}
	silent()
	w.errorIs(s.AcquireTimeout(patience/4, 3), fleet.ErrTooLarge)
	silent()
	_, err := s.TryAcquirePermit(w.ctx, 3)
	w.errorIs(err, fleet.ErrTooLarge)
	silent()
	w.errorIs(s.AcquireTimeout(time.Millisecond, 3), context.DeadlineExceeded, "that soon there is no answer")
	s.Release(1)
}

// A process that is at rest costs the store the same, however many locks it has used.
func locksAtRestCostNothing(w *world) {
	const locks = 100
	f, x := w.disturbed(fleet.WithTTL(w.TTL))
	var first []string
	for i := range locks {
		m, err := f.Mutex(w.ctx, fmt.Sprint(i))
		w.noError(err)
		p, err := m.Lock(w.ctx)
		w.noError(err)
		p.Release()
		if i == 0 { // it has all that it needs once it watches, and has renewed
			w.eventually(func() bool {
				return x.sum(x.going, "watch") == 1 && x.sum(x.asked, "renew") > 0
			}, "one watch, and a renewal")
			first = ours()
		}
	}
	for now := ours(); len(now) > len(first)+locks/10; now = ours() {
		w.check(w.ctx.Err() == nil, "goroutines that do nothing:\n\n"+strings.Join(now, "\n\n"))
		time.Sleep(10 * time.Millisecond)
	}
	w.rests(x, locks)
}

// ours returns the stacks of the goroutines that packages of the fleet have started, or that run
// one. Servers in this process have others, which come and go.
func ours() (stacks []string) {
	all := make([]byte, 1<<20)
	n := runtime.Stack(all, true)
	for n == len(all) {
		all = make([]byte, 2*n)
		n = runtime.Stack(all, true)
	}
	for stack := range strings.SplitSeq(string(all[:n]), "\n\n") {
		if ofTheFleet.MatchString(stack) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// ofTheFleet matches the name of a function that a program links to use the fleet.
var ofTheFleet = regexp.MustCompile(`farad/fleet(/etcd|/postgres|/internal/[a-z]+)?\.`)

// rests sees to it that a process which has used many locks comes to have one watch, and to ask
// little: three renewals in a TTL, and a sign of life. Slow servers are asked again before that.
func (w *world) rests(x *wire, used int) {
	w.eventually(func() bool { return x.sum(x.going, "watch") == 1 }, "one watch")
	w.eventually(func() bool {
		before := x.sum(x.asked)
		time.Sleep(w.TTL)
		return x.sum(x.asked)-before < used/5
	}, "little is asked")
}
