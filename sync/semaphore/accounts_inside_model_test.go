//go:build interleave

package semaphore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/waiter"
)

// An accountsWorld is a semaphore with accounts, whose tenants are 0, 1, 2 and 3.
type accountsWorld struct {
	*interleave.Run
	s       *Semaphore
	a       *accounts
	caps    [4]interleave.Int64
	parents [4]interleave.Int64 // of a tree; -1: none
	loose   bool                // a cap is lowered, or a parent changes: the holders keep what they have
	many    bool                // more wait than one step grants
	clock   interleave.Int64    // of debits by time
}

func newAccountsWorld(x *interleave.Run, sc *accountsScenario) *accountsWorld {
	w := &accountsWorld{Run: x, loose: sc.loose}
	for i := range w.caps {
		w.caps[i].Store(-1)
		w.parents[i].Store(-1)
	}
	for tenant, parent := range sc.parents {
		w.parents[tenant].Store(parent)
	}
	for tenant, most := range sc.caps {
		w.caps[tenant].Store(most)
	}
	x.Clock(&w.clock)
	opts := []Option{WithShares(nil), WithDebit(sc.debit), WithMaxInUse(func(tenant any) int64 {
		if i, ok := tenant.(int); ok {
			return w.caps[i].Load()
		}
		return -1
	})}
	if sc.parents != nil {
		opts = append(opts, WithParent(func(tenant any) any {
			if parent := int(w.parents[tenant.(int)].Load()); parent >= 0 {
				return parent
			}
			return nil
		}))
	}
	w.s = New(sc.size, opts...)
	w.a = w.s.p.(*accounts)
	x.Name("a", w.a)
	x.Always(w.check)
	return w
}

// check compares a state with the invariants.
func (w *accountsWorld) check() {
	if w.a.mu.Locked() {
		return
	}
	held := w.a.order.Held(nil)
	for i := range w.caps {
		n, most := w.a.order.Held(i), w.caps[i].Load()
		held += n
		for child := range w.parents {
			if int(w.parents[child].Load()) == i {
				n += w.a.order.Held(child)
			}
		}
		w.Assert(w.loose || most < 0 || n <= most, "tenant %d holds %d of at most %d", i, n, most)
	}
	w.Assert(w.a.free+held == w.a.size, "invariant 1: %d are free, and %d of %d held", w.a.free, held, w.a.size)
	w.Assert(w.many || !w.a.order.Fits(w.a.free), "invariant 2: a request waits, and is not served")
}

// requireIdle checks that nothing is lost, and nothing kept.
func (w *accountsWorld) requireIdle() {
	w.Assert(w.a.free == w.a.size && w.a.order.Len() == 0, "%d of %d permits are back", w.a.free, w.a.size)
	w.Assert(w.a.order.Accounts() == 0, "%d accounts are left", w.a.order.Accounts())
}

// use has a tenant acquire n permits, and give them back.
func (w *accountsWorld) use(tenant int, n int64) {
	w.useOr(context.Background(), tenant, n, nil)
}

// useOr is use of who may get the error instead.
func (w *accountsWorld) useOr(ctx context.Context, tenant int, n int64, may error) {
	err := w.s.As(tenant).Acquire(ctx, n)
	w.Assert(err == nil || errors.Is(err, may), "%v", err)
	if err == nil {
		w.s.As(tenant).Release(n)
	}
}

// hold has a tenant hold n permits.
func (w *accountsWorld) hold(tenant int, n int64) {
	w.Assert(w.s.As(tenant).TryAcquire(n), "not free")
}

// queue has a future of a tenant wait for n permits.
func (w *accountsWorld) queue(tenant int, n int64) *waiter.Future {
	f := new(waiter.Future)
	w.s.As(tenant).Bind(f, n)
	w.Assert(!f.Poll(nil), "it does not wait")
	return f
}

type accountsScenario struct {
	name    string
	size    int64
	caps    map[int]int64
	parents map[int]int64 // nil: tenants are flat
	loose   bool
	debit   Debit
	body    func(w *accountsWorld)
}

// within has tenants 1 and 2 within 0.
var within = map[int]int64{1: 0, 2: 0}

