package memstore

import (
	"context"
	"slices"

	"github.com/farad-go/farad/fleet/store"
)

type line struct {
	source
	server *Server
}

func (l *line) ID() string { return l.line }

// show has do done, and returns the line after it.
func (l *line) show(ctx context.Context, request string, do func(s *Server) error) (st store.State, err error) {
	err = l.store.ask(ctx, request, l.line, func() error {
		if err := do(l.server); err != nil {
			return err
		}
		st = l.server.state(l.line)
		return nil
	})
	return st, err
}

func (l *line) Read(ctx context.Context) (store.State, error) {
	return l.show(ctx, "read", func(*Server) error { return nil })
}

func (l *line) Commit(
	ctx context.Context, o store.Session, epoch int64, t *store.Txn,
) (st store.State, now int64, err error) {
	st, err = l.show(ctx, "txn", func(s *Server) error {
		lease := s.leases[o.Lease]
		if lease == nil {
			return store.ErrEnded
		}
		now = lease.epoch
		if now != epoch || t.Merges && s.line(l.line).SizeMod != t.SizeMod {
			return nil
		}
		var events []store.Event
		if s.full && slices.ContainsFunc(t.Ops, func(op store.Op) bool { return op.Weight > 0 }) {
			return store.ErrNoSpace
		}
		for _, op := range t.Ops {
			if s.entry(l.line, op.Key).Mod != op.Mod {
				return nil
			}
			events = append(events, store.Event{Line: l.line, Change: store.Change{Key: op.Key, Weight: op.Weight}})
		}
		s.change(events...)
		return nil
	})
	return st, now, err
}

func (l *line) Fence(ctx context.Context, o store.Session) (st store.State, epoch int64, err error) {
	st, err = l.show(ctx, "txn", func(s *Server) (err error) {
		epoch, err = s.raise(o)
		return err
	})
	return st, epoch, err
}

func (l *line) Probe(ctx context.Context) (store.State, error) {
	return l.show(ctx, "txn", func(*Server) error { return nil })
}

func (l *line) SetSize(ctx context.Context, size, mod int64, unused bool) (st store.State, done bool, err error) {
	st, err = l.show(ctx, "txn", func(s *Server) error {
		now := s.line(l.line)
		if done = now.SizeMod == mod && (!unused || len(now.Entries) == 0); done {
			s.change(store.Event{Line: l.line, Change: store.Change{Weight: size}})
		}
		return nil
	})
	return st, done, err
}

// A source is a line's changes, or those of all.
type source struct {
	store *Store
	line  string // "": all
}

func (s source) Revision(ctx context.Context) (rev int64, err error) {
	err = s.store.ask(ctx, "revision", s.line, func() error {
		rev = s.store.server.now.rev
		return nil
	})
	return rev, err
}

func (s source) Watch(
	ctx context.Context, after int64, signs <-chan struct{}, yield func(store.Update) bool,
) error {
	c := s.store
	allowed, err := c.admit(ctx, "watch", s.line)
	if err != nil {
		return err
	}
	trip, _ := c.distance()
	if err := travel(ctx, trip); err != nil {
		return err
	}
	if !allowed {
		return store.ErrRefused
	}
	c.mu.Lock()
	c.watches++
	number := c.watches
	c.open[s.line]++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[s.line]--
	}()
	if !yield(store.Update{Rev: after}) {
		return nil
	}
	for sign := false; ; {
		all, at, changed, err := s.since(after)
		if c.hangs(number) {
			all, err = nil, nil
		} else if err == nil && sign && len(all) == 0 {
			all = []store.Update{{Rev: at}}
		}
		if err != nil {
			return err
		}
		if len(all) > 0 {
			sign = false
			if trip, _ := c.distance(); travel(ctx, trip/2) != nil {
				return ctx.Err()
			}
		}
		for _, u := range all {
			if !yield(u) {
				return nil
			}
			after = max(after, u.Rev)
		}
		if len(all) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-signs:
			sign = true
			c.mu.Lock()
			c.signs++
			c.mu.Unlock()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hangs reports whether a watch hangs.
func (c *Store) hangs(watch int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return watch <= c.hung
}

// since returns what has changed after a revision, the newest one, and what is closed at the next
// change.
func (s source) since(after int64) (all []store.Update, at int64, changed chan struct{}, err error) {
	v := s.store.server
	v.mu.Lock()
	defer v.mu.Unlock()
	if after < v.forgot {
		return nil, 0, nil, store.ErrCompacted
	}
	i := len(v.log)
	for i > 0 && v.log[i-1].Rev > after {
		i--
	}
	for _, u := range v.log[i:] {
		seen := store.Update{Rev: u.Rev}
		for _, e := range u.Events {
			if s.line == "" || e.Line == s.line {
				seen.Events = append(seen.Events, e)
			}
		}
		if len(seen.Events) > 0 {
			all = append(all, seen)
		}
	}
	return all, v.now.rev, v.changed, nil
}
