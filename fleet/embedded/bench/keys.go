package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
)

// keys counts what a cap for each key costs: 5 permits of a key, 50 processes.
func (b *bench) keys() (rows []row, err error) {
	const processes = 50
	m := &meter{}
	b.dial = m.options()
	defer func() { b.dial = nil }()
	fs, end, err := b.members(processes)
	defer end()
	if err != nil {
		return nil, err
	}
	c, err := b.cluster.Client()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for _, load := range []struct{ keys, acquires int }{{1, 10_000}, {1000, 20_000}, {100_000, 20_000}} {
		before, err := b.revision()
		if err != nil {
			return nil, err
		}
		sent := m.sent.Load()
		if err := b.useKeys(fs, load.keys, load.acquires); err != nil {
			return nil, err
		}
		sent = m.sent.Load() - sent
		after, err := b.revision()
		if err != nil {
			return nil, err
		}
		n := float64(load.acquires)
		time.Sleep(2 * fleet.DefaultTTL) // until all rest
		begin, still := time.Now(), m.sent.Load()
		time.Sleep(6 * fleet.DefaultTTL)
		left, err := c.Get(b.ctx, "bench/keyed/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err != nil {
			return nil, err
		}
		rest := float64(m.sent.Load()-still) / time.Since(begin).Seconds() / processes
		rows = append(rows,
			row{
				what:  fmt.Sprintf("50 processes × 8 goroutines, %d keys, held 1 ms: requests an acquire", load.keys),
				ratio: float64(sent) / n,
			},
			row{what: "the same: writes an acquire", ratio: float64(after-before) / n},
			row{what: "at rest after it: requests a second and process", ratio: rest, most: 1},
			row{what: "the same: keys that are left", ratio: float64(left.Count)},
		)
	}
	return rows, nil
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
					time.Sleep(held)
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
