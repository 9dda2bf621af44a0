//go:build interleave

package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/sync/rwlock"
)

// A room is what a lock under exploration protects. It counts the goroutines inside.
type room struct {
	*interleave.Run
	l *rwlock.RWLock

	inside interleave.Int64
	after  func() // what is left to do when all threads have ended; nil: nothing
}

const (
	oneReader     = 1
	oneUpgradable = 1 << 10
	oneWriter     = 1 << 20
)

// enter counts a thread as inside. With an upgrade or a downgrade it was inside as something else.
func (r *room) enter(now, before int64) {
	n := r.inside.Add(now - before)
	r.Assert(n == oneWriter || n < 2*oneUpgradable, "inside are %d writers, %d upgradable readers, %d readers",
		n/oneWriter, n%oneWriter/oneUpgradable, n%oneUpgradable)
}

func (r *room) leave(was int64) { r.inside.Add(-was) }

func (r *room) read() {
	r.l.RLock()
	r.enter(oneReader, 0)
	r.leave(oneReader)
	r.l.RUnlock()
}

func (r *room) write() {
	r.l.Lock()
	r.enter(oneWriter, 0)
	r.leave(oneWriter)
	r.l.Unlock()
}

// readIf and writeIf are for ways in that may fail.
func (r *room) readIf(ok bool) {
	if ok {
		r.enter(oneReader, 0)
		r.leave(oneReader)
		r.l.RUnlock()
	}
}

func (r *room) writeIf(ok bool) {
	if ok {
		r.enter(oneWriter, 0)
		r.leave(oneWriter)
		r.l.Unlock()
	}
}

// upgradeIf is for a goroutine inside as upgradable reader.
func (r *room) upgradeIf(ok bool) {
	if !ok {
		r.leave(oneUpgradable)
		r.l.UUnlock()
		return
	}
	r.enter(oneWriter, oneUpgradable)
	r.leave(oneWriter)
	r.l.Unlock()
}

func (r *room) uLock() {
	r.l.ULock()
	r.enter(oneUpgradable, 0)
}

// awaited is a future that is waited for by its channel.
func (r *room) awaited(init func(*rwlock.LockFuture, *rwlock.RWLock)) {
	var f rwlock.LockFuture
	init(&f, r.l)
	interleave.Receive(f.Done())
	r.Assert(f.Err() == nil, "not locked")
}

// dropped is one that is polled once and given up.
func (r *room) dropped(init func(*rwlock.LockFuture, *rwlock.RWLock)) {
	var f rwlock.LockFuture
	init(&f, r.l)
	f.Poll(nil)
	f.Cancel()
}

type scenario struct {
	name  string
	long  bool // not for -short
	large bool // not for -short, and under a bound
	wide  bool // the same, but of biased locks only: there it has many more interleavings
	body  func(r *room)
}

func (r *room) threads(fs ...func()) {
	for i, f := range fs {
		r.Go("t"+string(rune('1'+i)), f)
	}
}

