package fleettest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/store"
)

var losses = []func(w *world){
	aLostLease, anOperatorDeletesAnEntry, anOperatorChangesAnEntry, releaseAfterALoss,
	aFutureAfterALoss, aTryBesideALoss, permitsOfTheDeadComeBack,
	joinWhileAServerHangs,
}

func aLostLease(w *world) {
	s := w.semaphore(w.join(), 2)
	p, err := s.AcquirePermit(w.ctx, 1)
	w.noError(err)
	w.noError(s.Acquire(w.ctx, 1))
	w.noError(p.Context().Err())
	got := make(chan *fleet.Permit)
	go func() {
		q, err := s.AcquirePermit(w.ctx, 2)
		w.noError(err)
		got <- q
	}()
	w.eventually(func() bool { return s.Waiting() == 1 }, "it waits")
	var f fleet.Future
	s.Bind(&f, 1)
	w.check(!f.Poll(nil))
	w.revoke(p)
	w.lost(p)
	w.errorIs(context.Cause(p.Context()), fleet.ErrLost)
	w.check(!p.Valid())
	receive(w, f.Done())
	w.errorIs(f.Err(), fleet.ErrLost)
	f.Release()
	q := receive(w, got) // on a new lease
	w.check(q.Valid())
	w.check(p.Token().Lease != q.Token().Lease)
	w.check(q.Token().Compare(p.Token()) > 0)
	w.check(!slices.Contains(q.Token().Survivors, p.Token().Lease))
	p.Release()
	s.Release(1) // of the time before
	w.panics(func() { s.Release(1) })
	w.check(q.Valid(), "what was released was not its own")
	q.Release()
}

func anOperatorDeletesAnEntry(w *world) {
	s := w.semaphore(w.join(), 3)
	p, err := s.AcquirePermit(w.ctx, 1)
	w.noError(err)
	w.deleteEntries("semaphore")
	w.lost(p)
	q, err := s.AcquirePermit(w.ctx, 3)
	w.noError(err)
	w.check(q.Valid())
	w.equal(p.Token().Lease, q.Token().Lease, "the lease was not lost")
	p.Release()
	q.Release()
}

func anOperatorChangesAnEntry(w *world) {
	s := w.semaphore(w.join(), 3)
	p, err := s.AcquirePermit(w.ctx, 3)
	w.noError(err)
	e := w.state("semaphore", "s").Entries[0]
	w.write("semaphore", e.Lease, store.Op{Key: e.Key, Mod: e.Mod, Weight: 2})
	w.lost(p)
	w.errorIs(s.AcquireTimeout(30*time.Millisecond, 2), context.DeadlineExceeded, "the holder still runs")
	w.noError(s.Acquire(w.ctx, 1))
	p.Release()
	w.noError(s.Acquire(w.ctx, 2), "all has come back")
	s.Release(3)
}

func theWatchIsCompacted(w *world) {
	a, b := w.semaphore(w.join(), 1), w.semaphore(w.join(), 1)
	for range 5 {
		w.noError(a.Acquire(w.ctx, 1))
		a.Release(1)
		w.noError(b.Acquire(w.ctx, 1))
		b.Release(1)
		w.noError(w.Forget())
	}
}

// What is released is not always of the tenancy that it was acquired from.
func releaseAfterALoss(w *world) {
	s := w.semaphore(w.join(), 4)
	p, err := s.AcquirePermit(w.ctx, 1)
	w.noError(err)
	w.noError(s.Acquire(w.ctx, 3))
	w.revoke(p)
	w.lost(p)
	w.noError(s.Acquire(w.ctx, 1))
	s.Release(1)
	s.Release(3)
	p.Release()
	w.panics(func() { s.Release(1) })
	w.noError(s.Acquire(w.ctx, 4))
	s.Release(4)
}

