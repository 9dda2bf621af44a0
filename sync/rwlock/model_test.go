//go:build interleave

package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/sync/rwlock"
	"github.com/farad-go/farad/waiter"
)

// A section is what a lock under exploration protects. It counts the goroutines inside.
type section struct {
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
func (cs *section) enter(now, before int64) {
	n := cs.inside.Add(now - before)
	cs.Assert(n == oneWriter || n < 2*oneUpgradable, "inside are %d writers, %d upgradable readers, %d readers",
		n/oneWriter, n%oneWriter/oneUpgradable, n%oneUpgradable)
}

func (cs *section) leave(was int64) { cs.inside.Add(-was) }

func (cs *section) read() {
	cs.l.RLock()
	cs.enter(oneReader, 0)
	cs.leave(oneReader)
	cs.l.RUnlock()
}

func (cs *section) write() {
	cs.l.Lock()
	cs.enter(oneWriter, 0)
	cs.leave(oneWriter)
	cs.l.Unlock()
}

// readIf and writeIf are for ways in that may fail.
func (cs *section) readIf(ok bool) {
	if ok {
		cs.enter(oneReader, 0)
		cs.leave(oneReader)
		cs.l.RUnlock()
	}
}

func (cs *section) writeIf(ok bool) {
	if ok {
		cs.enter(oneWriter, 0)
		cs.leave(oneWriter)
		cs.l.Unlock()
	}
}

// upgradeIf is for a goroutine inside as upgradable reader.
func (cs *section) upgradeIf(ok bool) {
	if !ok {
		cs.leave(oneUpgradable)
		cs.l.UUnlock()
		return
	}
	cs.enter(oneWriter, oneUpgradable)
	cs.leave(oneWriter)
	cs.l.Unlock()
}

func (cs *section) uLock() {
	cs.l.ULock()
	cs.enter(oneUpgradable, 0)
}

// awaited is a future that is waited for by its channel.
func (cs *section) awaited(bind func(*rwlock.RWLock, *waiter.Future)) {
	var f waiter.Future
	bind(cs.l, &f)
	interleave.Receive(f.Done())
	cs.Assert(f.Take() == nil, "not locked")
}

// dropped is one that is polled once and given up.
func (cs *section) dropped(bind func(*rwlock.RWLock, *waiter.Future)) {
	var f waiter.Future
	bind(cs.l, &f)
	f.Poll(nil)
	f.Release()
}

type scenario struct {
	name  string
	long  bool // not for -short
	large bool // not for -short, and under a bound
	wide  bool // the same, but of biased locks only: there it has many more interleavings
	slow  bool // not for -short, of biased locks only
	body  func(cs *section)
}

func (cs *section) threads(fs ...func()) {
	for i, f := range fs {
		cs.Go("t"+string(rune('1'+i)), f)
	}
}

// Each runs with the plain lock and with the biased one.
var scenarios = []scenario{
	{name: "read and write", body: func(cs *section) { cs.threads(cs.read, cs.write) }},
	{
		name: "reads and write",
		wide: true,
		body: func(cs *section) { cs.Same(2, "reader", func(int) { cs.read() }); cs.Go("writer", cs.write) },
	},
	{name: "read twice and write", body: func(cs *section) {
		cs.threads(func() { cs.read(); cs.read() }, cs.write)
	}},
	{
		name: "writes and read",
		long: true,
		wide: true,
		body: func(cs *section) { cs.Same(2, "writer", func(int) { cs.write() }); cs.Go("reader", cs.read) },
	},
	{name: "write twice and read", slow: true, body: func(cs *section) { cs.threads(func() { cs.write(); cs.write() }, cs.read) }},
	{name: "two and two", large: true, body: func(cs *section) {
		cs.Same(2, "reader", func(int) { cs.read() })
		cs.Same(2, "writer", func(int) { cs.write() })
	}},
	{name: "reads twice and write", large: true, body: func(cs *section) {
		cs.Same(2, "reader", func(int) { cs.read(); cs.read() })
		cs.Go("writer", cs.write)
	}},
	{name: "three reads and write", large: true, body: func(cs *section) {
		cs.Same(3, "reader", func(int) { cs.read() })
		cs.Go("writer", cs.write)
	}},
	// A reader goes, and one that came before it stays. Which slot or permit is given back must not
	// matter.
	{name: "overlapping reads and write", long: true, wide: true, body: func(cs *section) {
		cs.l.RLock()
		cs.enter(oneReader, 0)
		cs.threads(cs.read, func() { cs.leave(oneReader); cs.l.RUnlock() }, cs.write)
	}},
	// One reader is counted, since it came while a writer was there, and one hides.
	{name: "late read", large: true, body: func(cs *section) {
		cs.threads(cs.read, cs.write, func() { cs.write(); cs.read() })
	}},

	{name: "try", wide: true, body: func(cs *section) {
		cs.threads(func() { cs.readIf(cs.l.TryRLock()) }, func() { cs.writeIf(cs.l.TryLock()) }, cs.read)
	}},
	{name: "try and write", wide: true, body: func(cs *section) {
		cs.threads(func() { cs.readIf(cs.l.TryRLock()) }, func() { cs.writeIf(cs.l.TryLock()) }, cs.write)
	}},
	// Where no goroutine waits and no writer holds, a try to read must not fail; while the bias was
	// ended it did.
	{name: "try read beside a try to write", body: func(cs *section) {
		cs.l.RLock()
		cs.threads(func() { cs.Assert(!cs.l.TryLock(), "a writer beside a reader") }, func() {
			cs.Assert(cs.l.TryRLock(), "not let in beside a reader")
			cs.l.RUnlock()
		})
		cs.after = cs.l.RUnlock
	}},
	{name: "read beside reads and a try to write", body: func(cs *section) { // the reads fill the table of hidden readers
		cs.l.RLock()
		cs.l.RLock()
		cs.threads(cs.read, func() { cs.Assert(!cs.l.TryLock(), "a writer beside readers") })
		cs.after = func() {
			cs.l.RUnlock()
			cs.l.RUnlock()
		}
	}},
	{name: "try read beside reads", wide: true, body: func(cs *section) {
		cs.l.RLock()
		cs.l.RLock()
		cs.Same(2, "leaves", func(int) { cs.l.RUnlock() })
		cs.Go("tries", func() {
			cs.read()
			cs.Assert(cs.l.TryRLock(), "not let in beside readers")
			cs.l.RUnlock()
		})
	}},

	{name: "timeout", wide: true, body: func(cs *section) {
		cs.threads(
			func() { cs.readIf(cs.l.RLockTimeout(time.Second)) },
			cs.write,
			func() { cs.writeIf(cs.l.LockTimeout(time.Second)) },
		)
	}},
	// The readers behind a writer that gives up are let in at once, beside those that hold.
	{name: "writer gives up", body: func(cs *section) {
		cs.l.RLock()
		cs.threads(func() { cs.writeIf(cs.l.LockTimeout(time.Second)) }, cs.read)
		cs.after = cs.l.RUnlock
	}},
	{name: "context", body: func(cs *section) {
		ctx := cs.NewContext()
		cs.threads(
			func() { cs.readIf(cs.l.RLockContext(ctx) == nil) },
			func() { cs.writeIf(cs.l.LockContext(ctx) == nil) },
			ctx.Cancel,
		)
	}},
	{name: "future", body: func(cs *section) {
		cs.threads(
			func() { cs.awaited((*rwlock.RWLock).BindRead); cs.readIf(true) },
			func() { cs.awaited((*rwlock.RWLock).Bind); cs.writeIf(true) },
		)
	}},
	{name: "future dropped", long: true, wide: true, body: func(cs *section) {
		cs.threads(
			func() { cs.dropped((*rwlock.RWLock).BindRead) },
			func() { cs.dropped((*rwlock.RWLock).Bind) },
			cs.read,
		)
	}},
	{name: "future dropped and write", body: func(cs *section) {
		cs.threads(func() { cs.dropped((*rwlock.RWLock).BindRead) }, cs.write)
	}},

	// What two futures have been granted in one batch and both refuse comes back as two shares. It
	// was returned as one, which cannot be held: Unlock panicked.
	{name: "futures dropped behind a write", body: func(cs *section) {
		cs.l.Lock()
		cs.threads(cs.l.Unlock, func() {
			var f, g waiter.Future
			cs.l.BindRead(&f)
			cs.l.BindRead(&g)
			f.Poll(nil)
			g.Poll(nil)
			f.Release()
			g.Release()
		})
	}},
	{name: "upgradable future dropped behind a write", body: func(cs *section) {
		cs.l.Lock()
		cs.threads(cs.l.Unlock, func() {
			var f, g waiter.Future
			cs.l.BindUpgradable(&f)
			cs.l.BindRead(&g)
			f.Poll(nil)
			g.Poll(nil)
			f.Release()
			g.Release()
		})
	}},

	{name: "downgrade", wide: true, body: func(cs *section) {
		cs.threads(func() {
			cs.l.Lock()
			cs.enter(oneWriter, 0)
			cs.enter(oneReader, oneWriter)
			cs.l.Downgrade()
			cs.leave(oneReader)
			cs.l.RUnlock()
		}, cs.read, cs.write)
	}},
	{name: "downgrade to upgradable", long: true, wide: true, body: func(cs *section) {
		cs.threads(func() {
			cs.l.Lock()
			cs.enter(oneWriter, 0)
			cs.enter(oneUpgradable, oneWriter)
			cs.l.DowngradeToUpgradable()
			cs.upgradeIf(cs.l.TryUpgrade())
		}, cs.read, cs.write)
	}},
	{name: "upgradable and read", wide: true, body: func(cs *section) {
		cs.threads(func() { cs.uLock(); cs.upgradeIf(false) }, cs.read, cs.write)
	}},
	{name: "upgrade against upgrade", body: func(cs *section) {
		cs.Same(2, "upgrader", func(int) {
			cs.uLock()
			cs.l.Upgrade()
			cs.upgradeIf(true)
		})
	}},
	{name: "upgrades and read", long: true, wide: true, body: func(cs *section) {
		cs.Same(2, "upgrader", func(int) {
			cs.uLock()
			cs.l.Upgrade()
			cs.upgradeIf(true)
		})
		cs.Go("reader", cs.read)
	}},
	// No goroutine writes between what an upgradable reader has read and what it writes.
	{name: "upgrade passes writers", wide: true, body: func(cs *section) {
		var written interleave.Int32
		cs.threads(func() {
			cs.uLock()
			n := written.Load()
			cs.l.Upgrade()
			cs.enter(oneWriter, oneUpgradable)
			cs.Assert(written.Load() == n, "a goroutine has written in between")
			cs.leave(oneWriter)
			cs.l.Unlock()
		}, func() {
			cs.l.Lock()
			cs.enter(oneWriter, 0)
			written.Add(1)
			cs.leave(oneWriter)
			cs.l.Unlock()
		}, cs.read)
	}},
	{name: "try upgrade", wide: true, body: func(cs *section) {
		cs.threads(func() { cs.uLock(); cs.upgradeIf(cs.l.TryUpgrade()) }, cs.read, cs.write)
	}},
	{name: "upgrade with timeout", long: true, wide: true, body: func(cs *section) {
		cs.threads(func() { cs.uLock(); cs.upgradeIf(cs.l.UpgradeTimeout(time.Second)) }, cs.read, cs.write)
	}},
	{name: "upgrade with context", body: func(cs *section) {
		ctx := cs.NewContext()
		cs.threads(func() { cs.uLock(); cs.upgradeIf(cs.l.UpgradeContext(ctx) == nil) }, cs.read, ctx.Cancel)
	}},
	{name: "upgrade, and a cancel before the last reader leaves", body: func(cs *section) {
		ctx, ended := cs.NewContext(), false
		cs.threads(func() {
			cs.uLock()
			ok := cs.l.UpgradeContext(ctx) == nil
			cs.Assert(!ok || !ended, "upgraded, though the context had ended before the last reader left")
			cs.upgradeIf(ok)
		}, func() {
			cs.l.RLock()
			ctx.Cancel()
			ended = true
			cs.l.RUnlock()
		})
	}},
	{name: "upgradable with timeout", long: true, wide: true, body: func(cs *section) {
		cs.threads(func() {
			if cs.l.ULockTimeout(time.Second) {
				cs.enter(oneUpgradable, 0)
				cs.enter(oneReader, oneUpgradable)
				cs.l.ForgoUpgrade()
				cs.leave(oneReader)
				cs.l.RUnlock()
			}
		}, cs.read, cs.write)
	}},

	{name: "double unlock", body: func(cs *section) { cs.l.Lock(); cs.onePanics(cs.l.Unlock) }},
	{name: "double read unlock", body: func(cs *section) { cs.l.RLock(); cs.onePanics(cs.l.RUnlock) }},
	{name: "double read unlock beside a read", body: func(cs *section) {
		// Of three unlocks of two reads one panics, whichever it is.
		cs.l.RLock()
		var panics interleave.Int32
		cs.Go("reader", func() {
			cs.l.RLock()
			if interleave.Panics(cs.l.RUnlock) != nil {
				panics.Add(1)
			}
		})
		cs.Same(2, "unlocker", func(int) {
			if interleave.Panics(cs.l.RUnlock) != nil {
				panics.Add(1)
			}
		})
		cs.after = func() { cs.Assert(panics.Load() == 1, "%d panics", panics.Load()) }
	}},
}

// onePanics has two unlock what is locked once.
func (cs *section) onePanics(unlock func()) {
	var panics interleave.Int32
	cs.Same(2, "unlocker", func(int) {
		if interleave.Panics(unlock) != nil {
			panics.Add(1)
		}
	})
	cs.after = func() { cs.Assert(panics.Load() == 1, "%d panics", panics.Load()) }
}

func TestModelRW(t *testing.T) {
	modelKinds(t, func(t *testing.T, biased bool) {
		for _, s := range scenarios {
			t.Run(s.name, func(t *testing.T) { s.check(t, biased) })
		}
	})
}

func (s scenario) check(t *testing.T, biased bool) {
	t.Helper()
	var o interleave.Options
	if s.large || s.wide && biased {
		o = interleave.Options{Mode: interleave.Bounded, Bound: 3}
	}
	if s.large && biased {
		o.Bound = 2 // with 3 it takes minutes
	}
	if (s.long || s.slow && biased || o.Bound > 0) && (testing.Short() || interleave.RaceEnabled) {
		t.Skip("tier two")
	}
	interleave.Check(t, o, func(x *interleave.Run) {
		cs := &section{Run: x, l: newLock(biased)}
		x.Name("l", cs.l)
		x.Name("inside", &cs.inside)
		s.body(cs)
		x.Wait()
		if cs.after != nil {
			cs.after()
		}
		x.Assert(cs.l.Waiting() == 0, "a goroutine still waits")
		x.Assert(cs.l.TryLock(), "the lock was lost")
		x.Assert(!cs.l.TryRLock(), "a reader beside a writer")
		cs.l.Unlock()
		x.Assert(cs.l.LockContext(context.Background()) == nil, "a flag was left")
		cs.l.Unlock()
	})
}

// The histories are those of a fair semaphore, of which a writer takes all permits.
func TestModelHistories(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) { rwtest.RunHistories(t, contractOf(k.make)) })
	}
}

func newLock(biased bool) *rwlock.RWLock {
	if biased {
		return rwlock.NewBiased()
	}
	return new(rwlock.RWLock)
}

// modelKinds runs f for the plain lock and for the biased one.
func modelKinds(t *testing.T, f func(t *testing.T, biased bool)) {
	t.Helper()
	t.Run("plain", func(t *testing.T) { f(t, false) })
	t.Run("bias", func(t *testing.T) { f(t, true) })
}
