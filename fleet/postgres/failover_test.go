//go:build unix

package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/postgres/internal/pgtest"
)

// A pair is two servers, and two processes that find the one which takes writes.
type pair struct {
	*world
	replica *pgtest.Server
	f, g    *fleet.Fleet
}

func withReplica(t *testing.T, ttl time.Duration) *pair {
	if testing.Short() {
		t.Skip("two servers")
	}
	w := onOwn(t)
	replica, err := w.server.Replica()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, replica.Close()) })
	p := &pair{world: w, replica: replica}
	p.f, p.g = p.member(ttl), p.member(ttl)
	return p
}

func (p *pair) member(ttl time.Duration) *fleet.Fleet {
	config := pgtest.Primary("worker", p.server, p.replica)
	f, err := fleet.New(p.ctx, postgres.New(config, p.ns), fleet.WithTTL(ttl))
	require.NoError(p, err)
	p.Cleanup(func() { require.NoError(p, f.Close(p.ctx), "something is still held") })
	return f
}

// failOver ends the primary. The replica takes its place.
func (p *pair) failOver() {
	p.Helper()
	db := operator(p.T, p.replica)
	p.server.Kill()
	_, err := db.Exec(p.ctx, "SELECT pg_promote(true, 60)")
	require.NoError(p, err)
}

// A synchronous replica has all that was answered: what is held stays held.
func TestASynchronousReplicaTakesOver(t *testing.T) {
	p := withReplica(t, time.Minute)
	p.exec("ALTER SYSTEM SET synchronous_standby_names = '*'")
	p.exec("SELECT pg_reload_conf()")
	p.eventually(func() bool {
		return p.count("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1
	}, "the replica is synchronous")
	s := p.semaphore(p.g, 1)
	p.acquire(p.semaphore(p.f, 1)).Release()
	held := p.acquire(s)
	p.failOver()
	served := make(chan *fleet.Permit, 1)
	go func() {
		q, err := p.semaphore(p.f, 1).AcquirePermit(p.ctx, 1)
		if err != nil {
			t.Error(err)
		}
		served <- q
	}()
	p.eventually(func() bool { // by a process that knows only what is there now
		sem, err := p.g.Semaphore(p.ctx, "other", 1)
		if err != nil {
			return false
		}
		q, err := sem.AcquirePermit(p.ctx, 1)
		q.Release()
		return err == nil
	}, "the replica serves")
	require.True(t, held.Valid())
	require.Empty(t, served)
	held.Release()
	q := <-served
	require.Greater(t, q.Token().Order(), held.Token().Order())
	q.Release()
}

// An asynchronous replica may lack what was granted last. It is lost, once its process notices, and
// tokens go on growing.
func TestAnAsynchronousReplicaTakesOver(t *testing.T) {
	p := withReplica(t, 5*time.Second)
	s := p.semaphore(p.g, 1)
	first := p.acquire(p.semaphore(p.f, 1))
	first.Release()
	db := operator(t, p.replica)
	p.eventually(func() bool {
		return p.count(`SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()`) == 1
	}, "the replica has all until now")
	_, err := db.Exec(p.ctx, "ALTER SYSTEM SET primary_conninfo = ''")
	require.NoError(t, err)
	_, err = db.Exec(p.ctx, "SELECT pg_reload_conf()")
	require.NoError(t, err)
	p.eventually(func() bool { return p.count("SELECT count(*) FROM pg_stat_replication") == 0 }, "the replica is apart")
	held := p.acquire(s) // from f, and only the primary knows
	p.failOver()
	<-held.Lost()
	held.Release()
	for _, f := range []*fleet.Fleet{p.f, p.g} {
		q := p.acquire(p.semaphore(f, 1))
		require.Greater(t, q.Token().Order(), held.Token().Order())
		q.Release()
	}
}
