package storetest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// A defect is what one kind of store does wrong. What is nil it does right.
type defect struct {
	begin    func(ctx context.Context, m *memstore.Server, s store.Store, o store.Session) (int64, error)
	revoke   func(ctx context.Context, s store.Store, lease int64) error
	renew    func(ctx context.Context, s store.Store, lease int64) (time.Duration, int64, error)
	grant    func(ctx context.Context, s store.Store, ttl time.Duration) (int64, time.Duration, error)
	revision func(ctx context.Context, s store.Source) (int64, error)
	sessions func(all []store.Session) []store.Session
	line     func(s store.Store, kind, name string) store.Line
	read     func(ctx context.Context, l store.Line) (store.State, error)
	fence    func(ctx context.Context, l store.Line, s store.Session) (store.State, int64, error)
	size     func(ctx context.Context, l store.Line, size, mod int64, unused bool) (store.State, bool, error)
	update   func(u store.Update, yield func(store.Update) bool) bool
	watch    func(after int64, signs <-chan struct{}) (int64, <-chan struct{})
	state    func(st *store.State)
	commit   func(
		ctx context.Context, m *memstore.Server, l store.Line, s store.Session, epoch int64, t *store.Txn,
	) (store.State, int64, error)
}

// A broken is a store with a defect.
type broken struct {
	*memstore.Store
	m *memstore.Server
	*defect
}

func (b broken) Begin(ctx context.Context, o store.Session) (int64, error) {
	if b.begin != nil {
		return b.begin(ctx, b.m, b.Store, o)
	}
	return b.Store.Begin(ctx, o)
}

func (b broken) Revoke(ctx context.Context, lease int64) error {
	if b.revoke != nil {
		return b.revoke(ctx, b.Store, lease)
	}
	return b.Store.Revoke(ctx, lease)
}

func (b broken) Grant(ctx context.Context, ttl time.Duration) (int64, time.Duration, error) {
	if b.grant != nil {
		return b.grant(ctx, b.Store, ttl)
	}
	return b.Store.Grant(ctx, ttl)
}

func (b broken) Renew(ctx context.Context, lease int64) (time.Duration, int64, error) {
	if b.renew != nil {
		return b.renew(ctx, b.Store, lease)
	}
	return b.Store.Renew(ctx, lease)
}

// A brokenWay renews as the store does.
type brokenWay struct {
	store.Way
	b broken
}

func (w brokenWay) Renew(ctx context.Context, lease int64) (time.Duration, int64, error) {
	return w.b.Renew(ctx, lease)
}

func (b broken) Way(name string) store.Way { return brokenWay{b.Store.Way(name), b} }

func (b broken) Sessions(ctx context.Context) ([]store.Session, error) {
	all, err := b.Store.Sessions(ctx)
	if b.sessions != nil {
		all = b.sessions(all)
	}
	return all, err
}

func (b broken) Revision(ctx context.Context) (int64, error) {
	if b.revision != nil {
		return b.revision(ctx, b.Store)
	}
	return b.Store.Revision(ctx)
}

func (b broken) Watch(ctx context.Context, after int64, signs <-chan struct{}, yield func(store.Update) bool) error {
	return b.watched(ctx, b.Store, after, signs, yield)
}

func (d *defect) watched(
	ctx context.Context, s store.Source, after int64, signs <-chan struct{}, yield func(store.Update) bool,
) error {
	if d.watch != nil {
		after, signs = d.watch(after, signs)
	}
	return s.Watch(ctx, after, signs, func(u store.Update) bool {
		if d.update != nil {
			return d.update(u, yield)
		}
		return yield(u)
	})
}

func (b broken) Line(kind, name string) store.Line {
	if b.line != nil {
		return brokenLine{b.line(b.Store, kind, name), b}
	}
	return brokenLine{b.Store.Line(kind, name), b}
}

type brokenLine struct {
	store.Line
	broken
}

func (l brokenLine) ID() string { return l.Line.ID() }

func (l brokenLine) Revision(ctx context.Context) (int64, error) { return l.Line.Revision(ctx) }

func (l brokenLine) Watch(
	ctx context.Context, after int64, signs <-chan struct{}, yield func(store.Update) bool,
) error {
	return l.watched(ctx, l.Line, after, signs, yield)
}

// seen is a state as the defect shows it.
func (d *defect) seen(st store.State, err error) (store.State, error) {
	if d.state != nil && err == nil {
		d.state(&st)
	}
	return st, err
}

