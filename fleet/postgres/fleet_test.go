//go:build unix

package postgres_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/postgres/internal/pgtest"
	"github.com/farad-go/farad/fleet/store"
)

// A world is a namespace of a server, and what processes do there.
type world struct {
	*testing.T
	ctx    context.Context
	server *pgtest.Server
	db     *pgx.Conn // as an operator uses it
	ns     string

	mu    sync.Mutex
	holds []hold
}

// A hold is for how long a permit was certainly held.
type hold struct{ from, to time.Time }

// onShared is a world on the server that all tests share.
func onShared(t *testing.T) *world {
	t.Parallel()
	return newWorld(t, shared)
}

// onOwn is a world on a server of its own.
func onOwn(t *testing.T, options ...string) *world {
	t.Parallel()
	s, err := pgtest.Start(options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, prepare(t.Context(), s))
	return newWorld(t, s)
}

// patience is how long the tests wait for what comes in any case. It is so long because a machine
// may run many of them at a time.
const patience = 8 * time.Minute

func newWorld(t *testing.T, s *pgtest.Server) *world {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return &world{T: t, ctx: ctx, server: s, db: operator(t, s), ns: namespace()}
}

// exec does something as an operator.
func (w *world) exec(sql string, args ...any) {
	w.Helper()
	_, err := w.db.Exec(w.ctx, sql, args...)
	require.NoError(w, err)
}

// join has a process join.
func (w *world) join(opts ...fleet.Option) *fleet.Fleet {
	w.Helper()
	return w.joinAs("worker", opts...)
}

func (w *world) joinAs(role string, opts ...fleet.Option) *fleet.Fleet {
	w.Helper()
	s := postgres.New(w.server.Config(role), w.ns)
	f, err := fleet.New(w.ctx, s, append([]fleet.Option{fleet.WithTTL(2 * time.Second)}, opts...)...)
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		assert.NoError(w, f.Close(ctx), "something is still held")
	})
	return f
}

func (w *world) semaphore(f *fleet.Fleet, size int64) *fleet.Semaphore {
	w.Helper()
	s, err := f.Semaphore(w.ctx, "s", size)
	require.NoError(w, err)
	return s
}

func (w *world) acquire(s *fleet.Semaphore) *fleet.Permit {
	w.Helper()
	p, err := s.AcquirePermit(w.ctx, 1)
	require.NoError(w, err)
	return p
}

// eventually waits for what the server and the processes bring.
func (w *world) eventually(is func() bool, what string) {
	w.Helper()
	require.Eventually(w, is, patience, 5*time.Millisecond, what)
}

// count returns a number that the server knows.
func (w *world) count(sql string, args ...any) (n int) {
	w.Helper()
	require.NoError(w, w.db.QueryRow(w.ctx, sql, args...).Scan(&n))
	return n
}

// work has goroutines of processes use permits until the end of a fault, and a few times more. At
// the end it says whether more were held at a time than there are.
func (w *world) work(fs []*fleet.Fleet, size int64, fault func()) {
	w.Helper()
	over := make(chan struct{})
	var workers sync.WaitGroup
	for _, f := range fs {
		s := w.semaphore(f, size)
		for range 3 {
			workers.Go(func() {
				for left := 20; left > 0; {
					select {
					case <-over:
						left--
					default:
					}
					if !w.use(s) {
						return
					}
				}
			})
		}
	}
	fault()
	close(over)
	workers.Wait()
	w.judge(size)
}

// use holds a permit for a moment, and reports whether it got one.
func (w *world) use(s *fleet.Semaphore) bool {
	p, err := s.AcquirePermit(w.ctx, 1)
	if errors.Is(err, store.ErrRefused) {
		time.Sleep(10 * time.Millisecond)
		return true
	}
	if err != nil {
		return assert.NoError(w, err, "a request is not served") // another one may be the test's end
	}
	defer p.Release()
	h := hold{from: time.Now()}
	if !p.Valid() {
		return true
	}
	time.Sleep(200 * time.Microsecond)
	if h.to = time.Now(); p.Valid() { // it was at that time
		w.mu.Lock()
		defer w.mu.Unlock()
		w.holds = append(w.holds, h)
	}
	return true
}

// judge fails if more was held at a time than size.
func (w *world) judge(size int64) {
	w.Helper()
	type event struct {
		at time.Time
		by int64
	}
	var all []event
	for _, h := range w.holds {
		all = append(all, event{h.from, 1}, event{h.to, -1})
	}
	slices.SortFunc(all, func(a, b event) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.by, b.by)) })
	held := int64(0)
	for _, e := range all {
		held += e.by
		require.LessOrEqual(w, held, size, "more is held than there is")
	}
	require.NotEmpty(w, w.holds)
}

func (w *world) three() []*fleet.Fleet {
	return []*fleet.Fleet{w.join(), w.join(), w.join()}
}

// A process has two connections, whatever it does.
func TestAProcessHasTwoConnections(t *testing.T) {
	w := onOwn(t)
	f := w.join()
	var all sync.WaitGroup
	for i := range 30 {
		m, err := f.Mutex(w.ctx, string(rune('a'+i)))
		require.NoError(t, err)
		all.Go(func() {
			for range 5 {
				p, err := m.Lock(w.ctx)
				assert.NoError(w, err)
				p.Release()
			}
		})
	}
	connections := func() int {
		return w.count("SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker'")
	}
	// A connection that was given up because a request was late may be counted for a moment longer.
	w.eventually(func() bool { return connections() <= 2 }, "no line has a connection of its own")
	all.Wait()
	w.eventually(func() bool { return connections() == 2 }, "one has the watch, one the requests")
}

func TestNewWithoutASchemaFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, shared)
	w.exec("CREATE DATABASE " + w.ns)
	config := w.server.Config("worker")
	config.Database = w.ns
	_, err := fleet.New(w.ctx, postgres.New(config, w.ns))
	require.ErrorContains(t, err, `schema "farad" does not exist`)

	_, err = fleet.New(w.ctx, postgres.New(w.server.Config("nobody"), w.ns))
	require.ErrorContains(t, err, `role "nobody" does not exist`)
}

func TestMisuse(t *testing.T) {
	config := shared.Config("worker")
	require.Panics(t, func() { postgres.New(nil, "a") })
	require.Panics(t, func() { postgres.New(config, "") })
	require.Panics(t, func() { postgres.WithListen(nil) })
}

// The schema can be carried out again at any time, by several at a time.
func TestTheSchemaIsCarriedOutAgain(t *testing.T) {
	w := onOwn(t)
	fs := w.three()
	w.work(fs, 2, func() {
		var all sync.WaitGroup
		for range 3 {
			db := operator(t, w.server)
			all.Go(func() { assert.NoError(w, postgres.Create(w.ctx, db)) })
		}
		all.Wait()
	})
	w.exec("CREATE OR REPLACE FUNCTION farad.version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 2'")
	require.ErrorContains(t, postgres.Create(w.ctx, w.db), "newer version")
	_, err := fleet.New(w.ctx, postgres.New(w.server.Config("worker"), w.ns))
	require.ErrorContains(t, err, "the schema has version 2, and the program needs 1")
}
