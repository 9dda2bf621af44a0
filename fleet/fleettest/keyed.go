package fleettest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/fence"
)

var keys = []func(w *world){
	keysComeAndGo, keysAreLost, aKeyIsReleasedTwice, tokensOutliveTheLine, aKeyIsResized,
	readersAndWritersOfAKey, processesPassDifferentSizes, closeOfKeys, keysAreClosedWhileTheyAreUsed, namesOfKeys,
	keysAtRestCostNothing,
}

// Whatever keys processes use, and however requests end, no key has more than its size in use.
// Keys that nobody uses leave nothing, neither in the store nor in a process.
func keysComeAndGo(w *world) {
	const size = 2
	names := []string{"a", "b/c", "", "d", "e", "f"}
	held := make([]atomic.Int64, len(names))
	var users sync.WaitGroup
	var served atomic.Int64
	var all []*fleet.Keyed
	for i, tenure := range []time.Duration{0, 2 * time.Millisecond, fleet.DefaultTenure} {
		k := w.keyed(w.join(fleet.WithTenure(tenure)), size)
		all = append(all, k)
		for j := range 8 {
			r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			users.Go(func() {
				for range 30 {
					key, n := r.IntN(len(names)), 1+r.Int64N(size)
					ctx, cancel := context.WithTimeout(w.ctx, time.Duration(r.IntN(20))*time.Millisecond)
					if r.IntN(2) == 0 {
						ctx = w.ctx
					}
					if p, err := k.Acquire(ctx, names[key], n); err == nil {
						served.Add(1)
						if h := held[key].Add(n); h > size {
							w.Errorf("%d are held", h)
						}
						time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
						held[key].Add(-n)
						p.Release()
					} else if ctx == w.ctx || !errors.Is(err, context.DeadlineExceeded) {
						w.Errorf("%w", err)
					}
					cancel()
					time.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
				}
			})
		}
	}
	users.Wait()
	w.check(served.Load() > 3*8*30/4, served.Load(), "are served")
	w.eventually(func() bool { return w.unused(names...) }, "something is left in the store")
	for _, k := range all {
		w.eventually(func() bool { return k.Len() == 0 }, "something is left in a process")
	}
}

// Keys of a lost session are lost, and others get them.
func keysAreLost(w *world) {
	f := w.join()
	a, b := w.keyed(f, 1), w.keyed(w.join(), 1)
	p, y := w.key(a, "x", 1), w.key(a, "y", 1)
	_, err := b.TryAcquire(w.ctx, "x", 1)
	w.errorIs(err, fleet.ErrBusy)
	z, err := b.TryAcquire(w.ctx, "z", 1)
	w.noError(err)
	z.Release()
	inLine := func(n int) func() bool {
		return func() bool { return len(w.state("keyed", "s/x").Entries) == n }
	}
	w.eventually(inLine(1), "the try has left the line")
	got := w.asks(b, "x", 1)
	w.eventually(inLine(2), "it waits")
	waits := w.asks(a, "x", 1)
	w.waits(f, "keyed s/x")
	w.revoke(p)
	next := w.given(got)
	w.lost(p)
	w.check(next.Token().Compare(p.Token()) > 0)
	theirs := w.key(b, "y", 1)
	p.Release()
	next.Release()
	x := w.given(waits, "it waits in the next session")
	w.equal(2, a.Len(), "what is lost has to be released")
	y.Release()
	x.Release()
	theirs.Release()
	w.eventually(func() bool { return a.Len() == 0 && w.unused("x", "y", "z") }, "nobody uses a key")
}

// A second Release of a key's Permit does nothing: the key is another Permit's. A Permit of nothing
// keeps no key.
func aKeyIsReleasedTwice(w *world) {
	a, b := w.keyed(w.join(fleet.WithTenure(0)), 2), w.keyed(w.join(), 2)
	p, q := w.key(a, "x", 1), w.key(a, "x", 1)
	p.Release()
	p.Release()
	w.key(a, "y", 0).Release()
	w.equal(1, a.Len())
	_, err := b.TryAcquire(w.ctx, "x", 2)
	w.errorIs(err, fleet.ErrBusy)
	w.key(b, "x", 1).Release()
	w.check(q.Valid())
	q.Release()
	w.equal(0, a.Len())
	w.key(b, "x", 2).Release()
	w.eventually(func() bool { return w.unused("x", "y") }, "something is left")
}

// A key's line goes when nobody holds or wants it, and a new one has greater tokens: they have the
// store's revision, which is that of all lines.
func tokensOutliveTheLine(w *world) {
	processes := []*fleet.Keyed{w.keyed(w.join(), 1), w.keyed(w.join(), 1)}
	gate := fence.NewGate(1)
	var last fence.Token
	for i := range 20 {
		p, err := processes[i%3%2].Acquire(w.ctx, "a", 1)
		w.noError(err)
		w.check(p.Token().Compare(last) > 0, p.Token(), "after", last)
		w.noError(gate.Check(p.Token()))
		if last.Lease != 0 && last.Lease != p.Token().Lease {
			w.errorIs(gate.Check(last), fence.ErrStale)
		}
		last = p.Token()
		p.Release()
		w.eventually(func() bool { return w.unused("a") }, "the line goes")
	}
}