func (l brokenLine) Read(ctx context.Context) (store.State, error) {
	if l.read != nil {
		return l.read(ctx, l.Line)
	}
	return l.seen(l.Line.Read(ctx))
}

func (l brokenLine) Commit(
	ctx context.Context, s store.Session, epoch int64, t *store.Txn,
) (st store.State, now int64, err error) {
	if l.commit != nil {
		st, now, err = l.commit(ctx, l.m, l.Line, s, epoch, t)
	} else {
		st, now, err = l.Line.Commit(ctx, s, epoch, t)
	}
	st, err = l.seen(st, err)
	return st, now, err
}

func (l brokenLine) Fence(ctx context.Context, s store.Session) (st store.State, epoch int64, err error) {
	if l.fence != nil {
		return l.fence(ctx, l.Line, s)
	}
	st, epoch, err = l.Line.Fence(ctx, s)
	st, err = l.seen(st, err)
	return st, epoch, err
}

func (l brokenLine) SetSize(ctx context.Context, size, mod int64, unused bool) (st store.State, done bool, err error) {
	if l.size != nil {
		st, done, err = l.size(ctx, l.Line, size, mod, unused)
	} else {
		st, done, err = l.Line.SetSize(ctx, size, mod, unused)
	}
	st, err = l.seen(st, err)
	return st, done, err
}

// mod is the last change of an entry now.
func mod(st *store.State, k store.Key) int64 {
	if i := slices.IndexFunc(st.Entries, func(e store.Entry) bool { return e.Key == k }); i >= 0 {
		return st.Entries[i].Mod
	}
	return 0
}

