//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/farad-go/farad/fleet"
)

// A size is what the tables have grown to.
type size struct{ updates, hot, dead, bytes int64 }

// size returns it once the server's processes have reported.
func (b *bench) size() (s size, err error) {
	select {
	case <-time.After(2 * time.Second): // they report once a second
	case <-b.ctx.Done():
		return s, b.ctx.Err()
	}
	err = b.db.QueryRow(b.ctx, `SELECT sum(n_tup_upd), sum(n_tup_hot_upd), sum(n_dead_tup),
		sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables WHERE schemaname = 'farad'`).
		Scan(&s.updates, &s.hot, &s.dead, &s.bytes)
	return s, err
}

// bloat has three clients hand permits on, and looks at what is left. Vacuum is off meanwhile. Then
// the same happens beside a long transaction of somebody else.
func (b *bench) bloat() (rows []row, err error) {
	const off = "ALTER TABLE farad.%s SET (autovacuum_enabled = off)"
	for _, table := range []string{"space", "session", "line", "change"} {
		if _, err := b.db.Exec(b.ctx, fmt.Sprintf(off, table)); err != nil {
			return nil, err
		}
	}
	if rows, err = b.bloatBeside("without vacuum"); err != nil {
		return nil, err
	}
	other, err := pgx.ConnectConfig(b.ctx, b.config())
	if err != nil {
		return nil, err
	}
	defer func() { _ = other.Close(context.Background()) }()
	tx, err := other.BeginTx(b.ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return nil, err
	}
	if _, err := tx.Exec(b.ctx, "SELECT FROM rivals"); err != nil { // takes the snapshot
		return nil, err
	}
	beside, err := b.bloatBeside("beside a long transaction")
	return append(rows, beside...), errors.Join(err, tx.Rollback(b.ctx))
}

func (b *bench) bloatBeside(what string) ([]row, error) {
	m := newMeter()
	fs, end, err := b.members(clients, func() *pgx.ConnConfig { return m.on(b.config()) })
	if err != nil {
		return nil, err
	}
	defer end()
	pairs, err := b.fleetPairs(fs, 1)
	if err != nil {
		return nil, err
	}
	for n := int64(0); n < 1100; { // until there are rows for all changes that are kept
		if _, _, err := b.load(pairs, 0); err != nil {
			return nil, err
		}
		if n, err = b.changes(); err != nil {
			return nil, err
		}
	}
	before, err := b.size()
	if err != nil {
		return nil, err
	}
	long := *b
	long.slice = 10 * b.slice
	m.read()
	_, n, err := long.load(pairs, time.Millisecond)
	if err != nil {
		return nil, err
	}
	asked, calls := m.read()
	after, err := b.size()
	if err != nil {
		return nil, err
	}
	million := float64(n) / 1e6
	updates := float64(after.updates - before.updates)
	what = ", " + what
	return []row{
		{
			what: fmt.Sprintf("statements an acquire, of %d, held 1 ms%s", n, what),
			ours: parts(calls, float64(n)), ratio: float64(asked) / float64(n),
		},
		{what: "updates an acquire" + what, ratio: updates / float64(n)},
		{what: "updates that are HOT" + what, ratio: 100 * float64(after.hot-before.hot) / updates, unit: " %"},
		{what: "dead rows a million acquires" + what, ratio: float64(after.dead-before.dead) / million},
		{what: "bytes a million acquires" + what, ratio: float64(after.bytes-before.bytes) / million},
	}, nil
}

// A line is the connections of a process, which can die.
type line struct {
	mu   sync.Mutex
	dead bool
	all  []net.Conn
}

func (l *line) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return nil, errors.New("dead")
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err == nil {
		l.all = append(l.all, c)
	}
	return c, err
}

func (l *line) die() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead = true
	for _, c := range l.all {
		_ = c.Close()
	}
}

// kills measures when the permits of a process are back whose connections end, as those of a killed
// one do.
func (b *bench) kills() ([]row, error) {
	var all []time.Duration
	for range b.rounds {
		l := &line{}
		took, err := b.kill(l)
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	worst := time.Duration(0)
	for _, d := range all {
		worst = max(worst, d)
	}
	return []row{{
		what: "a client dies: its permit is back after, at most", ratio: worst.Seconds(), most: 6, unit: " s",
	}}, nil
}

func (b *bench) kill(l *line) (time.Duration, error) {
	dying, _, err := b.members(1, func() *pgx.ConnConfig {
		c := b.config()
		c.DialFunc = l.dial
		return c
	})
	if err != nil {
		return 0, err
	}
	fs, end, err := b.members(1, b.config)
	if err != nil {
		return 0, err
	}
	defer end()
	pairs, err := b.fleetPairs(append(dying, fs...), 1)
	if err != nil {
		return 0, err
	}
	release, err := pairs[0](b.ctx, 0)
	if err != nil {
		return 0, err
	}
	l.die()
	began := time.Now()
	other, err := pairs[1](b.ctx, 0)
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	ctx, cancel := context.WithTimeout(b.ctx, time.Second)
	defer cancel()
	err = errors.Join(release(), other())
	_ = dying[0].Close(ctx) // it cannot
	return took, err
}

// rest counts what processes ask that do nothing.
func (b *bench) rest() ([]row, error) {
	const processes, locks = 50, 10
	// Those of earlier processes are closed later, as they are not used.
	const connections = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
	var others, open int64
	if err := b.db.QueryRow(b.ctx, connections).Scan(&others); err != nil {
		return nil, err
	}
	m := newMeter()
	fs, end, err := b.members(processes, func() *pgx.ConnConfig { return m.on(b.config()) })
	if err != nil {
		return nil, err
	}
	defer end()
	for range locks {
		pairs, err := b.fleetPairs(fs, processes)
		if err != nil {
			return nil, err
		}
		for _, p := range pairs {
			release, err := p(b.ctx, 0)
			if err == nil {
				err = release()
			}
			if err != nil {
				return nil, err
			}
		}
	}
	rate, what, err := b.resting(m, processes)
	if err != nil {
		return nil, err
	}
	if err := b.db.QueryRow(b.ctx, connections).Scan(&open); err != nil {
		return nil, err
	}
	return []row{
		{
			what: "at rest: statements a second and process, 50 processes × 10 semaphores",
			ours: what, ratio: rate, most: 1,
		},
		{what: "the same: connections a process", ratio: float64(open-others) / processes, most: 2},
	}, nil
}

// resting returns how many statements a second each of n processes makes that do nothing, and
// which.
func (b *bench) resting(m *meter, n int) (rate float64, what string, err error) {
	for _, wait := range []time.Duration{2 * fleet.DefaultTTL, 6 * fleet.DefaultTTL} { // what is late; what is counted
		m.read()
		select {
		case <-time.After(wait):
		case <-b.ctx.Done():
			return 0, "", b.ctx.Err()
		}
		rate = float64(n) * wait.Seconds()
	}
	all, calls := m.read()
	return float64(all) / rate, parts(calls, rate), nil
}
