//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// held is how often a permit was held.
func (w *world) held() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.holds)
}

// goOn waits until permits are handed on again.
func (w *world) goOn() {
	w.Helper()
	before := w.held()
	w.eventually(func() bool { return w.held() > before+100 }, "permits are handed on again")
}

func TestTheServerIsKilled(t *testing.T) {
	w := onOwn(t)
	w.work(w.three(), 2, func() {
		for range 3 {
			w.goOn()
			w.server.Kill()
			require.NoError(t, w.server.Run())
		}
		w.goOn()
	})
}

// A server that stands still for longer than leases last takes them with it. Processes know that
// before it goes on.
func TestTheServerStandsStill(t *testing.T) {
	w := onOwn(t)
	fs := w.three()
	holder := w.join()
	m, err := holder.Mutex(w.ctx, "m")
	require.NoError(t, err)
	w.work(fs, 2, func() {
		w.goOn()
		p, err := m.Lock(w.ctx)
		require.NoError(t, err)
		defer p.Release()
		w.server.Pause()
		<-p.Lost()
		w.server.Resume()
		w.goOn()
	})
}

func TestConnectionsAreCut(t *testing.T) {
	w := onOwn(t)
	w.work(w.three(), 2, func() {
		for range 20 {
			before := w.held()
			w.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'")
			w.eventually(func() bool { return w.held() > before }, "permits are handed on again")
		}
		w.goOn()
	})
}

// An operator ends a process's permits by force: the entries vanish with the session's row.
func TestAnOperatorDeletesASession(t *testing.T) {
	w := onShared(t)
	f, g := w.join(), w.join()
	p := w.acquire(w.semaphore(f, 1))
	served := make(chan *fleet.Permit, 1)
	s := w.semaphore(g, 1)
	go func() { served <- w.acquire(s) }()
	w.eventually(func() bool {
		return w.count("SELECT count(*) FROM farad.entries WHERE namespace = $1 AND line = 'semaphore/s'", w.ns) == 2
	}, "the other one is in line")
	w.exec(`DELETE FROM farad.session s USING farad.entries e
		WHERE e.namespace = $1 AND e.place = 1 AND s.lease = e.lease`, w.ns)
	(<-served).Release()
	<-p.Lost()
	p.Release()
	w.acquire(w.semaphore(f, 1)).Release()
}

// A transaction of an operator has the namespace for longer than leases last. Nobody loses
// anything: renewals do not wait for it.
func TestALongTransactionHasTheNamespace(t *testing.T) {
	w := onShared(t)
	for ttl := 10 * time.Second; !w.outlasts(ttl); ttl *= 2 { // a busy machine may end a short lease
		require.Less(t, ttl, 80*time.Second, "leases are lost, however long they last")
	}
}

// outlasts has a transaction last for longer than leases of two processes, and reports whether
// they have lost none.
func (w *world) outlasts(ttl time.Duration) bool {
	w.Helper()
	f, g := w.join(fleet.WithTTL(ttl)), w.join(fleet.WithTTL(ttl))
	p := w.acquire(w.semaphore(f, 1))
	db := operator(w.T, w.server) // w.db is in the transaction
	end := func() (ends time.Time) {
		err := db.QueryRow(w.ctx, "SELECT ends FROM farad.session WHERE lease = $1", p.Token().Lease).Scan(&ends)
		if !errors.Is(err, pgx.ErrNoRows) {
			assert.NoError(w, err)
		}
		return ends
	}
	first := end()
	tx, err := w.db.Begin(w.ctx)
	require.NoError(w, err)
	defer func() { _ = tx.Rollback(w.ctx) }() // after a failure
	_, err = tx.Exec(w.ctx, "SELECT FROM farad.space WHERE name = $1 FOR UPDATE", w.ns)
	require.NoError(w, err)
	served := make(chan *fleet.Permit, 1)
	go func() {
		s, err := g.Semaphore(w.ctx, "s", 1)
		if err == nil {
			var q *fleet.Permit
			q, err = s.AcquirePermit(w.ctx, 1)
			served <- q
		}
		if err != nil {
			w.Error(err)
			close(served)
		}
	}()
	w.eventually(func() bool { return !p.Valid() || !end().Before(first.Add(ttl)) }, "renewals for as long as a lease lasts")
	valid := p.Valid()
	require.NoError(w, tx.Commit(w.ctx))
	p.Release()
	(<-served).Release()
	for _, f := range []*fleet.Fleet{f, g} {
		st, err := f.Status(w.ctx)
		require.NoError(w, err)
		valid = valid && st[0].Losses == 0
	}
	return valid
}

// A role may have settings by which requests fail, or are carried out otherwise. All goes on once
// they are right, and with those that harm nothing before that.
func TestARoleHasOtherSettings(t *testing.T) {
	harmless := []string{"serializable", "asynchronous commits", "time-out of idle connections", "time-out in transactions"}
	for name, set := range map[string]string{
		"statement timeout":            "SET statement_timeout = 1",
		"lock timeout":                 "SET lock_timeout = 1",
		"read only":                    "SET default_transaction_read_only = on",
		"serializable":                 "SET default_transaction_isolation = serializable",
		"asynchronous commits":         "SET synchronous_commit = off",
		"time-out of idle connections": "SET idle_session_timeout = 500",
		"time-out in transactions":     "SET idle_in_transaction_session_timeout = 1",
		"no connections":               "CONNECTION LIMIT 0",
		"one connection":               "CONNECTION LIMIT 1",
		"no login":                     "NOLOGIN",
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			w := onShared(t)
			role := w.ns
			w.exec("CREATE ROLE " + role + " LOGIN IN ROLE worker")
			f, g := w.joinAs(role), w.joinAs(role)
			cut := func() {
				w.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", role)
			}
			w.work([]*fleet.Fleet{f, g}, 1, func() {
				w.goOn()
				w.exec("ALTER ROLE " + role + " " + set)
				cut()
				time.Sleep(time.Second) // a time for faults, which nothing depends on
				w.exec("ALTER ROLE " + role + " LOGIN CONNECTION LIMIT -1")
				if !slices.Contains(harmless, name) {
					w.exec("ALTER ROLE " + role + " RESET ALL")
					cut()
				}
				w.goOn()
			})
		})
	}
}