// planted are defects, each with the test that finds it.
var planted = map[string]struct {
	found  string
	defect func() *defect
}{
	"no guard": {"a transaction is all or nothing", func() *defect {
		return &defect{commit: func(
			ctx context.Context, _ *memstore.Server, l store.Line, s store.Session, epoch int64, t *store.Txn,
		) (store.State, int64, error) {
			st, err := l.Read(ctx)
			if err != nil {
				return st, epoch, err
			}
			all := *t
			all.Ops = slices.Clone(t.Ops)
			for i := range all.Ops {
				all.Ops[i].Mod = mod(&st, all.Ops[i].Key)
			}
			return l.Commit(ctx, s, epoch, &all)
		}}
	}},
	"what can be done of a transaction is done": {"a transaction is all or nothing", func() *defect {
		return &defect{commit: func(
			ctx context.Context, _ *memstore.Server, l store.Line, s store.Session, epoch int64, t *store.Txn,
		) (st store.State, now int64, err error) {
			st, now, err = l.Commit(ctx, s, epoch, t)
			for _, op := range t.Ops {
				if err == nil && mod(&st, op.Key) == op.Mod && op.Mod > 0 {
					st, now, err = l.Commit(ctx, s, epoch, &store.Txn{Ops: []store.Op{op}})
				}
			}
			return st, now, err
		}}
	}},
	"a merge does not look at the size": {"a transaction is all or nothing", func() *defect {
		return &defect{commit: func(
			ctx context.Context, _ *memstore.Server, l store.Line, s store.Session, epoch int64, t *store.Txn,
		) (store.State, int64, error) {
			return l.Commit(ctx, s, epoch, &store.Txn{Ops: t.Ops})
		}}
	}},
	"guards are asked for before the transaction": {"of two writes one comes first", func() *defect {
		return &defect{commit: func(
			ctx context.Context, _ *memstore.Server, l store.Line, s store.Session, epoch int64, t *store.Txn,
		) (store.State, int64, error) {
			st, err := l.Read(ctx)
			if err != nil {
				return st, epoch, err
			}
			for _, op := range t.Ops {
				if mod(&st, op.Key) != op.Mod {
					return st, epoch, nil
				}
			}
			all := *t
			all.Ops = slices.Clone(t.Ops)
			for try := 0; ; try++ {
				if st, err = l.Read(ctx); err != nil || try == 100 {
					return st, epoch, err
				}
				for i := range all.Ops {
					all.Ops[i].Mod = mod(&st, all.Ops[i].Key)
				}
				var now int64
				st, now, err = l.Commit(ctx, s, epoch, &all)
				if err != nil || mod(&st, all.Ops[len(all.Ops)-1].Key) > 0 { // it is new
					return st, now, err
				}
			}
		}}
	}},
	"epochs guard nothing": {"an epoch ends what was sent before", func() *defect {
		return &defect{commit: func(
			ctx context.Context, _ *memstore.Server, l store.Line, s store.Session, epoch int64, t *store.Txn,
		) (store.State, int64, error) {
			st, now, err := l.Commit(ctx, s, epoch, t)
			if err == nil && now != epoch {
				return l.Commit(ctx, s, now, t)
			}
			return st, now, err
		}}
	}},
	"what is given up is done later, whatever has happened": {"nothing is carried out later", func() *defect {
		return &defect{commit: func(
			ctx context.Context, _ *memstore.Server, l store.Line, s store.Session, epoch int64, t *store.Txn,
		) (store.State, int64, error) {
			st, now, err := l.Commit(ctx, s, epoch, t)
			if ctx.Err() != nil {
				go func() {
					ctx := context.WithoutCancel(ctx)
					time.Sleep(20 * time.Millisecond)
					if _, now, err := l.Commit(ctx, s, epoch, t); err == nil && now != epoch {
						_, _, _ = l.Commit(ctx, s, now, t)
					}
				}()
			}
			return st, now, err
		}}
	}},
	"who has no lease any more goes on": {"a lease ends with all that it has", func() *defect {
		return &defect{commit: func(
			ctx context.Context, m *memstore.Server, l store.Line, s store.Session, epoch int64, t *store.Txn,
		) (store.State, int64, error) {
			st, now, err := l.Commit(ctx, s, epoch, t)
			if !errors.Is(err, store.ErrEnded) {
				return st, now, err
			}
			for _, op := range t.Ops {
				m.Put(store.Event{Line: l.ID(), Change: store.Change{Key: op.Key, Weight: op.Weight}})
			}
			st, err = l.Read(ctx)
			return st, epoch, err
		}}
	}},
	"a revocation is forgotten": {"a lease ends with all that it has", func() *defect {
		return &defect{revoke: func(context.Context, store.Store, int64) error { return nil }}
	}},
	"a renewal is forgotten": {"a lease lasts from its renewal on", func() *defect {
		return &defect{renew: func(context.Context, store.Store, int64) (time.Duration, int64, error) {
			return 2 * time.Second, 1, nil
		}}
	}},
	"a lease is shorter than it says": {"a lease lasts from its renewal on", func() *defect {
		return &defect{
			grant: func(ctx context.Context, s store.Store, ttl time.Duration) (int64, time.Duration, error) {
				lease, _, err := s.Grant(ctx, ttl*9/10)
				return lease, ttl, err
			},
			renew: func(ctx context.Context, s store.Store, lease int64) (time.Duration, int64, error) {
				lasts, rev, err := s.Renew(ctx, lease)
				return lasts * 10 / 9, rev, err
			},
		}
	}},
	"nobody is listed": {"sessions can be listed", func() *defect {
		return &defect{sessions: func([]store.Session) []store.Session { return nil }}
	}},
	"an entry's place is that of its last change": {"a line is its size and its entries", func() *defect {
		return &defect{state: func(st *store.State) {
			for i := range st.Entries {
				st.Entries[i].Create = st.Entries[i].Mod
			}
			st.Sort()
		}}
	}},
	"two revisions are one": {"revisions are one sequence", func() *defect {
		return &defect{state: func(st *store.State) {
			for i := range st.Entries {
				st.Entries[i].Mod &^= 1
			}
		}}
	}},
	"names are folded": {"any names are two lines", func() *defect {
		return &defect{line: func(s store.Store, kind, name string) store.Line {
			return s.Line(kind, strings.ToLower(name))
		}}
	}},
	"a size is written by anybody": {"the size is written by who knows it", func() *defect {
		return &defect{size: func(
			ctx context.Context, l store.Line, size, _ int64, unused bool,
		) (store.State, bool, error) {
			st, err := l.Read(ctx)
			if err != nil {
				return st, false, err
			}
			return l.SetSize(ctx, size, st.SizeMod, unused)
		}}
	}},
	"a size is made although there are entries": {"the size is written by who knows it", func() *defect {
		return &defect{size: func(
			ctx context.Context, l store.Line, size, mod int64, _ bool,
		) (store.State, bool, error) {
			return l.SetSize(ctx, size, mod, false)
		}}
	}},
	"reads are of a copy": {"a read knows what was answered", func() *defect {
		var mu sync.Mutex
		last := map[string]store.State{}
		return &defect{read: func(ctx context.Context, l store.Line) (store.State, error) {
			st, err := l.Read(ctx)
			mu.Lock()
			defer mu.Unlock()
			old, is := last[l.ID()]
			if last[l.ID()] = st; is {
				st = old
			}
			return st, err
		}}
	}},
	"a revision is of a copy": {"a read knows what was answered", func() *defect {
		var last atomic.Int64
		return &defect{revision: func(ctx context.Context, s store.Source) (int64, error) {
			rev, err := s.Revision(ctx)
			if old := last.Swap(rev); old > 0 {
				rev = old
			}
			return rev, err
		}}
	}},
	"a watch misses a change now and then": {"a watch yields all in order", func() *defect {
		var n atomic.Int64
		return &defect{update: func(u store.Update, yield func(store.Update) bool) bool {
			return len(u.Events) > 0 && n.Add(1)%17 == 0 || yield(u)
		}}
	}},
	"a revision is yielded in parts": {"a watch yields all in order", func() *defect {
		return &defect{update: func(u store.Update, yield func(store.Update) bool) bool {
			for i := range u.Events {
				if !yield(store.Update{Rev: u.Rev, Events: u.Events[i : i+1]}) {
					return false
				}
			}
			return len(u.Events) > 0 || yield(u)
		}}
	}},
	"two revisions change places": {"a watch yields all in order", func() *defect {
		var kept atomic.Pointer[store.Update]
		return &defect{update: func(u store.Update, yield func(store.Update) bool) bool {
			if old := kept.Swap(nil); old != nil {
				return yield(u) && yield(*old)
			}
			if len(u.Events) == 2 {
				kept.Store(&u)
				return true
			}
			return yield(u)
		}}
	}},
	"a watch begins where it is": {"a watch yields all in order", func() *defect {
		return &defect{watch: func(after int64, signs <-chan struct{}) (int64, <-chan struct{}) {
			return after + 1, signs
		}}
	}},
	"a watch gives no sign of life": {"a watch shows that it works", func() *defect {
		return &defect{watch: func(after int64, _ <-chan struct{}) (int64, <-chan struct{}) { return after, nil }}
	}},
}

