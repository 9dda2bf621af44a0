//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/postgres"
)

var (
	chaosFor  = flag.Duration("for", 0, "how long faults happen; 0: a few seconds, or ten minutes under FARAD_STRESS")
	chaosSeed = flag.Uint64("seed", 0, "of the faults; 0: any")
)

// A cable is how a process reaches the server. It can be cut.
type cable struct {
	mu   sync.Mutex
	cut  bool
	open []net.Conn
}

var errCut = errors.New("the cable is cut")

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return nil, errCut
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		c.open = append(c.open, conn)
	}
	return conn, err
}

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	for _, conn := range c.open {
		_ = conn.Close()
	}
	c.open = nil
}

// A worker is a goroutine of a process. Under a lock it reads a number in the database, and writes
// what follows it. Now and then it does not look at its permit for longer than a lease lasts, as if
// it were paused.
type worker struct {
	*world
	cable   *cable
	lock    string
	acquire func(ctx context.Context) (*fleet.Permit, error)
	rand    *rand.Rand
}

// locks are all kinds of which one is held at a time, by name.
func (w *world) locks(f *fleet.Fleet) map[string]func(ctx context.Context) (*fleet.Permit, error) {
	m, err := f.Mutex(w.ctx, "m")
	require.NoError(w, err)
	rw, err := f.RWMutex(w.ctx, "rw")
	require.NoError(w, err)
	k, err := f.Keyed(w.ctx, "k", 1)
	require.NoError(w, err)
	e, err := f.Election(w.ctx, "e")
	require.NoError(w, err)
	return map[string]func(ctx context.Context) (*fleet.Permit, error){
		"mutex":    m.Lock,
		"rwmutex":  rw.Lock,
		"key":      func(ctx context.Context) (*fleet.Permit, error) { return k.Acquire(ctx, "key", 1) },
		"election": e.Campaign,
	}
}

const chaosTTL = 2 * time.Second

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := w.acquire(ctx)
		if err != nil {
			continue // the end, or a refusal
		}
		if err := w.write(ctx, p); err != nil && !errors.Is(err, fence.ErrStale) {
			time.Sleep(time.Millisecond) // the server is down
		}
		p.Release()
	}
}

// write writes twice: what checks tokens, and what does not.
func (w *worker) write(ctx context.Context, p *fleet.Permit) error {
	db, err := pgx.ConnectConfig(ctx, w.server.Config("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close(context.Background()) }()
	var fenced, plain int
	order := p.Token().Order()
	err = db.QueryRow(ctx, "UPDATE account SET fence = $1 WHERE lock = $2 AND fence <= $1 RETURNING n", order, w.lock).Scan(&fenced)
	if errors.Is(err, pgx.ErrNoRows) {
		return fence.ErrStale
	}
	if err == nil {
		err = db.QueryRow(ctx, "SELECT n FROM plain WHERE lock = $1", w.lock).Scan(&plain)
	}
	if err != nil || !p.Valid() {
		return err
	}
	if w.rand.IntN(50) == 0 {
		w.cable.set(true)
		defer w.cable.set(false)
		time.Sleep(rand.N(2 * chaosTTL))
	}
	_, err = db.Exec(ctx,
		"WITH new AS (UPDATE plain SET n = $1 + 1 WHERE lock = $2) INSERT INTO plain_log VALUES ($2, $1)", plain, w.lock)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "UPDATE account SET fence = $1, n = $2 + 1 WHERE lock = $3 AND fence <= $1", order, fenced, w.lock)
		if err == nil && tag.RowsAffected() == 0 {
			err = fence.ErrStale
		}
		if err == nil {
			_, err = tx.Exec(ctx, "INSERT INTO account_log VALUES ($1, $2)", w.lock, fenced)
		}
		return err
	})
}