// One key has another size, for all processes, also for those that open it later.
func aKeyIsResized(w *world) {
	f := w.join()
	a, b := w.keyed(f, 2), w.keyed(w.join(), 2)
	w.check(a == w.keyed(f, 7) && a.Size() == 2, "the first size counts")
	w.noKey(a, "x", 3, fleet.ErrTooLarge)
	w.noError(a.Resize(w.ctx, "x", 5))
	held := []*fleet.Permit{w.key(b, "x", 4)}
	_, err := w.within(50*time.Millisecond, ofKey(a, "x", 2))
	w.errorIs(err, context.DeadlineExceeded)
	held = append(held, w.key(a, "x", 1))
	w.noKey(a, "y", 3, fleet.ErrTooLarge, "another key")
	got := w.asks(a, "x", 2)
	w.eventually(func() bool { return len(w.state("keyed", "s/x").Entries) == 3 }, "it waits")
	w.noError(b.Resize(w.ctx, "x", 7)) // while it is held and waited for
	held = append(held, w.given(got))
	w.noError(a.Resize(w.ctx, "x", 0))
	w.noKey(b, "x", 1, fleet.ErrTooLarge)
	for _, p := range held {
		p.Release()
	}
	w.eventually(func() bool { return len(w.state("keyed", "s/x").Entries) == 0 }, "nobody uses it")
	w.noKey(b, "x", 1, fleet.ErrTooLarge, "its size is kept")
}

// An operator deletes the size of a key that is in use. It has the usual size.
func aSizeOfAKeyThatIsDeleted(w *world) {
	a, b := w.keyed(w.join(), 2), w.keyed(w.join(), 2)
	w.noError(a.Resize(w.ctx, "x", 1))
	p := w.key(a, "x", 1)
	got := w.asks(b, "x", 1)
	w.eventually(func() bool { return len(w.state("keyed", "s/x").Entries) == 2 }, "it waits")
	w.noError(w.DeleteSize("keyed", "s/x"))
	q := w.given(got)
	p.Release()
	q.Release()
	w.eventually(func() bool { return w.unused("x") }, "nobody uses it")
	w.noKey(a, "x", 3, fleet.ErrTooLarge)
}

// Processes that pass different sizes hold at most the largest together, and all are served.
func processesPassDifferentSizes(w *world) {
	var held atomic.Int64
	var users sync.WaitGroup
	for _, size := range []int64{1, 3} {
		k := w.keyed(w.join(), size)
		for range 5 {
			users.Go(func() {
				for range 30 {
					p := w.key(k, "a", 1)
					if h := held.Add(1); h > 3 {
						w.Errorf("%d are held", h)
					}
					time.Sleep(time.Millisecond)
					held.Add(-1)
					p.Release()
				}
			})
		}
	}
	users.Wait()
	w.eventually(func() bool { return w.unused("a") }, "something is left")
}

// Close ends who waits for any key. Held permits stay held until they are released, and Close of
// the membership waits for them.
func closeOfKeys(w *world) {
	f := w.apart()
	k := w.keyed(f, 1)
	p, b := w.key(k, "a", 1), w.key(k, "b", 1)
	wait := func(k *fleet.Keyed) <-chan outcome {
		got := w.asks(k, "a", 1)
		w.waits(f, "keyed s/a")
		return got
	}
	got := wait(k)
	k.Close()
	k.Close()
	w.errorIs(receive(w, got).err, fleet.ErrClosed)
	w.noKey(k, "c", 1, fleet.ErrClosed)
	w.check(p.Valid())

	again := w.keyed(f, 1)
	w.check(k != again)
	got = wait(again) // what the closed one has counts
	p.Release()
	a, c := w.given(got), w.key(again, "c", 1)
	got = wait(again)
	closed := make(chan error, 1)
	go func() { closed <- f.Close(w.ctx) }()
	w.errorIs(receive(w, got).err, fleet.ErrClosed)
	_, err := f.Keyed(w.ctx, "s", 1)
	w.errorIs(err, fleet.ErrClosed)
	w.noKey(again, "d", 1, fleet.ErrClosed)
	a.Release()
	c.Release()
	w.eventually(func() bool { return w.unused("a", "c") }, "they are returned")
	w.equal(0, len(closed), "b is held")
	b.Release()
	w.noError(receive(w, closed))
	w.check(w.unused("b"))
	w.eventually(func() bool { return again.Len() == 0 }, "a process keeps keys")
}

