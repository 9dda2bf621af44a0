//go:build unix

// Command bench measures what permits of a fleet cost in PostgreSQL, beside locks that its users
// have today: ratios in one run, on a server of its own, with fsync. It prints a table in Markdown.
//
//	go -C fleet/postgres run ./bench
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/postgres/internal/pgtest"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each pair is measured; the medians are shown")
	only := flag.String("only", "", "measure one group of rows only: loads, one, bloat, kills, rest, keys")
	slice := flag.Duration("time", 2*time.Second, "how long each measurement lasts")
	fsync := flag.String("fsync", "on", "of the server; off: for rows that only count, on a disk that others use")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *fsync, *rounds, *slice); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

const (
	clients    = 3 // which share nothing but the server
	goroutines = 8 // of each
)

// A bench has what all rows need.
type bench struct {
	ctx    context.Context
	server *pgtest.Server
	db     *pgx.Conn
	rounds int
	slice  time.Duration
	names  int // of locks, so that each measurement has its own
}

func run(ctx context.Context, only, fsync string, rounds int, slice time.Duration) (err error) {
	s, err := pgtest.Start("fsync="+fsync, "shared_buffers=128MB")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	b := &bench{ctx: ctx, server: s, rounds: rounds, slice: slice}
	if b.db, err = pgx.ConnectConfig(ctx, s.Config("postgres")); err != nil {
		return err
	}
	defer func() { _ = b.db.Close(context.Background()) }()
	if err := postgres.Create(ctx, b.db); err != nil {
		return err
	}
	if _, err := b.db.Exec(ctx, rivalsSchema); err != nil {
		return err
	}
	trip, err := b.roundTrip()
	if err != nil {
		return err
	}
	fmt.Printf("%d clients × %d goroutines unless said otherwise. Medians of %d rounds of %v. ",
		clients, goroutines, rounds, slice)
	fmt.Printf("A transaction takes %v.\n\n", trip.Round(10*time.Microsecond))
	fmt.Println("| what | Farad | other | ratio | target | |\n|---|---|---|---|---|---|")
	for _, group := range []struct {
		name    string
		measure func() ([]row, error)
	}{
		{"loads", b.loads},
		{"one", b.oneProcess},
		{"bloat", b.bloat},
		{"kills", b.kills},
		{"rest", b.rest},
		{"keys", b.keys},
	} {
		if only != "" && only != group.name {
			continue
		}
		rows, err := group.measure()
		if err != nil {
			return err
		}
		for _, r := range rows {
			fmt.Println(r)
		}
	}
	return nil
}

// A row is a figure and its target.
type row struct {
	what, ours, other string
	ratio             float64
	least, most       float64 // the target: one of them, or none
	unit              string  // of ratio, where it is none
}

func (r row) String() string {
	target, verdict := "", ""
	switch {
	case r.least > 0:
		target, verdict = fmt.Sprintf("≥ %g%s", r.least, r.unit), met(r.ratio >= r.least)
	case r.most > 0:
		target, verdict = fmt.Sprintf("≤ %g%s", r.most, r.unit), met(r.ratio <= r.most)
	}
	return fmt.Sprintf("| %s | %s | %s | %.3g%s | %s | %s |", r.what, r.ours, r.other, r.ratio, r.unit, target, verdict)
}

func met(is bool) string {
	if is {
		return "met"
	}
	return "**missed**"
}

func median[T cmp.Ordered](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

func (b *bench) name() string {
	b.names++
	return fmt.Sprintf("lock%d", b.names)
}

// roundTrip measures a transaction that writes.
func (b *bench) roundTrip() (time.Duration, error) {
	var all []time.Duration
	for range 50 {
		began := time.Now()
		if _, err := b.db.Exec(b.ctx, "UPDATE rivals SET n = n + 1 WHERE id = 0"); err != nil {
			return 0, err
		}
		all = append(all, time.Since(began))
	}
	return median(all), nil
}

// members joins n processes' worth of fleet, and returns what ends them.
func (b *bench) members(n int, config func() *pgx.ConnConfig) (fs []*fleet.Fleet, end func(), err error) {
	end = func() {
		for _, f := range fs {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			if err := f.Close(ctx); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", err)
			}
			cancel()
		}
	}
	for range n {
		f, err := fleet.New(b.ctx, postgres.New(config(), "bench"))
		if err != nil {
			end()
			return nil, nil, err
		}
		fs = append(fs, f)
	}
	return fs, end, nil
}

func (b *bench) config() *pgx.ConnConfig { return b.server.Config("postgres") }