// A future that has reported a loss asks for nothing more before Release.
func aFutureAfterALoss(w *world) {
	s := w.semaphore(w.join(), 1)
	var f fleet.Future
	s.Bind(&f, 1)
	receive(w, f.Done())
	w.noError(f.Err())
	w.deleteEntries("semaphore")
	w.eventually(func() bool { return f.Err() != nil }, "the loss is noticed")
	w.errorIs(f.Err(), fleet.ErrLost)
	receive(w, f.Done())
	w.noError(s.Acquire(w.ctx, 1), "the future has asked for nothing")
	s.Release(1)
	f.Release()
	f.Release()
}

// Who asks the fleet is answered, also if the lease is lost meanwhile.
func aTryBesideALoss(w *world) {
	s := w.semaphore(w.join(), 1)
	for range 5 {
		p, err := s.AcquirePermit(w.ctx, 1)
		w.noError(err)
		w.revoke(p)
		w.lost(p)
		q, err := s.TryAcquirePermit(w.ctx, 1)
		w.noError(err, "nobody else wants it")
		p.Release()
		q.Release()
	}
}

// What is asked for once the time of a session has run out is asked for with another lease, also if
// nobody has noticed yet. The old lease would keep the place until its end, and grant to nobody.
func anExpiredSessionAsksForNothing(w *world) {
	const ttl = 20 * time.Second // the clocks are looked at once a second
	s := w.semaphore(w.join(fleet.WithTTL(ttl)), 1)
	defer clock.Skew.Store(0)
	for i := range 2 {
		time.Sleep(100 * time.Millisecond) // it is at rest: it has not just looked at the clocks
		clock.Skew.Add(int64(ttl))         // the machine was suspended
		ctx, cancel := context.WithTimeout(w.ctx, ttl/2)
		p, err := s.AcquirePermit(ctx, 1)
		cancel()
		w.noError(err, "the place is taken until the old lease ends, at loss", i)
		w.check(p.Valid())
		p.Release()
		w.deleteEntries("semaphore") // so that it has to ask
		w.lost(p)
	}
}

// What a dead process held comes back.
func permitsOfTheDeadComeBack(w *world) {
	dead := w.Connect()
	lease, _, err := dead.Grant(w.ctx, w.TTL)
	w.noError(err)
	s := store.Session{Lease: lease, Who: "dead"}
	epoch, err := dead.Begin(w.ctx, s)
	w.noError(err)
	put := &store.Txn{Ops: []store.Op{{Key: store.Key{Lease: lease, Seq: 1}, Weight: 1}}}
	_, _, err = dead.Line("mutex", "s").Commit(w.ctx, s, epoch, put)
	w.noError(err)
	m, err := w.join().Mutex(w.ctx, "s")
	w.noError(err)
	p, err := m.Lock(w.ctx)
	w.noError(err)
	p.Release()
	_, _, err = dead.Renew(w.ctx, lease)
	w.errorIs(err, store.ErrEnded)
}

// A process joins, joins again after a loss, and leaves while one of three servers hangs, which are
// asked in turn: whichever of its requests meets that one.
func joinWhileAServerHangs(w *world) {
	for first := range int64(3) {
		x, asked := newWire(w.Connect()), int64(0)
		var hangs atomic.Int64
		hangs.Store(first)
		var mu sync.Mutex
		turn := func() int64 {
			mu.Lock()
			defer mu.Unlock()
			asked++
			return asked % 3
		}
		x.on(func(ctx context.Context, request string, _ func(context.Context)) error {
			if request != "watch" && request != "txn" && turn() == hangs.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		f, err := fleet.New(w.ctx, x, fleet.WithTTL(w.TTL))
		w.noError(err)
		m, err := f.Mutex(w.ctx, fmt.Sprint(first))
		w.noError(err)
		for server := range int64(3) {
			hangs.Store(server)
			p, err := m.Lock(w.ctx)
			w.noError(err)
			w.revoke(p)
			w.lost(p)
			p.Release()
			p, err = m.Lock(w.ctx)
			w.noError(err, "server", server, "hangs")
			p.Release()
		}
		hangs.Store((turn() + 1) % 3) // the next one
		_, err = f.Status(w.ctx)
		w.noError(err)
		hangs.Store((turn() + 1) % 3)
		w.noError(f.Close(w.ctx))
	}
}
