//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/sync/semaphore"
)

// A pair acquires a permit for a goroutine of a client, and returns what releases it.
type pair func(ctx context.Context, goroutine int) (release func() error, err error)

// load has the goroutines of each client acquire, hold for a time, and release, over and over. It
// returns how often a second, and in all.
func (b *bench) load(all []pair, hold time.Duration) (rate float64, n int64, err error) {
	ctx, cancel := context.WithTimeout(b.ctx, b.slice)
	defer cancel()
	var wg sync.WaitGroup
	var count atomic.Int64
	var failed atomic.Pointer[error]
	began := time.Now()
	for _, acquire := range all {
		for g := range goroutines {
			wg.Go(func() {
				done := int64(0)
				defer func() { count.Add(done) }()
				for ctx.Err() == nil {
					release, err := acquire(ctx, g)
					if err == nil {
						done++
						if hold > 0 {
							time.Sleep(hold)
						}
						err = release()
					}
					if err != nil && ctx.Err() == nil {
						failed.Store(&err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	took := time.Since(began)
	if err := failed.Load(); err != nil {
		return 0, 0, *err
	}
	return float64(count.Load()) / took.Seconds(), count.Load(), nil
}

func (b *bench) fleetPairs(fs []*fleet.Fleet, size int64) (all []pair, err error) {
	name := b.name()
	for _, f := range fs {
		sem, err := f.Semaphore(b.ctx, name, size)
		if err != nil {
			return nil, err
		}
		release := func() error { sem.Release(1); return nil }
		all = append(all, func(ctx context.Context, _ int) (func() error, error) {
			return release, sem.Acquire(ctx, 1)
		})
	}
	return all, nil
}

func (b *bench) fleetLoad(n int, size int64, hold time.Duration) (rate float64, err error) {
	fs, end, err := b.members(n, b.config)
	if err != nil {
		return 0, err
	}
	defer end()
	pairs, err := b.fleetPairs(fs, size)
	if err != nil {
		return 0, err
	}
	rate, _, err = b.load(pairs, hold)
	return rate, err
}

const rivalsSchema = `
	CREATE TABLE rivals (id integer PRIMARY KEY, n bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
	INSERT INTO rivals SELECT generate_series(0, 4);
	CREATE TABLE leases (name text PRIMARY KEY, owner bigint NOT NULL, until timestamptz NOT NULL);`

// A rival is a lock that people write: with a connection for each goroutine.
type rival struct {
	name string
	lock func(ctx context.Context, c *pgx.Conn, id int) (unlock func() error, err error)
}

// lasting is for statements that must not be cut short: the connection would be lost.
var lasting = context.Background()

var rivals = []rival{
	{"advisory lock", func(_ context.Context, c *pgx.Conn, id int) (func() error, error) {
		if _, err := c.Exec(lasting, "SELECT pg_advisory_lock($1)", id); err != nil {
			return nil, err
		}
		return func() error {
			_, err := c.Exec(lasting, "SELECT pg_advisory_unlock($1)", id)
			return err
		}, nil
	}},
	{"`SELECT … FOR UPDATE`", func(_ context.Context, c *pgx.Conn, id int) (func() error, error) {
		tx, err := c.Begin(lasting)
		if err == nil {
			_, err = tx.Exec(lasting, "SELECT FROM rivals WHERE id = $1 FOR UPDATE", id)
		}
		return func() error { return tx.Commit(lasting) }, err
	}},
	// As cirello-io/pglock: a row, with an end, that others ask for now and then.
	{"lease table", func(ctx context.Context, c *pgx.Conn, id int) (func() error, error) {
		owner := rand.Int64()
		for {
			tag, err := c.Exec(lasting, `INSERT INTO leases VALUES ($1, $2, clock_timestamp() + interval '5 s')
				ON CONFLICT (name) DO UPDATE SET owner = $2, until = excluded.until
				WHERE leases.until < clock_timestamp()`, fmt.Sprint(id), owner)
			if err != nil {
				return nil, err
			}
			if tag.RowsAffected() > 0 {
				return func() error {
					_, err := c.Exec(lasting, "DELETE FROM leases WHERE name = $1 AND owner = $2",
						fmt.Sprint(id), owner)
					return err
				}, nil
			}
			select {
			case <-time.After(rand.N(5 * time.Millisecond)):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}},
}

// rivalLoad is load on a rival. Of several permits each acquire takes any.
func (b *bench) rivalLoad(r rival, size int, hold time.Duration) (rate float64, err error) {
	var all []pair
	var open []*pgx.Conn
	defer func() {
		for _, c := range open {
			err = errors.Join(err, c.Close(context.Background()))
		}
	}()
	for range clients {
		var conns []*pgx.Conn
		for range goroutines {
			c, err := pgx.ConnectConfig(b.ctx, b.config())
			if err != nil {
				return 0, err
			}
			conns, open = append(conns, c), append(open, c)
		}
		all = append(all, func(ctx context.Context, g int) (func() error, error) {
			return r.lock(ctx, conns[g], 1+rand.IntN(size))
		})
	}
	rate, _, err = b.load(all, hold)
	return rate, err
}

// loads measures each load beside all rivals, in turn.
func (b *bench) loads() (rows []row, err error) {
	for _, load := range []struct {
		what  string
		size  int
		hold  time.Duration
		least float64
		best  bool // only the best rival counts
	}{
		{"one permit, no hold", 1, 0, 1000, false},
		{"one permit, held 1 ms", 1, time.Millisecond, 2, true},
		{"four permits, held 1 ms", 4, time.Millisecond, 3, true},
	} {
		var ours []float64
		theirs := make([][]float64, len(rivals))
		for range b.rounds {
			rate, err := b.fleetLoad(clients, int64(load.size), load.hold)
			if err != nil {
				return nil, err
			}
			ours = append(ours, rate)
			for i, r := range rivals {
				rate, err := b.rivalLoad(r, load.size, load.hold)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", r.name, err)
				}
				theirs[i] = append(theirs[i], rate)
			}
		}
		best := 0
		for i := range rivals {
			if median(theirs[i]) > median(theirs[best]) {
				best = i
			}
		}
		for i, r := range rivals {
			if load.best && i != best {
				continue
			}
			rows = append(rows, row{
				what: load.what + " ÷ " + r.name,
				ours: persec(median(ours)), other: persec(median(theirs[i])),
				ratio: median(ours) / median(theirs[i]), least: load.least,
			})
		}
	}
	return rows, nil
}

func persec(rate float64) string { return fmt.Sprintf("%.3g/s", rate) }

// oneProcess compares with the local semaphore.
func (b *bench) oneProcess() ([]row, error) {
	var ours, theirs []float64
	for range b.rounds {
		rate, err := b.fleetLoad(1, 1, 0)
		if err != nil {
			return nil, err
		}
		ours = append(ours, rate)
		sem := semaphore.New(1)
		release := func() error { sem.Release(1); return nil }
		rate, _, err = b.load([]pair{func(ctx context.Context, _ int) (func() error, error) {
			return release, sem.Acquire(ctx, 1)
		}}, 0)
		if err != nil {
			return nil, err
		}
		theirs = append(theirs, rate)
	}
	return []row{{
		what: "one process, time ÷ a local semaphore", ours: persec(median(ours)), other: persec(median(theirs)),
		ratio: median(theirs) / median(ours), most: 3,
	}}, nil
}