// Each runs with the plain lock and with the biased one.
var scenarios = []scenario{
	{name: "read and write", body: func(r *room) { r.threads(r.read, r.write) }},
	{
		name: "reads and write",
		wide: true,
		body: func(r *room) { r.Same(2, "reader", func(int) { r.read() }); r.Go("writer", r.write) },
	},
	{name: "read twice and write", body: func(r *room) {
		r.threads(func() { r.read(); r.read() }, r.write)
	}},
	{
		name: "writes and read",
		long: true,
		body: func(r *room) { r.Same(2, "writer", func(int) { r.write() }); r.Go("reader", r.read) },
	},
	{name: "write twice and read", body: func(r *room) { r.threads(func() { r.write(); r.write() }, r.read) }},
	{name: "two and two", large: true, body: func(r *room) {
		r.Same(2, "reader", func(int) { r.read() })
		r.Same(2, "writer", func(int) { r.write() })
	}},
	{name: "reads twice and write", large: true, body: func(r *room) {
		r.Same(2, "reader", func(int) { r.read(); r.read() })
		r.Go("writer", r.write)
	}},
	{name: "three reads and write", large: true, body: func(r *room) {
		r.Same(3, "reader", func(int) { r.read() })
		r.Go("writer", r.write)
	}},
	// A reader goes, and one that came before it stays. Which slot or permit is given back must not
	// matter.
	{name: "overlapping reads and write", long: true, body: func(r *room) {
		r.l.RLock()
		r.enter(oneReader, 0)
		r.threads(r.read, func() { r.leave(oneReader); r.l.RUnlock() }, r.write)
	}},
	// One reader is counted, since it came while a writer was there, and one hides.
	{name: "late read", large: true, body: func(r *room) {
		r.threads(r.read, r.write, func() { r.write(); r.read() })
	}},

	{name: "try", wide: true, body: func(r *room) {
		r.threads(func() { r.readIf(r.l.TryRLock()) }, func() { r.writeIf(r.l.TryLock()) }, r.read)
	}},
	{name: "try and write", body: func(r *room) {
		r.threads(func() { r.readIf(r.l.TryRLock()) }, func() { r.writeIf(r.l.TryLock()) }, r.write)
	}},
	// Where no goroutine waits and no writer holds, a try to read must not fail; while the bias was
	// ended it did.
	{name: "try read beside a try to write", body: func(r *room) {
		r.l.RLock()
		r.threads(func() { r.Assert(!r.l.TryLock(), "a writer beside a reader") }, func() {
			r.Assert(r.l.TryRLock(), "not let in beside a reader")
			r.l.RUnlock()
		})
		r.after = r.l.RUnlock
	}},
	{name: "read beside reads and a try to write", body: func(r *room) { // the reads fill the table of hidden readers
		r.l.RLock()
		r.l.RLock()
		r.threads(r.read, func() { r.Assert(!r.l.TryLock(), "a writer beside readers") })
		r.after = func() {
			r.l.RUnlock()
			r.l.RUnlock()
		}
	}},
	{name: "try read beside reads", wide: true, body: func(r *room) {
		r.l.RLock()
		r.l.RLock()
		r.Same(2, "leaves", func(int) { r.l.RUnlock() })
		r.Go("tries", func() {
			r.read()
			r.Assert(r.l.TryRLock(), "not let in beside readers")
			r.l.RUnlock()
		})
	}},

	{name: "timeout", wide: true, body: func(r *room) {
		r.threads(
			func() { r.readIf(r.l.RLockTimeout(time.Second)) },
			r.write,
			func() { r.writeIf(r.l.LockTimeout(time.Second)) },
		)
	}},
	// The readers behind a writer that gives up are let in at once, beside those that hold.
	{name: "writer gives up", body: func(r *room) {
		r.l.RLock()
		r.threads(func() { r.writeIf(r.l.LockTimeout(time.Second)) }, r.read)
		r.after = r.l.RUnlock
	}},
	{name: "context", body: func(r *room) {
		ctx := r.NewContext()
		r.threads(
			func() { r.readIf(r.l.RLockContext(ctx) == nil) },
			func() { r.writeIf(r.l.LockContext(ctx) == nil) },
			ctx.Cancel,
		)
	}},
	{name: "future", body: func(r *room) {
		r.threads(
			func() { r.awaited((*rwlock.LockFuture).InitRead); r.readIf(true) },
			func() { r.awaited((*rwlock.LockFuture).Init); r.writeIf(true) },
		)
	}},
	{name: "future dropped", long: true, wide: true, body: func(r *room) {
		r.threads(
			func() { r.dropped((*rwlock.LockFuture).InitRead) },
			func() { r.dropped((*rwlock.LockFuture).Init) },
			r.read,
		)
	}},
	{name: "future dropped and write", body: func(r *room) {
		r.threads(func() { r.dropped((*rwlock.LockFuture).InitRead) }, r.write)
	}},

	// What two futures have been granted in one batch and both refuse comes back as two shares. It
	// was returned as one, which cannot be held: Unlock panicked.
	{name: "futures dropped behind a write", body: func(r *room) {
		r.l.Lock()
		r.threads(r.l.Unlock, func() {
			var f, g rwlock.LockFuture
			f.InitRead(r.l)
			g.InitRead(r.l)
			f.Poll(nil)
			g.Poll(nil)
			f.Cancel()
			g.Cancel()
		})
	}},
	{name: "upgradable future dropped behind a write", body: func(r *room) {
		r.l.Lock()
		r.threads(r.l.Unlock, func() {
			var f, g rwlock.LockFuture
			f.InitU(r.l)
			g.InitRead(r.l)
			f.Poll(nil)
			g.Poll(nil)
			f.Cancel()
			g.Cancel()
		})
	}},

	{name: "downgrade", wide: true, body: func(r *room) {
		r.threads(func() {
			r.l.Lock()
			r.enter(oneWriter, 0)
			r.enter(oneReader, oneWriter)
			r.l.Downgrade()
			r.leave(oneReader)
			r.l.RUnlock()
		}, r.read, r.write)
	}},
	{name: "downgrade to upgradable", wide: true, body: func(r *room) {
		r.threads(func() {
			r.l.Lock()
			r.enter(oneWriter, 0)
			r.enter(oneUpgradable, oneWriter)
			r.l.DowngradeToUpgradable()
			r.upgradeIf(r.l.TryUpgrade())
		}, r.read, r.write)
	}},
	{name: "upgradable and read", wide: true, body: func(r *room) {
		r.threads(func() { r.uLock(); r.upgradeIf(false) }, r.read, r.write)
	}},
	{name: "upgrade against upgrade", body: func(r *room) {
		r.Same(2, "upgrader", func(int) {
			r.uLock()
			r.l.Upgrade()
			r.upgradeIf(true)
		})
	}},
	{name: "upgrades and read", long: true, wide: true, body: func(r *room) {
		r.Same(2, "upgrader", func(int) {
			r.uLock()
			r.l.Upgrade()
			r.upgradeIf(true)
		})
		r.Go("reader", r.read)
	}},
	// No goroutine writes between what an upgradable reader has read and what it writes.
	{name: "upgrade passes writers", wide: true, body: func(r *room) {
		var written interleave.Int32
		r.threads(func() {
			r.uLock()
			n := written.Load()
			r.l.Upgrade()
			r.enter(oneWriter, oneUpgradable)
			r.Assert(written.Load() == n, "a goroutine has written in between")
			r.leave(oneWriter)
			r.l.Unlock()
		}, func() {
			r.l.Lock()
			r.enter(oneWriter, 0)
			written.Add(1)
			r.leave(oneWriter)
			r.l.Unlock()
		}, r.read)
	}},
	{name: "try upgrade", wide: true, body: func(r *room) {
		r.threads(func() { r.uLock(); r.upgradeIf(r.l.TryUpgrade()) }, r.read, r.write)
	}},
	{name: "upgrade with timeout", long: true, wide: true, body: func(r *room) {
		r.threads(func() { r.uLock(); r.upgradeIf(r.l.UpgradeTimeout(time.Second)) }, r.read, r.write)
	}},
	{name: "upgrade with context", body: func(r *room) {
		ctx := r.NewContext()
		r.threads(func() { r.uLock(); r.upgradeIf(r.l.UpgradeContext(ctx) == nil) }, r.read, ctx.Cancel)
	}},
	{name: "upgrade, and a cancel before the last reader leaves", body: func(r *room) {
		ctx, ended := r.NewContext(), false
		r.threads(func() {
			r.uLock()
			ok := r.l.UpgradeContext(ctx) == nil
			r.Assert(!ok || !ended, "upgraded, though the context had ended before the last reader left")
			r.upgradeIf(ok)
		}, func() {
			r.l.RLock()
			ctx.Cancel()
			ended = true
			r.l.RUnlock()
		})
	}},
	{name: "upgradable with timeout", long: true, wide: true, body: func(r *room) {
		r.threads(func() {
			if r.l.ULockTimeout(time.Second) {
				r.enter(oneUpgradable, 0)
				r.enter(oneReader, oneUpgradable)
				r.l.ForgoUpgrade()
				r.leave(oneReader)
				r.l.RUnlock()
			}
		}, r.read, r.write)
	}},

	{name: "double unlock", body: func(r *room) { r.l.Lock(); r.onePanics(r.l.Unlock) }},
	{name: "double read unlock", body: func(r *room) { r.l.RLock(); r.onePanics(r.l.RUnlock) }},
	{name: "double read unlock beside a read", body: func(r *room) {
		// Of three unlocks of two reads one panics, whichever it is.
		r.l.RLock()
		var panics interleave.Int32
		r.Go("reader", func() {
			r.l.RLock()
			if interleave.Panics(r.l.RUnlock) != nil {
				panics.Add(1)
			}
		})
		r.Same(2, "unlocker", func(int) {
			if interleave.Panics(r.l.RUnlock) != nil {
				panics.Add(1)
			}
		})
		r.after = func() { r.Assert(panics.Load() == 1, "%d panics", panics.Load()) }
	}},
}

