//go:build unix

package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/farad-go/farad/fleet/fence"
)

// schema is the resource that the permits guard: jobs, and their results. A result that is there
// twice is what must not be, so nothing but tokens prevents it. A worker that is paused inside a
// transaction has a tenant's row locked: the timeout ends that.
const schema = `
CREATE TABLE tenant (
	name     text PRIMARY KEY,
	cap      bigint NOT NULL DEFAULT 0,
	fence    text COLLATE "C" NOT NULL DEFAULT '', -- of the newest token
	holders  bigint[] NOT NULL DEFAULT '{}',       -- the leases that held permits when it was granted
	most     bigint NOT NULL DEFAULT 0,            -- jobs that ran at a time
	overfull bigint NOT NULL DEFAULT 0             -- how often they were more than the cap
);
CREATE TABLE job (
	id     integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant text NOT NULL,
	takes  integer NOT NULL,                       -- milliseconds
	worker text,
	lease  bigint,                                 -- of the worker that does it
	fence  text COLLATE "C" NOT NULL DEFAULT '',   -- of the token with which it has begun
	done   boolean NOT NULL DEFAULT false
);
CREATE TABLE result  (job integer NOT NULL, fence text COLLATE "C" NOT NULL);
CREATE TABLE refused (job integer NOT NULL, fence text COLLATE "C" NOT NULL);
CREATE ROLE worker LOGIN;
ALTER ROLE worker SET idle_in_transaction_session_timeout = '1s';
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO worker;
GRANT USAGE ON SCHEMA farad TO worker;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA farad TO worker;`

// check refuses a token if the newest one that has been here does not name its lease: the permits
// were lost. If a tenant had one permit, "fence <= $2" alone would do. Unlike a fence.Gate it knows
// the newest token only. That is enough here, because a worker keeps its permit until it knows how
// its transaction has ended.
//
// It is the first statement of a transaction. It locks the tenant's row, so all that a transaction
// writes comes before what newer tokens write, or not at all.
func check(ctx context.Context, tx pgx.Tx, tenant string, t fence.Token) error {
	tag, err := tx.Exec(ctx, `
		UPDATE tenant SET fence = greatest(fence, $2), holders = CASE WHEN fence < $2 THEN $4 ELSE holders END
		WHERE name = $1 AND (fence <= $2 OR $3 = ANY (holders))`, tenant, t.Order(), t.Lease, t.Survivors)
	if err == nil && tag.RowsAffected() == 0 {
		err = fence.ErrStale
	}
	return err
}

// A job is what has to be done once.
type job struct {
	id    int
	takes time.Duration
}

var errNoJob = errors.New("there is no job")

// begin gives a job of the tenant to a worker, and counts how many run. With the same token it
// gives the same job again.
func begin(ctx context.Context, tx pgx.Tx, tenant, worker string, t fence.Token) (j job, err error) {
	if err := check(ctx, tx, tenant, t); err != nil {
		return j, err
	}
	// What a worker does that has lost its permits, as this token says, is to be done by others.
	_, err = tx.Exec(ctx, `UPDATE job SET lease = NULL
		WHERE tenant = $1 AND NOT done AND fence < $2 AND lease <> ALL ($3)`, tenant, t.Order(), t.Survivors)
	if err != nil {
		return j, err
	}
	var ms int64
	err = tx.QueryRow(ctx, `UPDATE job SET worker = $4, lease = $3, fence = $2 WHERE id = (
		SELECT id FROM job WHERE tenant = $1 AND NOT done AND (lease IS NULL OR fence = $2)
		ORDER BY fence = $2 DESC, id LIMIT 1) RETURNING id, takes`,
		tenant, t.Order(), t.Lease, worker).Scan(&j.id, &ms)
	j.takes = time.Duration(ms) * time.Millisecond
	if errors.Is(err, pgx.ErrNoRows) {
		return j, errNoJob
	}
	if err != nil {
		return j, err
	}
	_, err = tx.Exec(ctx, `UPDATE tenant SET most = greatest(most, n), overfull = overfull + (n > cap)::int
		FROM (SELECT count(*) AS n FROM job WHERE tenant = $1 AND NOT done AND lease IS NOT NULL) AS running
		WHERE name = $1`, tenant)
	return j, err
}

// finish writes the result of a job. It may be repeated.
func finish(ctx context.Context, tx pgx.Tx, tenant string, j job, t fence.Token) error {
	if err := check(ctx, tx, tenant, t); err != nil {
		return err
	}
	if err := note(ctx, tx, "result", j, t); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "UPDATE job SET done = true WHERE id = $1", j.id)
	return err
}

// note writes down what has happened to a job, once for each token.
func note(ctx context.Context, tx pgx.Tx, table string, j job, t fence.Token) error {
	_, err := tx.Exec(ctx, "INSERT INTO "+table+" SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM "+table+
		" WHERE job = $1 AND fence = $2)", j.id, t.Order())
	return err
}

// A client does one transaction after the other, by a connection that is opened again if it breaks.
type client struct {
	config *pgx.ConnConfig
	conn   *pgx.Conn
}

const again = 50 * time.Millisecond

// do does a transaction. While the server cannot be reached, or does not say how the transaction
// ended, it is repeated.
func (c *client) do(ctx context.Context, work func(pgx.Tx) error) error {
	for {
		err := c.try(ctx, work)
		if err == nil || ctx.Err() != nil || c.works() {
			return err
		}
		pause(ctx, again)
	}
}

// works reports whether there is a connection. After an error, that is the server's answer then.
func (c *client) works() bool { return c.conn != nil && !c.conn.IsClosed() }

func (c *client) try(ctx context.Context, work func(pgx.Tx) error) (err error) {
	if !c.works() {
		if c.conn, err = pgx.ConnectConfig(ctx, c.config); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, c.conn, work)
}

// number returns a number that the database knows.
func (c *client) number(ctx context.Context, sql string, args ...any) (n int, err error) {
	err = c.do(ctx, func(tx pgx.Tx) error { return tx.QueryRow(ctx, sql, args...).Scan(&n) })
	return n, err
}

func (c *client) exec(ctx context.Context, sql string, args ...any) error {
	return c.do(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	})
}

func (c *client) close() {
	if c.conn != nil {
		_ = c.conn.Close(context.Background()) // its end is the server's, too
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