// Keys are closed, opened again and used at a time. No key has more in use than there is, nobody
// waits for ever, and nothing is left.
func keysAreClosedWhileTheyAreUsed(w *world) {
	names := []string{"a", "b", "c"}
	held := make([]atomic.Int64, len(names))
	var users sync.WaitGroup
	var served, ended atomic.Int64
	enough := func() bool { return served.Load() >= 200 && ended.Load() >= 10 || w.ctx.Err() != nil }
	for i := range 2 {
		f := w.join(fleet.WithTenure(time.Duration(i) * time.Millisecond))
		users.Go(func() {
			for !enough() {
				for before := served.Load(); served.Load() < before+5 && !enough(); {
					time.Sleep(700 * time.Microsecond)
				}
				w.keyed(f, 1).Close()
			}
		})
		for j := range 6 {
			r := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			users.Go(func() {
				for !enough() {
					key := r.IntN(len(names))
					p, err := w.keyed(f, 1).Acquire(w.ctx, names[key], 1)
					if err != nil {
						w.errorIs(err, fleet.ErrClosed)
						ended.Add(1)
						time.Sleep(100 * time.Microsecond)
						continue
					}
					if held[key].Add(1) != 1 {
						w.Errorf("two hold a key")
					}
					time.Sleep(time.Duration(r.IntN(300)) * time.Microsecond)
					held[key].Add(-1)
					p.Release()
					served.Add(1)
				}
			})
		}
	}
	users.Wait()
	w.noError(w.ctx.Err(), served.Load(), ended.Load())
	w.eventually(func() bool { return w.unused(names...) }, "something is left")
}

// Readers of a key take 1, and writers take all. Readers share the key, writers do not, and neither
// starves.
func readersAndWritersOfAKey(w *world) {
	const size = 50
	var inside atomic.Int64
	var users sync.WaitGroup
	for range 3 {
		k := w.keyed(w.join(fleet.WithTenure(2*time.Millisecond)), size)
		use := func(times int, n int64) {
			users.Go(func() {
				for range times {
					p := w.key(k, "a", n)
					if now := inside.Add(n); now > size {
						w.Errorf("a writer beside others: %d", now)
					}
					time.Sleep(200 * time.Microsecond)
					inside.Add(-n)
					p.Release()
				}
			})
		}
		for range 3 {
			use(20, 1)
		}
		use(10, k.Size())
	}
	users.Wait()
	k, o := w.keyed(w.join(), size), w.keyed(w.join(), size)
	var readers []*fleet.Permit
	for range 2 { // at a time
		readers = append(readers, w.key(k, "a", 1), w.key(o, "a", 1))
	}
	got := w.asks(k, "a", size)
	w.eventually(func() bool {
		weights := int64(0)
		for _, e := range w.state("keyed", "s/a").Entries {
			weights += e.Weight
		}
		return weights > size
	}, "the writer is in line")
	_, err := o.TryAcquire(w.ctx, "a", 1)
	w.errorIs(err, fleet.ErrBusy, "a reader overtakes a writer")
	for _, p := range readers {
		p.Release()
	}
	w.given(got).Release()
}

// Any text is a key, and no two keys of any names are the same.
func namesOfKeys(w *world) {
	f := w.join(fleet.WithTTL(time.Minute)) // which outlives the pauses of a busy machine
	var held []*fleet.Permit
	for _, name := range []string{"a", "a/b", "a%2Fb", "/", " ", "\xff"} {
		k, err := f.Keyed(w.ctx, name, 1)
		w.noError(err)
		for _, key := range []string{"", "b", "/", "b/c", "c", "size", "q/1", "%2F", "\x00", "ä"} {
			p, err := k.TryAcquire(w.ctx, key, 1)
			w.noError(err, name, key, "is another key")
			w.equal(1, len(w.state("keyed", url.PathEscape(name)+"/"+key).Entries))
			held = append(held, p)
		}
	}
	for _, p := range held {
		p.Release()
	}
	_, err := f.Keyed(w.ctx, "", 1)
	w.check(err != nil, "a name is empty")
	w.panics(func() { _, _ = f.Keyed(w.ctx, "a", -1) })
	k := w.keyed(f, 1)
	w.panics(func() { _, _ = k.Acquire(w.ctx, "a", -1) }, "fleet: acquire of a negative number of permits")
	w.panics(func() { _, _ = k.TryAcquire(w.ctx, "a", -1) }, "fleet: acquire of a negative number of permits")
	w.panics(func() { _ = k.Resize(w.ctx, "a", -1) }, "fleet: negative size")
}

// Keys that were used cost a process at rest nothing: neither requests nor watches.
func keysAtRestCostNothing(w *world) {
	const keys = 300
	f, x := w.disturbed(fleet.WithTTL(w.TTL))
	k := w.keyed(f, 2)
	least := math.MaxInt // a busy server leaves requests unanswered, or lets the session end
	for first := 0; first < keys; first += 30 {
		before := x.sum(x.asked, "txn", "read")
		var users sync.WaitGroup
		for i := range 30 {
			users.Go(func() {
				key := fmt.Sprint(first + i)
				w.key(k, key, 1).Release()
			})
		}
		users.Wait()
		w.eventually(func() bool { return k.Len() == 0 && x.sum(x.going, "txn") == 0 }, "keys are left")
		least = min(least, x.sum(x.asked, "txn", "read")-before)
	}
	w.check(least < 3*30, least, "two requests a key")
	w.rests(x, keys)
}
