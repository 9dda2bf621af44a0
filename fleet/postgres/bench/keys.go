//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/farad-go/farad/fleet"
)

// keys counts what a cap for each key costs: 5 permits of a key, 50 processes.
func (b *bench) keys() (rows []row, err error) {
	const processes = 50
	m := newMeter()
	fs, end, err := b.members(processes, func() *pgx.ConnConfig { return m.on(b.config()) })
	if err != nil {
		return nil, err
	}
	defer end()
	for _, load := range []struct{ keys, acquires int }{{1, 10_000}, {1000, 20_000}, {100_000, 20_000}} {
		before, err := b.changes()
		if err != nil {
			return nil, err
		}
		m.read()
		if err := b.useKeys(fs, load.keys, load.acquires); err != nil {
			return nil, err
		}
		asked, calls := m.read()
		after, err := b.changes()
		if err != nil {
			return nil, err
		}
		rate, what, err := b.resting(m, processes)
		if err != nil {
			return nil, err
		}
		var left int
		const lines = "SELECT count(*) FROM farad.line WHERE name LIKE 'keyed/%'"
		if err := b.db.QueryRow(b.ctx, lines).Scan(&left); err != nil {
			return nil, err
		}
		n := float64(load.acquires)
		name := fmt.Sprintf("50 processes × 8 goroutines, %d keys, held 1 ms", load.keys)
		rows = append(rows,
			row{what: name + ": statements an acquire", ours: parts(calls, n), ratio: float64(asked) / n},
			row{what: "the same: changes an acquire", ratio: float64(after-before) / n},
			row{what: "at rest after it: statements a second and process", ours: what, ratio: rate, most: 1},
			row{what: "the same: rows of keys that are left", ratio: float64(left)},
		)
	}
	return rows, nil
}

// changes returns how many changes there were in the namespace.
func (b *bench) changes() (n int64, err error) {
	err = b.db.QueryRow(b.ctx, "SELECT coalesce(sum(n), 0)::bigint FROM farad.space").Scan(&n)
	return n, err
}

// useKeys has all processes acquire one permit each time, of keys in random order.
func (b *bench) useKeys(fs []*fleet.Fleet, keys, acquires int) error {
	order := rand.Perm(acquires)
	var next atomic.Int64
	var users sync.WaitGroup
	failed := make(chan error, len(fs)*goroutines)
	name := b.name()
	for _, f := range fs {
		caps, err := f.Keyed(b.ctx, name, 5)
		if err != nil {
			return err
		}
		for range goroutines {
			users.Go(func() {
				for i := next.Add(1); i <= int64(acquires); i = next.Add(1) {
					key := fmt.Sprint("tenant ", order[i-1]%keys)
					p, err := caps.Acquire(b.ctx, key, 1)
					if err != nil {
						failed <- err
						return
					}
					time.Sleep(time.Millisecond)
					p.Release()
				}
			})
		}
	}
	users.Wait()
	select {
	case err := <-failed:
		return err
	case <-time.After(time.Second): // keys that were used last are closed
		return nil
	}
}
