//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/postgres/internal/pgtest"
)

const (
	workers    = 6
	backlog    = 10 // jobs of a tenant that wait or run
	faultEvery = 500 * time.Millisecond
	lookEvery  = 200 * time.Millisecond

	// patience is for what must happen, on a slow machine too.
	patience = time.Minute
)

// A show is all processes, and what is done to them.
type show struct {
	server  *pgtest.Server
	exports *fleet.Keyed
	db      client // of the faults
	begun   time.Time
	screen  *screen

	// Of the faults, which come one after the other.
	crew                           [workers]hired
	kills, pauses, crashes, rounds int
	back                           []time.Duration // after a worker was killed, others could have its permits

	// Of watch, and after its end of report.
	samples []sample
	unseen  error // why there is none, although the server answers
}

// A hired worker is one process of a worker: one that is started again has another name.
type hired struct {
	name    string
	run     int
	process *process
}

// play starts everything, has things fail for a while, ends everything, and says what was found.
func play(ctx context.Context, long time.Duration, stdout, stderr io.Writer) (err error) {
	server, err := pgtest.Start("fsync=on")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	s := &show{server: server, db: client{config: server.Config("postgres")}, begun: time.Now()}
	s.screen = newScreen(stderr, s.begun)
	defer s.db.close()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	f, err := fleet.New(ctx, postgres.New(s.db.config, namespace), fleet.WithTTL(ttl))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave(ctx, f)) }()
	if s.exports, err = f.Keyed(ctx, keyed, usual); err != nil {
		return err
	}
	defer s.fire()
	return s.act(ctx, long, stdout)
}

// prepare makes the tables. An operator does it, by hand or by a migration.
func (s *show) prepare(ctx context.Context) error {
	if err := s.db.exec(ctx, "SELECT"); err != nil { // connects
		return err
	}
	if err := postgres.Create(ctx, s.db.conn); err != nil {
		return err
	}
	if _, err := s.db.conn.Exec(ctx, schema); err != nil {
		return err
	}
	return s.db.exec(ctx, "INSERT INTO tenant SELECT unnest($1::text[])", tenants)
}

func (s *show) act(ctx context.Context, long time.Duration, stdout io.Writer) error {
	if err := s.resize(ctx); err != nil {
		return err
	}
	stopWatch := s.repeat(ctx, s.watch)
	defer stopWatch()
	stopFeed := s.repeat(ctx, s.feed)
	defer stopFeed()
	for i := range s.crew {
		if err := s.start(i); err != nil {
			return err
		}
	}
	faults := []func(context.Context) error{s.killWorker, s.crash, s.resize, s.pauseWorker, s.crash}
	for i := 0; i < len(faults) || time.Since(s.begun) < long; i++ {
		pause(ctx, faultEvery)
		ctx, cancel := context.WithTimeout(ctx, patience)
		err := faults[i%len(faults)](ctx)
		cancel()
		if err != nil {
			return err
		}
	}
	stopFeed()
	if err := s.await(ctx, "SELECT count(*) FROM job WHERE NOT done"); err != nil {
		return fmt.Errorf("jobs are not done: %w", err)
	}
	var errs []error
	for _, h := range s.crew {
		errs = append(errs, h.process.stop())
	}
	stopWatch()
	return errors.Join(append(errs, s.report(ctx, stdout))...)
}