var accountsScenarios = []accountsScenario{
	// If the third were held up by the second, nobody would ever release.
	{name: "a cap holds up nobody", size: 3, caps: map[int]int64{1: 1}, body: func(w *accountsWorld) {
		w.hold(1, 1)
		done := interleave.NewSignal(1)
		w.Go("capped", func() { w.use(1, 1) })
		w.Go("other", func() { w.use(2, 2); done.TrySend() })
		w.Go("holder", func() { done.Receive(); w.s.As(1).Release(1) })
	}},
	{name: "tries", size: 2, caps: map[int]int64{1: 1}, body: func(w *accountsWorld) {
		for range 2 {
			w.Go("t", func() {
				if w.s.As(1).TryAcquire(1) {
					w.s.As(1).Release(1)
				}
			})
		}
		w.Go("a", func() { w.use(1, 1) })
	}},
	{name: "two of one tenant", size: 2, caps: map[int]int64{1: 1}, body: func(w *accountsWorld) {
		w.Go("a", func() { w.use(1, 1) })
		w.Go("b", func() { w.use(1, 1) })
		w.Go("c", func() { w.use(2, 2) })
	}},
	// If Update served nobody, nobody would ever release.
	{name: "a cap grows", size: 2, caps: map[int]int64{1: 1}, body: func(w *accountsWorld) {
		w.hold(1, 1)
		done := interleave.NewSignal(1)
		w.Go("capped", func() { w.use(1, 1); done.TrySend() })
		w.Go("updater", func() { w.caps[1].Store(2); w.s.As(1).Update() })
		w.Go("holder", func() { done.Receive(); w.s.As(1).Release(1) })
	}},
	{name: "a cap shrinks", size: 2, caps: map[int]int64{1: 2}, loose: true, body: func(w *accountsWorld) {
		w.hold(1, 1)
		w.Go("large", func() { w.useOr(context.Background(), 1, 2, ErrTooLarge) })
		w.Go("updater", func() { w.caps[1].Store(1); w.s.As(1).Update() })
		w.Go("holder", func() { w.s.As(1).Release(1) })
	}},
	{name: "a cap of nothing", size: 2, caps: map[int]int64{1: 1}, loose: true, body: func(w *accountsWorld) {
		w.hold(1, 1)
		w.Go("waiter", func() { w.useOr(context.Background(), 1, 1, ErrTooLarge) })
		w.Go("updater", func() { w.caps[1].Store(0); w.s.As(1).Update() })
		w.Go("other", func() { w.use(2, 1) })
		w.Go("holder", func() { w.s.As(1).Release(1) })
	}},
	{name: "a head leaves", size: 3, caps: map[int]int64{1: 2}, body: func(w *accountsWorld) {
		w.hold(1, 1)
		head := w.queue(1, 2)
		behind := w.queue(1, 1)
		w.Go("owner", func() { head.Release() })
		w.Go("holder", func() { w.s.As(1).Release(1) })
		w.Go("behind", func() { interleave.Receive(behind.Done()); behind.Release() })
	}},
	{name: "given up", size: 1, body: func(w *accountsWorld) {
		w.hold(1, 1)
		a, b := w.queue(2, 1), w.queue(0, 1)
		w.Go("holder", func() { w.s.As(1).Release(1) })
		w.Go("a", func() { a.Release() })
		w.Go("b", func() { b.Release() })
		w.Go("c", func() { w.use(1, 1) })
	}},
	{name: "timeout and cancel", size: 1, body: func(w *accountsWorld) {
		w.hold(1, 1)
		ctx := w.NewContext()
		w.Go("holder", func() { w.s.As(1).Release(1) })
		w.Go("hasty", func() {
			if w.s.As(2).AcquireTimeout(time.Second, 1) == nil {
				w.s.As(2).Release(1)
			}
		})
		w.Go("waiter", func() { w.useOr(ctx, 0, 1, context.Canceled) })
		w.Go("canceller", ctx.Cancel)
	}},
	{name: "close", size: 1, body: func(w *accountsWorld) {
		w.hold(1, 1)
		w.Go("holder", func() { w.s.As(1).Release(1) })
		w.Go("waiter", func() { w.useOr(context.Background(), 2, 1, ErrClosed) })
		w.Go("closer", w.s.Close)
	}},
	{name: "resize", size: 2, body: func(w *accountsWorld) {
		w.hold(1, 2)
		w.Go("holder", func() { w.s.As(1).Release(2) })
		w.Go("large", func() { w.useOr(context.Background(), 2, 2, ErrTooLarge) })
		w.Go("resizer", func() { w.s.Resize(1); w.s.Resize(3) })
	}},
	{name: "large among small", size: 2, body: func(w *accountsWorld) {
		w.Go("large", func() { w.use(0, 2) })
		w.Go("a", func() { w.use(1, 1) })
		w.Go("b", func() { w.use(2, 1) })
	}},
	{name: "time", size: 1, debit: DebitTime, body: func(w *accountsWorld) {
		w.Go("a", func() { w.use(1, 1); w.use(1, 1) })
		w.Go("b", func() { w.use(2, 1) })
		w.Go("clock", func() { w.clock.Add(5) })
	}},
	{name: "cost", size: 1, debit: DebitCost, body: func(w *accountsWorld) {
		for i := range 3 {
			w.Go("t", func() {
				w.Assert(w.s.As(i).Acquire(context.Background(), 1) == nil, "not acquired")
				w.s.As(i).ReleaseCost(1, int64(10*i))
			})
		}
	}},
	{name: "permit", size: 2, caps: map[int]int64{1: 2}, body: func(w *accountsWorld) {
		p, err := w.s.As(1).AcquirePermit(context.Background(), 2)
		w.Assert(err == nil, "%v", err)
		q := p.Split(1)
		w.Go("p", p.Release)
		w.Go("q", func() { q.Release(); q.Release() })
		w.Go("other", func() { w.use(1, 1) })
	}},
	{name: "a line that is full", size: 1, body: func(w *accountsWorld) {
		w.hold(1, 1)
		w.Go("holder", func() { w.s.As(1).Release(1) })
		w.Go("setter", func() { w.s.SetQueue(Queue{MaxWaiting: 1}) })
		w.Go("a", func() { w.useOr(context.Background(), 2, 1, ErrQueueFull) })
		w.Go("b", func() { w.useOr(context.Background(), 0, 1, ErrQueueFull) })
	}},
	{name: "futures that end at once", size: 1, caps: map[int]int64{1: 0}, body: func(w *accountsWorld) {
		w.Go("too large", func() {
			var f waiter.Future
			w.s.As(1).Bind(&f, 1)
			w.Assert(f.Poll(nil), "it waits")
			err := f.Err()
			w.Assert(errors.Is(err, ErrClosed) || err.Error() == (&capped{1, 0, 0}).Error(), "%v", err)
		})
		w.Go("nothing", func() {
			var f waiter.Future
			w.s.As(2).Bind(&f, 0)
			w.Assert(f.Poll(nil), "it waits for nothing")
			err := w.s.As(2).Acquire(context.Background(), 0)
			w.Assert(err == nil || errors.Is(err, ErrClosed), "%v", err)
			w.s.TryAcquire(0)
		})
		w.Go("closer", w.s.Close)
	}},
	// If the third were held up by the second, nobody would ever release.
	{name: "a cap of a parent holds up nobody", size: 3, caps: map[int]int64{0: 1}, parents: within, body: func(w *accountsWorld) {
		w.hold(1, 1)
		done := interleave.NewSignal(1)
		w.Go("capped", func() { w.use(2, 1) })
		w.Go("other", func() { w.use(3, 2); done.TrySend() })
		w.Go("holder", func() { done.Receive(); w.s.As(1).Release(1) })
	}},
	{name: "a cap of a parent grows", size: 2, caps: map[int]int64{0: 1}, parents: within, body: func(w *accountsWorld) {
		w.hold(1, 1)
		done := interleave.NewSignal(1)
		w.Go("capped", func() { w.use(2, 1); done.TrySend() })
		w.Go("updater", func() { w.caps[0].Store(2); w.s.As(0).Update() })
		w.Go("holder", func() { done.Receive(); w.s.As(1).Release(1) })
	}},
	{name: "a cap of a parent shrinks", size: 2, caps: map[int]int64{0: 2}, parents: within, loose: true, body: func(w *accountsWorld) {
		w.hold(1, 1)
		w.Go("large", func() { w.useOr(context.Background(), 2, 2, ErrTooLarge) })
		w.Go("updater", func() { w.caps[0].Store(1); w.s.As(0).Update() })
		w.Go("holder", func() { w.s.As(1).Release(1) })
	}},
	{name: "a parent and those within it", size: 2, caps: map[int]int64{0: 1}, parents: within, body: func(w *accountsWorld) {
		w.hold(0, 1)
		own := w.queue(0, 1)
		w.Go("within", func() { w.use(1, 1) })
		w.Go("own", func() { interleave.Receive(own.Done()); own.Release() })
		w.Go("holder", func() { w.s.As(0).Release(1) })
	}},
	{name: "large within a parent", size: 3, caps: map[int]int64{0: 2}, parents: within, body: func(w *accountsWorld) {
		w.Go("large", func() { w.use(1, 2) })
		w.Go("small", func() { w.use(2, 1) })
		w.Go("other", func() { w.use(3, 2) })
	}},
	{name: "given up within a parent", size: 1, parents: within, body: func(w *accountsWorld) {
		w.hold(1, 1)
		a, b := w.queue(2, 1), w.queue(3, 1)
		w.Go("holder", func() { w.s.As(1).Release(1) })
		w.Go("a", func() { a.Release() })
		w.Go("b", func() { b.Release() })
		w.Go("c", func() { w.use(0, 1) })
	}},
	{name: "tries within a parent", size: 2, caps: map[int]int64{0: 1}, parents: within, body: func(w *accountsWorld) {
		for i := range 2 {
			w.Go("t", func() {
				if w.s.As(1 + i).TryAcquire(1) {
					w.s.As(1 + i).Release(1)
				}
			})
		}
		w.Go("a", func() { w.use(1, 1) })
	}},
	{name: "a parent changes", size: 2, caps: map[int]int64{0: 1}, parents: within, loose: true, body: func(w *accountsWorld) {
		w.hold(1, 1)
		w.Go("holder", func() { w.s.As(1).Release(1) })
		w.Go("mover", func() { w.parents[1].Store(3); w.s.As(1).Update() })
		w.Go("a", func() { w.use(1, 1) })
		w.Go("b", func() { w.use(2, 1) })
	}},
	{name: "costs within a parent", size: 1, debit: DebitCost, parents: within, body: func(w *accountsWorld) {
		for i := range 3 {
			w.Go("t", func() {
				w.Assert(w.s.As(i+1).Acquire(context.Background(), 1) == nil, "not acquired")
				w.s.As(i+1).ReleaseCost(1, int64(10*i))
			})
		}
	}},
	// More than one step grants.
	{name: "many", size: 6, caps: map[int]int64{1: 6}, body: func(w *accountsWorld) {
		w.hold(1, 6)
		var all []*waiter.Future
		for range 6 {
			all = append(all, w.queue(2, 1))
		}
		w.many = true
		w.Go("holder", func() { w.s.As(1).Release(6) })
		w.Go("first", func() { all[0].Release() })
		w.Go("last", func() {
			for _, f := range all[1:] {
				interleave.Receive(f.Done())
				f.Release()
			}
		})
	}},
}

// In every schedule no tenant holds more than its cap, no permit is lost, none is idle while a
// request could have it, and nobody waits for ever.
func TestModelAccounts(t *testing.T) {
	o := interleave.Options{Mode: interleave.Bounded, Bound: 3}
	if testing.Short() || interleave.RaceEnabled {
		o.Bound = 2
	}
	for _, sc := range accountsScenarios {
		t.Run(sc.name, func(t *testing.T) {
			interleave.Check(t, o, func(x *interleave.Run) {
				w := newAccountsWorld(x, &sc)
				sc.body(w)
				x.Wait()
				w.requireIdle()
			})
		})
	}
}