// A suite that finds nothing is none.
func TestPlantedDefectsAreFound(t *testing.T) {
	for name, p := range planted {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := storetest.Tests()
				i := slices.IndexFunc(all, func(test storetest.Test) bool { return test.Name == p.found })
				require.GreaterOrEqual(t, i, 0)
				m, s := memstore.ForTests()
				defer m.Close()
				d := p.defect()
				s.Connect = func() store.Store { return broken{m.Connect(time.Millisecond), m, d} }
				err := all[i].Run(t.Context(), s)
				time.Sleep(time.Second) // whatever goes on
				require.Error(t, err)
				t.Log(err)
			})
		})
	}
	// What servers do that are forbidden something, have no space, or forget.
	for name, p := range map[string]struct {
		found string
		plant func(m *memstore.Server, s *storetest.Servers)
	}{
		"what is refused is done": {"a refusal does nothing", func(m *memstore.Server, s *storetest.Servers) {
			s.Forbid = func(to store.Store) (func() error, error) {
				c := to.(*memstore.Store)
				c.On(func(_ context.Context, request string) error {
					if request == "txn" {
						m.Put(store.Event{Line: c.Line("semaphore", "x").ID(), Change: store.Change{Weight: 7}})
						return store.ErrRefused
					}
					return nil
				})
				return func() error { c.On(nil); return nil }, nil
			}
		}},
		"nothing is refused": {"a refusal does nothing", func(_ *memstore.Server, s *storetest.Servers) {
			s.Forbid = func(store.Store) (func() error, error) { return func() error { return nil }, nil }
		}},
		"there is space": {"deletes need no space", func(_ *memstore.Server, s *storetest.Servers) {
			s.Fill = func() (func() error, error) { return func() error { return nil }, nil }
		}},
		"nothing is forgotten": {"a watch says what it cannot", func(_ *memstore.Server, s *storetest.Servers) {
			s.Forget = func() error { return nil }
		}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := storetest.Tests()
				i := slices.IndexFunc(all, func(test storetest.Test) bool { return test.Name == p.found })
				require.GreaterOrEqual(t, i, 0)
				m, s := memstore.ForTests()
				defer m.Close()
				p.plant(m, s)
				err := all[i].Run(t.Context(), s)
				time.Sleep(time.Second) // whatever goes on
				require.Error(t, err)
				t.Log(err)
			})
		})
	}
}
