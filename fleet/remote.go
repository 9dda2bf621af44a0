package fleet

import (
	"context"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/store"
)

// A remote is a line in the store, as the process asks for it: in turn, and for as long as an
// answer is waited for. Other kinds than semaphores have one size, which the store does not
// have.
type remote struct {
	store.Line
	size  int64         // of kinds that have one size; of others 0
	usual int64         // the size of a key that has none of its own; of other kinds -1
	turns chan struct{} // of all lines: has one for each request that is under way

	// Of requests of this line. Reads may be answered at once where transactions wait for each
	// other: such answers must not cut transactions short.
	reads, writes *patience
}

// mostRequests is how many requests of lines a process has under way. Servers and proxies may allow
// a connection only 100 streams, and each is one: the lease and the watch need theirs.
const mostRequests = 64

// The kinds.
const (
	kindSemaphore = "semaphore"
	kindMutex     = "mutex"
	kindRWMutex   = "rwmutex"
	kindElection  = "election"
	kindKeyed     = "keyed"
)

// What a reader and a writer acquire of a read-write lock.
const (
	reader = 1
	writer = line.Everyone
)

func newRemote(f *membership, kind, name string) *remote {
	r := &remote{
		Line: f.store.Line(kind, name), usual: -1, turns: f.turns,
		reads: &patience{least: f.patience.limit()}, writes: &patience{least: f.patience.limit(), whole: f.writes},
	}
	switch kind {
	case kindMutex, kindElection:
		r.size = 1
	case kindRWMutex:
		r.size = line.Everyone
	}
	return r
}

// has reports whether a change is one of the line. A size of kinds that have one size is somebody
// else's.
func (r *remote) has(c store.Change) bool { return r.size == 0 || c.Key != store.SizeKey }

// known returns what the store has said of the line, with the size of its kind.
func (r *remote) known(st store.State, err error) (store.State, error) {
	switch {
	case err != nil:
	case r.size != 0:
		st.Size, st.SizeMod = r.size, 0
	case r.usual >= 0 && st.SizeMod == 0:
		st.Size = r.usual
	}
	return st, err
}

// within is ask when it is its turn, for as long as an answer is waited for.
func (r *remote) within(
	ctx context.Context, p *patience, ask func(context.Context) (store.State, error),
) (st store.State, err error) {
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return st, ctx.Err()
	}
	_, err = p.once(ctx, func(ctx context.Context) (err error) {
		st, err = ask(ctx)
		return err
	})
	return st, err
}

// read reads the line, linearizably.
func (r *remote) read(ctx context.Context) (store.State, error) { return r.known(r.Read(ctx)) }

// commit commits t and returns the line after it, whether or not its guards were true. After an
// error t may have been applied, or may be yet, unless the session's epoch becomes another one.
func (r *remote) commit(ctx context.Context, t *line.Txn, s *session, epoch int64) (st store.State, err error) {
	if t.Fence {
		st, epoch, err = r.Fence(ctx, s.stored())
	} else {
		st, epoch, err = r.Commit(ctx, s.stored(), epoch, &t.Txn)
	}
	if err == nil {
		s.reach(epoch)
	}
	return r.known(st, err)
}

// probe returns the line if this process may write to it, and changes nothing.
func (r *remote) probe(ctx context.Context) (store.State, error) { return r.known(r.Probe(ctx)) }

// create makes the line with a size, unless there is one, or entries: then somebody has deleted the
// size of a line that is in use. It returns the line.
func (r *remote) create(ctx context.Context, size int64) (store.State, error) {
	return r.make(ctx, size, true)
}

// restore gives the line a size if there is none, and returns the line.
func (r *remote) restore(ctx context.Context, size int64) (store.State, error) {
	return r.make(ctx, size, false)
}

func (r *remote) make(ctx context.Context, size int64, unused bool) (store.State, error) {
	if r.size != 0 || r.usual >= 0 {
		return r.read(ctx)
	}
	st, _, err := r.SetSize(ctx, size, 0, unused)
	return st, err
}

// resize writes the size of a line that was written last at mod, as far as is known.
func (m *membership) resize(ctx context.Context, r *remote, n, mod int64) error {
	for { // A retry without an error follows only another's success.
		var done bool
		var now store.State
		err := m.patience.ask(ctx, func(ctx context.Context) (err error) {
			now, done, err = r.SetSize(ctx, n, mod, false)
			return err
		})
		if err != nil || done || now.Size == n && now.SizeMod != 0 {
			return err
		}
		mod = now.SizeMod
	}
}
