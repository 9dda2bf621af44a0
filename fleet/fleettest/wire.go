package fleettest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/store"
)

// A hook is what happens to a request before it is carried out. It is called by name: grant, begin,
// renew, revoke, sessions, read, txn, revision or watch. An error is the answer, and nothing is
// carried out. apply carries it out besides, at any time.
type hook func(ctx context.Context, request string, apply func(context.Context)) error

// A wire is between a process and its store.
type wire struct {
	store.Store
	hook atomic.Pointer[hook]

	mu    sync.Mutex
	asked map[string]int // requests that were begun
	going map[string]int // those that have not ended
	vain  map[string]int // those that ended with an error
}

func newWire(s store.Store) *wire {
	x := &wire{Store: s, asked: make(map[string]int), going: make(map[string]int), vain: make(map[string]int)}
	x.on(nil)
	return x
}

// steady is a TTL that outlives the pauses of a busy machine. Where nothing is to be lost, nothing
// must be lost by chance.
const steady = time.Minute

// wired joins a process whose end the test sees to, by a wire.
func (w *world) wired(opts ...fleet.Option) (*fleet.Fleet, *wire) {
	x := newWire(w.Connect())
	f, err := fleet.New(w.ctx, x, slices.Insert(opts, 0, fleet.WithTTL(steady))...)
	w.noError(err)
	return f, x
}

// disturbed is wired. The process leaves when the test ends, and nothing may be held then.
func (w *world) disturbed(opts ...fleet.Option) (*fleet.Fleet, *wire) {
	f, x := w.wired(opts...)
	w.ends = append(w.ends, func() {
		x.on(nil)
		within := patience / 4
		if w.failed() {
			within = time.Millisecond
		}
		w.noError(w.closeWithin(f, within), "something is still held")
	})
	return f, x
}

// on has requests pass a hook from now on, or none.
func (x *wire) on(h hook) {
	if h == nil {
		h = func(context.Context, string, func(context.Context)) error { return nil }
	}
	x.hook.Store(&h)
}

// refuse has requests of some names be refused from now on.
func (x *wire) refuse(names ...string) { x.fail("", names) }

// deafen is refuse, and watches that begin from now on end at once.
func (x *wire) deafen(names ...string) { x.fail("watch", names) }

func (x *wire) fail(ends string, refused []string) {
	x.on(func(_ context.Context, request string, _ func(context.Context)) error {
		switch {
		case request == ends:
			return errors.New("unavailable")
		case slices.Contains(refused, request):
			return store.Mark(errors.New("not allowed"), store.ErrRefused)
		}
		return nil
	})
}

// giveUp has the next transaction end without an answer: at once, or when its time is over. It
// returns what carries it out, late.
func (x *wire) giveUp(atOnce bool) (apply <-chan func(context.Context)) {
	late := make(chan func(context.Context), 1)
	then := *x.hook.Load()
	x.on(func(ctx context.Context, request string, apply func(context.Context)) error {
		if request != "txn" {
			return then(ctx, request, apply)
		}
		x.on(then)
		late <- apply
		if !atOnce {
			<-ctx.Done()
		}
		return errors.New("unavailable")
	})
	return late
}

// sum returns how many requests of some names there were, or are under way.
func (x *wire) sum(of map[string]int, names ...string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, k := range of {
		if len(names) == 0 || slices.Contains(names, name) {
			n += k
		}
	}
	return n
}

// ask has a request pass the hook, and be carried out.
func ask[T any](ctx context.Context, x *wire, request string, do func(context.Context) (T, error)) (v T, err error) {
	count := func(of map[string]int, n int) {
		x.mu.Lock()
		defer x.mu.Unlock()
		of[request] += n
	}
	count(x.asked, 1)
	count(x.going, 1)
	defer count(x.going, -1)
	err = (*x.hook.Load())(ctx, request, func(ctx context.Context) { _, _ = do(ctx) })
	if err == nil {
		v, err = do(ctx)
	}
	if err != nil {
		count(x.vain, 1)
	}
	return v, err
}