// onePanics has two unlock what is locked once.
func (r *room) onePanics(unlock func()) {
	var panics interleave.Int32
	r.Same(2, "unlocker", func(int) {
		if interleave.Panics(unlock) != nil {
			panics.Add(1)
		}
	})
	r.after = func() { r.Assert(panics.Load() == 1, "%d panics", panics.Load()) }
}

func TestModelRW(t *testing.T) {
	modelKinds(t, func(t *testing.T, opts []rwlock.Option) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) { s.check(t, opts) })
		}
	})
}

func (s scenario) check(t *testing.T, opts []rwlock.Option) {
	t.Helper()
	var o interleave.Options
	if s.large || s.wide && opts != nil {
		o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
	}
	if s.large && opts != nil {
		o.Bound = 2 // with 3 it takes minutes
	}
	if (s.long || o.Bound > 0) && (testing.Short() || interleave.RaceEnabled) {
		t.Skip("tier two")
	}
	interleave.Check(t, o, func(x *interleave.Run) {
		r := &room{Run: x, l: rwlock.New(opts...)}
		x.Name("l", r.l)
		x.Name("inside", &r.inside)
		s.body(r)
		x.Wait()
		if r.after != nil {
			r.after()
		}
		x.Assert(r.l.Waiting() == 0, "a goroutine still waits")
		x.Assert(r.l.TryLock(), "the lock was lost")
		x.Assert(!r.l.TryRLock(), "a reader beside a writer")
		r.l.Unlock()
		x.Assert(r.l.LockContext(context.Background()) == nil, "a flag was left")
		r.l.Unlock()
	})
}

// The histories are those of a fair semaphore, of which a writer takes all permits.
func TestModelHistories(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { rwtest.RunHistories(t, contractOf(k.make)) })
	}
}

// modelKinds runs f for the plain lock and for the biased one.
func modelKinds(t *testing.T, f func(t *testing.T, opts []rwlock.Option)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) { f(t, nil) })
	t.Run("bias", func(t *testing.T) { f(t, []rwlock.Option{rwlock.WithReaderBias()}) })
}
