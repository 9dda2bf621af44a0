//go:build unix

package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/postgres/internal/pgtest"
	"github.com/farad-go/farad/fleet/store"
)

// onDisk is a world whose server has a folder on a disk that the test can fill.
func onDisk(t *testing.T, folder string, megabytes int) (*world, *pgtest.Disk) {
	w := onOwn(t, "max_wal_size=32MB")
	d, err := w.server.Move(folder, megabytes)
	if errors.Is(err, pgtest.ErrNoDisk) {
		t.Skip(err)
	}
	require.NoError(t, err)
	w.db = operator(t, w.server)
	return w, d
}

// code returns the SQLSTATE of an error.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// A disk without space takes no new entries. What is held stays held: renewals write in place. All
// that ask are served when there is space again.
func TestTheDiskIsFull(t *testing.T) {
	w, disk := onDisk(t, "base", 64)
	f, g := w.join(fleet.WithTTL(time.Minute)), w.join()
	held := w.acquire(w.semaphore(f, 1))
	other := postgres.New(w.server.Config("worker"), w.ns)
	lease, _, err := other.Grant(w.ctx, time.Hour)
	require.NoError(t, err)
	epoch, err := other.Begin(w.ctx, store.Session{Lease: lease, Who: "a"})
	require.NoError(t, err)

	require.NoError(t, disk.Fill())
	for i := 0; !errors.Is(err, store.ErrNoSpace); i++ {
		require.Less(t, i, 100_000)
		_, _, err = other.Line("mutex", fmt.Sprint(i)).Commit(w.ctx, store.Session{Lease: lease}, epoch,
			&store.Txn{Ops: []store.Op{{Key: store.Key{Lease: lease, Seq: 1}, Weight: 1}}})
		if !errors.Is(err, store.ErrNoSpace) {
			require.NoError(t, err)
		}
	}
	const asking = 20
	served := make(chan *fleet.Permit, asking)
	for i := range asking {
		go func() {
			m, err := g.Mutex(w.ctx, strings.Repeat("x", 1000)+fmt.Sprint(i))
			if err != nil {
				t.Error(err)
				served <- nil
				return
			}
			p, err := m.Lock(w.ctx)
			if err != nil {
				t.Error(err)
			}
			served <- p
		}()
	}
	for range 100 {
		_, _, err := other.Renew(w.ctx, lease)
		require.NoError(t, err)
	}
	require.True(t, held.Valid())

	require.NoError(t, disk.Free())
	for range asking {
		(<-served).Release()
	}
	held.Release()
	w.acquire(w.semaphore(g, 1)).Release()
	require.NoError(t, other.Revoke(w.ctx, lease))
}

// A server without space for its log ends. What is held is lost if that takes longer than a lease
// lasts, and all goes on when there is space again.
func TestTheDiskOfTheLogIsFull(t *testing.T) {
	w, disk := onDisk(t, "pg_wal", 128)
	w.work(w.three(), 2, func() {
		w.goOn()
		require.NoError(t, disk.Fill())
		w.eventually(func() bool {
			_, err := w.db.Exec(w.ctx, "SELECT pg_logical_emit_message(false, '', repeat('x', 1000000)), pg_switch_wal()")
			return err != nil
		}, "there is no space")
		require.NoError(t, disk.Free())
		w.server.Kill() // as far as it has not ended
		require.NoError(t, w.server.Run())
		w.db = operator(t, w.server)
		w.goOn()
	})
}

// Others take all connections while those of a process are cut. What is held stays held while the
// lease lasts, and all goes on when there are connections again.
func TestThereAreNoConnections(t *testing.T) {
	w := onOwn(t, "max_connections=20", "superuser_reserved_connections=2")
	w.exec("CREATE ROLE other LOGIN")
	n := w.newNetwork()
	f, g := w.joinBy(n, n, time.Minute), w.join()
	sf := w.semaphore(f, 1)
	p := w.acquire(sf)
	waits := w.semaphore(g, 1)
	served := make(chan *fleet.Permit, 1)
	go func() {
		q, err := waits.AcquirePermit(w.ctx, 1)
		if err != nil {
			t.Error(err)
		}
		served <- q
	}()
	w.eventually(func() bool {
		return w.count("SELECT count(*) FROM farad.entries WHERE namespace = $1 AND line = 'semaphore/s'", w.ns) == 2
	}, "the other one is in line")
	var others []*pgx.Conn
	full := func() bool {
		c, err := pgx.ConnectConfig(w.ctx, w.server.Config("other"))
		if err == nil {
			others = append(others, c)
		}
		return code(err) == "53300" // too_many_connections
	}
	w.eventually(func() bool {
		w.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'")
		return full() && w.count("SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker'") == 0
	}, "the others have all")
	require.True(t, p.Valid())
	p.Release() // which the store does not learn
	require.Empty(t, served)
	for _, c := range others {
		require.NoError(t, c.Close(w.ctx))
	}
	(<-served).Release()
	w.acquire(sf).Release()
}