// With whatever isolation a role asks for, and without any notification, what a store has to
// promise is kept.
func TestPostgresIsAStoreOtherwise(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute of the server's time")
	}
	for name, change := range map[string]string{
		"serializable":       "ALTER ROLE worker SET default_transaction_isolation = serializable",
		"repeatable read":    "ALTER ROLE worker SET default_transaction_isolation = 'repeatable read'",
		"lost notifications": postgres.Schema(),
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			w := onOwn(t)
			w.exec(strings.Replace(change, "IF in_hint THEN", "IF false THEN", 1))
			storetest.Run(t, func(*testing.T) *storetest.Servers {
				ns := namespace()
				return &storetest.Servers{
					Connect: func() store.Store { return postgres.New(w.server.Config("worker"), ns) },
					TTL:     2 * time.Second,
				}
			})
		})
	}
}

// Permits are handed on also if no notification ever arrives.
func TestNotificationsAreLost(t *testing.T) {
	w := onOwn(t)
	w.exec(strings.Replace(postgres.Schema(), "IF in_hint THEN", "IF false THEN", 1))
	f, g := w.join(), w.join()
	for range 2 {
		p := w.acquire(w.semaphore(f, 1))
		p.Release() // stays with f, which does not learn soon that g waits
		w.acquire(w.semaphore(g, 1)).Release()
	}
}

// The tables are put back to what they were a while ago, as a restored backup is. What is held
// since is lost, and tokens go on growing.
func TestABackupIsRestored(t *testing.T) {
	w := onShared(t)
	f, g := w.join(), w.join()
	w.acquire(w.semaphore(f, 1)).Release()
	var backup []string
	tables := []string{"space", "session", "line", "change"}
	for _, table := range tables {
		name := fmt.Sprintf("%s_%s", w.ns, table)
		w.exec("CREATE TABLE " + name + " AS TABLE farad." + table)
		backup = append(backup, name)
	}
	s := w.semaphore(g, 1)
	p := w.acquire(s) // from f
	w.restore(tables, backup)
	<-p.Lost()
	p.Release()
	for _, s := range []*fleet.Semaphore{w.semaphore(f, 1), s} {
		q := w.acquire(s)
		require.Greater(t, q.Token().Order(), p.Token().Order())
		q.Release()
	}
}

// restore puts a namespace's rows back.
func (w *world) restore(tables, backup []string) {
	w.Helper()
	err := pgx.BeginFunc(w.ctx, w.db, func(tx pgx.Tx) error {
		var id int
		if err := tx.QueryRow(w.ctx, "SELECT id FROM farad.space WHERE name = $1 FOR UPDATE", w.ns).Scan(&id); err != nil {
			return err
		}
		if _, err := tx.Exec(w.ctx, "SET LOCAL session_replication_role = replica"); err != nil {
			return err // no trigger runs
		}
		for i, table := range tables {
			key := "space"
			if table == "space" {
				key = "id"
			}
			if _, err := tx.Exec(w.ctx, fmt.Sprintf("DELETE FROM farad.%s WHERE %s = $1", table, key), id); err != nil {
				return err
			}
			_, err := tx.Exec(w.ctx, fmt.Sprintf(
				"INSERT INTO farad.%s OVERRIDING SYSTEM VALUE SELECT * FROM %s WHERE %s = $1", table, backup[i], key), id)
			if err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(w, err)
}

// A role may ask for REPEATABLE READ. Then a transaction may have a snapshot from before an epoch,
// or a lease, has ended. It does nothing.
func TestAnOldSnapshotWritesNothing(t *testing.T) {
	for name, end := range map[string]func(w *world, s store.Store, se store.Session) error{
		"fence": func(w *world, s store.Store, se store.Session) error {
			_, _, err := s.Line("mutex", "y").Fence(w.ctx, se)
			return err
		},
		"begin":  func(w *world, s store.Store, se store.Session) error { _, err := s.Begin(w.ctx, se); return err },
		"revoke": func(w *world, s store.Store, se store.Session) error { return s.Revoke(w.ctx, se.Lease) },
	} {
		t.Run(name, func(t *testing.T) {
			w := onShared(t)
			s := postgres.New(w.server.Config("worker"), w.ns)
			lease, _, err := s.Grant(w.ctx, time.Minute)
			require.NoError(t, err)
			se := store.Session{Lease: lease, Who: "a"}
			epoch, err := s.Begin(w.ctx, se)
			require.NoError(t, err)
			tx, err := w.db.BeginTx(w.ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
			require.NoError(t, err)
			_, err = tx.Exec(w.ctx, "SELECT FROM farad.space") // takes the snapshot
			require.NoError(t, err)
			require.NoError(t, end(w, s, se))
			_, err = tx.Exec(w.ctx, "SELECT farad.write_line($1, 'mutex/x', $2, $3, NULL, '{1}', '{0}', '{1}')",
				w.ns, lease, epoch)
			var e *pgconn.PgError
			require.ErrorAs(t, err, &e)
			require.Equal(t, "40001", e.Code)
			require.NoError(t, tx.Rollback(w.ctx))
		})
	}
}