// repeat calls f again and again, with a client of its own, until ctx ends or stop is called.
func (s *show) repeat(ctx context.Context, f func(context.Context, *client)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		db := client{config: s.db.config}
		defer db.close()
		for ctx.Err() == nil {
			f(ctx, &db)
			pause(ctx, lookEvery)
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// await waits until a query counts nothing.
func (s *show) await(ctx context.Context, sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		n, err := s.db.number(ctx, sql, args...)
		if err != nil || n == 0 {
			return err
		}
		pause(ctx, again)
	}
}

// start starts worker i, or starts it again.
func (s *show) start(i int) (err error) {
	h := hired{run: s.crew[i].run + 1}
	h.name = fmt.Sprintf("%d/%d", i, h.run)
	h.process, err = startProcess(workerConfig{h.name, s.server.Config("worker").ConnString()})
	if err == nil {
		s.crew[i] = h
	}
	return err
}

// fire leaves no worker over.
func (s *show) fire() {
	for _, h := range s.crew {
		if h.process != nil {
			_ = h.process.kill() // it fails for processes that have ended
		}
	}
}

// busiest returns the worker that does most jobs, once one does.
func (s *show) busiest(ctx context.Context) (i int, err error) {
	const doing = "FROM job WHERE worker IS NOT NULL AND lease IS NOT NULL AND NOT done"
	if err := s.await(ctx, "SELECT (count(*) = 0)::int "+doing); err != nil {
		return 0, err
	}
	return s.db.number(ctx, "SELECT coalesce((SELECT split_part(worker, '/', 1)::int "+doing+
		" GROUP BY 1 ORDER BY count(*) DESC LIMIT 1), 0)")
}

const entriesOf = "SELECT count(*) FROM farad.entries WHERE who::json->>'name' = $1"

// killWorker kills a worker, and starts it again when others can have its permits.
func (s *show) killWorker(ctx context.Context) error {
	i, err := s.busiest(ctx)
	if err != nil {
		return err
	}
	h, begun := s.crew[i], time.Now()
	if err := h.process.kill(); err != nil {
		return err
	}
	s.kills++
	s.screen.say("worker %d is killed", i)
	if err := s.await(ctx, entriesOf, h.name); err != nil {
		return err
	}
	s.back = append(s.back, time.Since(begun))
	s.screen.say("worker %d starts again: others can have its permits", i)
	return s.start(i)
}

// pauseWorker pauses a worker until others have done its jobs.
func (s *show) pauseWorker(ctx context.Context) error {
	i, err := s.busiest(ctx)
	if err != nil {
		return err
	}
	h := s.crew[i]
	if err := h.process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	s.pauses++
	s.screen.say("worker %d is paused", i)
	// A job that others begin has another worker.
	err = s.await(ctx, "SELECT count(*) FROM job WHERE worker = $1 AND NOT done", h.name)
	s.screen.say("worker %d goes on: others have its jobs", i)
	return errors.Join(err, h.process.Signal(syscall.SIGCONT))
}

// crash kills the server and starts it again: soon, or later than all leases last.
func (s *show) crash(ctx context.Context) error {
	down := ttl / 4
	if s.crashes%2 == 1 {
		down = ttl + ttl/4
	}
	s.crashes++
	s.server.Kill()
	s.screen.say("the server is killed")
	pause(ctx, down)
	if err := s.server.Run(); err != nil {
		return err
	}
	s.screen.say("the server starts again after %v", down)
	return nil
}

// resize gives each tenant the cap that another one had.
func (s *show) resize(ctx context.Context) error {
	caps := []int64{4, 2, 1}
	for i, tenant := range tenants {
		if err := s.resizeTo(ctx, tenant, caps[(i+s.rounds)%len(caps)]); err != nil {
			return err
		}
	}
	s.rounds++
	if s.rounds > 1 {
		s.screen.say("the caps change")
	}
	return nil
}

// resizeTo changes a cap. Jobs are counted by the larger one until nobody holds more than the new
// one allows: that is so when somebody who asked after the change has a permit.
func (s *show) resizeTo(ctx context.Context, tenant string, n int64) error {
	if err := s.db.exec(ctx, "UPDATE tenant SET cap = greatest(cap, $2) WHERE name = $1", tenant, n); err != nil {
		return err
	}
	if err := s.exports.Resize(ctx, tenant, n); err != nil {
		return err
	}
	p, err := s.exports.Acquire(ctx, tenant, 1)
	if err != nil {
		return err
	}
	defer p.Release()
	return s.db.exec(ctx, "UPDATE tenant SET cap = $2 WHERE name = $1", tenant, n)
}

// feed keeps jobs there. It fails when ctx ends.
func (s *show) feed(ctx context.Context, db *client) {
	_ = db.exec(ctx, `INSERT INTO job (tenant, takes)
		SELECT name, 100 + random() * 400 FROM tenant, LATERAL generate_series(1, $1 -
			(SELECT count(*) FROM job WHERE tenant = name AND NOT done))`, backlog)
}

// watch takes a sample and shows it.
func (s *show) watch(ctx context.Context, db *client) {
	var now sample
	err := db.try(ctx, func(tx pgx.Tx) (err error) {
		now, err = look(ctx, tx)
		return err
	})
	if ctx.Err() != nil {
		return
	}
	now.at, now.up = time.Since(s.begun), err == nil
	if err != nil && db.works() {
		s.unseen = err
	}
	s.samples = append(s.samples, now)
	s.screen.show(&now)
}

// report shows what has happened, and returns an error if it must not have.
func (s *show) report(ctx context.Context, w io.Writer) error {
	if s.unseen != nil {
		return s.unseen
	}
	fmt.Fprintln(w, draw(s.samples))
	fmt.Fprintln(w, "tenant   jobs done  done twice  refused  most at a time  more than the cap")
	var bad int64
	err := s.db.do(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT name, count(*) FILTER (WHERE results > 0), count(*) FILTER (WHERE results > 1),
				coalesce(sum(refusals), 0), most, overfull, count(*) FILTER (WHERE results <> 1) + overfull
			FROM tenant LEFT JOIN (SELECT tenant,
				(SELECT count(*) FROM result r WHERE r.job = id) AS results,
				(SELECT count(*) FROM refused r WHERE r.job = id) AS refusals FROM job) AS j ON tenant = name
			GROUP BY name, most, overfull ORDER BY name`)
		if err != nil {
			return err
		}
		var name string
		var done, twice, refused, most, overfull, wrong int64
		_, err = pgx.ForEachRow(rows, []any{&name, &done, &twice, &refused, &most, &overfull, &wrong}, func() error {
			fmt.Fprintf(w, "%-8s %9d %11d %8d %15d %12d times\n", name, done, twice, refused, most, overfull)
			bad += wrong
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	var back []string
	for _, d := range s.back {
		back = append(back, fmt.Sprintf("%.1fs", d.Seconds()))
	}
	fmt.Fprintf(w, "\nkilled: %d workers, the server %d times; paused: %d workers\n", s.kills, s.crashes, s.pauses)
	fmt.Fprintf(w, "permits back after a kill: %s; a lease lasts %v\n", strings.Join(back, ", "), ttl)
	if bad > 0 {
		return fmt.Errorf("%d times something happened that must not", bad)
	}
	return nil
}