// Whatever fails, no write of a process that has lost what it held is accepted with its token: no
// two follow the same number.
func TestAnythingFails(t *testing.T) {
	w := onOwn(t)
	long := *chaosFor
	switch {
	case long > 0:
	case os.Getenv("FARAD_STRESS") != "":
		long = 10 * time.Minute
	default:
		long = 5 * time.Second
	}
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d -for %v", seed, long)
	w.exec(`
		CREATE TABLE account (lock text NOT NULL, n integer NOT NULL, fence text COLLATE "C" NOT NULL);
		CREATE TABLE account_log (lock text NOT NULL, n integer NOT NULL);
		CREATE TABLE plain (lock text NOT NULL, n integer NOT NULL);
		CREATE TABLE plain_log (lock text NOT NULL, n integer NOT NULL);`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var running sync.WaitGroup
	var cables []*cable
	for i := range uint64(4) {
		c := &cable{}
		cables = append(cables, c)
		config := w.server.Config("worker")
		config.DialFunc = c.dial
		f, err := fleet.New(w.ctx, postgres.New(config, w.ns), fleet.WithTTL(chaosTTL))
		require.NoError(t, err)
		var workers sync.WaitGroup
		for lock, acquire := range w.locks(f) {
			if i == 0 {
				w.exec("INSERT INTO account VALUES ($1, 0, '')", lock)
				w.exec("INSERT INTO plain VALUES ($1, 0)", lock)
			}
			r := rand.New(rand.NewPCG(seed, i))
			workers.Go(func() { (&worker{w, c, lock, acquire, r}).run(ctx) })
		}
		running.Go(func() {
			workers.Wait()
			closing, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			assert.NoError(t, f.Close(closing))
		})
	}
	w.faults(seed, long, cables)
	db := operator(t, w.server)
	count := func(sql, lock string) (n int) {
		require.NoError(t, db.QueryRow(context.Background(), sql, lock).Scan(&n))
		return n
	}
	const (
		writes = "SELECT count(*) FROM account_log WHERE lock = $1"
		lost   = "SELECT count(*) - count(DISTINCT n) FROM account_log WHERE lock = $1"
		plain  = "SELECT count(*) - count(DISTINCT n) FROM plain_log WHERE lock = $1"
	)
	locks := []string{"mutex", "rwmutex", "key", "election"}
	for _, lock := range locks {
		before := count(writes, lock)
		for began := time.Now(); count(writes, lock) <= before+10; time.Sleep(10 * time.Millisecond) {
			require.Less(t, time.Since(began), patience, "all goes on once nothing fails")
		}
	}
	cancel()
	running.Wait()
	for _, lock := range locks {
		t.Logf("%s: writes %d; twice after the same number: %d fenced, %d unfenced",
			lock, count(writes, lock), count(lost, lock), count(plain, lock))
		require.Zero(t, count(lost, lock), "a write was lost")
		require.Equal(t, count(writes, lock), count("SELECT n FROM account WHERE lock = $1", lock))
	}
}

// faults has faults happen, one after the other.
func (w *world) faults(seed uint64, long time.Duration, cables []*cable) {
	w.Helper()
	r := rand.New(rand.NewPCG(seed, 1000))
	count := map[string]int{}
	for end := time.Now().Add(long); time.Now().Before(end); {
		time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
		var fault string
		var err error
		switch r.IntN(6) {
		case 0:
			fault = "the server is killed"
			w.server.Kill()
			time.Sleep(time.Duration(r.Int64N(int64(chaosTTL))))
			err = w.server.Run()
		case 1:
			fault = "the server stands still"
			w.server.Pause()
			time.Sleep(time.Duration(r.Int64N(int64(2 * chaosTTL))))
			w.server.Resume()
		case 2:
			fault = "connections are cut"
			w.asOperator("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'worker'")
		case 3:
			fault = "a session is deleted"
			w.asOperator("DELETE FROM farad.session WHERE lease = (SELECT lease FROM farad.session ORDER BY random() LIMIT 1)")
		case 4:
			fault = "a process is cut off"
			c := cables[r.IntN(len(cables))]
			c.set(true)
			time.Sleep(time.Duration(r.Int64N(int64(2 * chaosTTL))))
			c.set(false)
		case 5:
			fault = "a transaction has the namespace"
			w.asOperator(fmt.Sprintf("SELECT pg_sleep(%f) FROM (SELECT FROM farad.space FOR UPDATE) x", 2*r.Float64()))
		}
		require.NoError(w, err)
		count[fault]++
	}
	w.Log(count)
}

// asOperator does something by a connection of its own, if the server lets it.
func (w *world) asOperator(sql string) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	db, err := pgx.ConnectConfig(ctx, w.server.Config("postgres"))
	require.NoError(w, err)
	defer func() { _ = db.Close(ctx) }()
	_, err = db.Exec(ctx, sql)
	require.NoError(w, err)
}