// ask2 is ask for two values.
func ask2[A, B any](
	ctx context.Context, x *wire, request string, do func(context.Context) (A, B, error),
) (A, B, error) {
	type both struct {
		a A
		b B
	}
	v, err := ask(ctx, x, request, func(ctx context.Context) (v both, err error) {
		v.a, v.b, err = do(ctx)
		return v, err
	})
	return v.a, v.b, err
}

// ask0 is ask for none.
func ask0(ctx context.Context, x *wire, request string, do func(context.Context) error) error {
	_, err := ask(ctx, x, request, func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) })
	return err
}

func (x *wire) Grant(ctx context.Context, ttl time.Duration) (int64, time.Duration, error) {
	return ask2(ctx, x, "grant", func(ctx context.Context) (int64, time.Duration, error) {
		return x.Store.Grant(ctx, ttl)
	})
}

func (x *wire) Begin(ctx context.Context, s store.Session) (int64, error) {
	return ask(ctx, x, "begin", func(ctx context.Context) (int64, error) { return x.Store.Begin(ctx, s) })
}

func (x *wire) Revoke(ctx context.Context, lease int64) error {
	return ask0(ctx, x, "revoke", func(ctx context.Context) error { return x.Store.Revoke(ctx, lease) })
}

func (x *wire) Sessions(ctx context.Context) ([]store.Session, error) {
	return ask(ctx, x, "sessions", x.Store.Sessions)
}

func (x *wire) Renew(ctx context.Context, lease int64) (time.Duration, int64, error) {
	return x.renew(ctx, x.Store, lease)
}

func (x *wire) Way(name string) store.Way { return &way{x.Store.Way(name), x} }

func (x *wire) Line(kind, name string) store.Line { return &line{x.Store.Line(kind, name), x} }

func (x *wire) Revision(ctx context.Context) (int64, error) {
	return ask(ctx, x, "revision", x.Store.Revision)
}

func (x *wire) Watch(ctx context.Context, after int64, signs <-chan struct{}, yield func(store.Update) bool) error {
	return x.watch(ctx, x.Store, after, signs, yield)
}

func (x *wire) renew(ctx context.Context, r store.Renewer, lease int64) (time.Duration, int64, error) {
	return ask2(ctx, x, "renew", func(ctx context.Context) (time.Duration, int64, error) { return r.Renew(ctx, lease) })
}

func (x *wire) watch(
	ctx context.Context, of store.Source, after int64, signs <-chan struct{}, yield func(store.Update) bool,
) error {
	return ask0(ctx, x, "watch", func(ctx context.Context) error { return of.Watch(ctx, after, signs, yield) })
}

type way struct {
	store.Way
	x *wire
}

func (v *way) Renew(ctx context.Context, lease int64) (time.Duration, int64, error) {
	return v.x.renew(ctx, v.Way, lease)
}

type line struct {
	store.Line
	x *wire
}

func (l *line) Revision(ctx context.Context) (int64, error) {
	return ask(ctx, l.x, "revision", l.Line.Revision)
}

func (l *line) Watch(ctx context.Context, after int64, signs <-chan struct{}, yield func(store.Update) bool) error {
	return l.x.watch(ctx, l.Line, after, signs, yield)
}

func (l *line) Read(ctx context.Context) (store.State, error) {
	return ask(ctx, l.x, "read", l.Line.Read)
}

func (l *line) Probe(ctx context.Context) (store.State, error) {
	return ask(ctx, l.x, "txn", l.Line.Probe)
}

func (l *line) Commit(ctx context.Context, s store.Session, epoch int64, t *store.Txn) (store.State, int64, error) {
	late := *t // the caller may use t again before it is carried out
	late.Ops = slices.Clone(t.Ops)
	return ask2(ctx, l.x, "txn", func(ctx context.Context) (store.State, int64, error) {
		return l.Line.Commit(ctx, s, epoch, &late)
	})
}

func (l *line) Fence(ctx context.Context, s store.Session) (store.State, int64, error) {
	return ask2(ctx, l.x, "txn", func(ctx context.Context) (store.State, int64, error) { return l.Line.Fence(ctx, s) })
}

func (l *line) SetSize(ctx context.Context, size, mod int64, unused bool) (store.State, bool, error) {
	return ask2(ctx, l.x, "txn", func(ctx context.Context) (store.State, bool, error) {
		return l.Line.SetSize(ctx, size, mod, unused)
	})
}