// Transactions that the server rolls back for the sake of others are made again: nobody learns of
// it.
func TestTransactionsAreRolledBack(t *testing.T) {
	for name, sqlstate := range map[string]string{"serialization": "40001", "deadlock": "40P01"} {
		t.Run(name, func(t *testing.T) {
			w := onOwn(t)
			fs := w.three()
			w.exec("CREATE SEQUENCE faults") // which no transaction takes back
			w.exec(fmt.Sprintf(`
				CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
				BEGIN
					IF pg_current_xact_id()::text::bigint %% 3 > 0 THEN
						PERFORM nextval('faults');
						RAISE EXCEPTION 'injected' USING ERRCODE = '%s';
					END IF;
					RETURN NULL;
				END $$;
				CREATE CONSTRAINT TRIGGER fails AFTER UPDATE ON farad.space DEFERRABLE INITIALLY DEFERRED
					FOR EACH ROW EXECUTE FUNCTION fails();`, sqlstate))
			w.work(fs, 2, func() {
				w.goOn()
				w.eventually(func() bool { return w.count("SELECT last_value FROM faults") > 10 }, "faults")
			})
			s := postgres.New(w.server.Config("worker"), w.ns)
			for range 3 {
				lease, _, err := s.Grant(w.ctx, time.Minute)
				require.NoError(t, err)
				_, err = s.Begin(w.ctx, store.Session{Lease: lease, Who: "a"})
				require.NoError(t, err)
				require.NoError(t, s.Revoke(w.ctx, lease))
			}
		})
	}
}

// The queue of notifications is full, because some role of some database listens in a transaction
// that does not end. Transactions go on without.
//
// A queue has 8 GB before PostgreSQL 17. So the functions of the server are others here: they say
// that it is full, and a transaction that notifies fails at its end.
func TestTheQueueOfNotificationsIsFull(t *testing.T) {
	w := onOwn(t)
	fs := w.three()
	w.exec(`
		CREATE TABLE public.fails (n integer);
		GRANT ALL ON public.fails TO public;
		ALTER FUNCTION pg_catalog.pg_notify(text, text) RENAME TO notify_really;
		ALTER FUNCTION pg_catalog.pg_notification_queue_usage() RENAME TO usage_really;
		CREATE FUNCTION pg_catalog.pg_notify(text, text) RETURNS void LANGUAGE plpgsql AS $$
		BEGIN
			INSERT INTO public.fails VALUES (1);
		END $$;
		CREATE FUNCTION pg_catalog.pg_notification_queue_usage() RETURNS float8 LANGUAGE sql AS 'SELECT 1.0::float8';
		CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			RAISE EXCEPTION 'too many notifications in the NOTIFY queue' USING ERRCODE = '54000';
		END $$;
		CREATE CONSTRAINT TRIGGER fail AFTER INSERT ON public.fails DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION public.fail();`)
	_, err := w.db.Exec(w.ctx, "SELECT pg_notify('a', 'b')")
	require.Equal(t, "54000", code(err))
	w.handsOn(fs)
}

// The same as it is: of PostgreSQL 17 or newer.
func TestTheQueueOfNotificationsIsReallyFull(t *testing.T) {
	if newWorld(t, shared).count("SELECT current_setting('server_version_num')::integer") < 170000 {
		t.Skip("a queue of 8 GB")
	}
	w := onOwn(t, "max_notify_queue_pages=64")
	fs := w.three()
	holder := operator(t, w.server)
	_, err := holder.Exec(w.ctx, "BEGIN; LISTEN other")
	require.NoError(t, err)
	_, err = holder.Exec(w.ctx, "COMMIT; BEGIN; SELECT 1")
	require.NoError(t, err)
	w.eventually(func() bool {
		_, err := w.db.Exec(w.ctx, "SELECT pg_notify('other', repeat('x', 7000) || g) FROM generate_series(1, 20) g")
		return code(err) == "54000"
	}, "the queue is full")
	w.handsOn(fs)
}

// handsOn has permits go from one process to the next, which only renewals show.
func (w *world) handsOn(fs []*fleet.Fleet) {
	w.Helper()
	for i := range 6 {
		s := w.semaphore(fs[i%len(fs)], 1)
		for valid := false; !valid; { // a busy machine may end a lease meanwhile
			p := w.acquire(s)
			valid = p.Valid()
			p.Release() // stays
		}
	}
}

// Requests go by a pooler in transaction mode, with fewer connections to the server than there are
// processes; the connection that listens goes past it.
func TestRequestsGoByAPooler(t *testing.T) {
	w := onOwn(t)
	pooler, err := w.server.Pooler(2)
	if errors.Is(err, pgtest.ErrNoPooler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(pooler.Kill)
	var fs []*fleet.Fleet
	for range 4 {
		s := postgres.New(pooler.Config("worker"), w.ns, postgres.WithListen(w.server.Config("worker")))
		f, err := fleet.New(w.ctx, s) // no lease has to end here
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, f.Close(w.ctx), "something is still held") })
		fs = append(fs, f)
	}
	w.work(fs, 2, func() {
		w.goOn()
		require.LessOrEqual(t, w.count("SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker'"), 4+2)
		for range 3 {
			w.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'")
			w.goOn()
			pooler.Kill()
			require.NoError(t, pooler.Run())
			w.goOn()
		}
		w.server.Kill()
		require.NoError(t, w.server.Run())
		w.goOn()
	})
}
