package main

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/embedded/internal/child"
	"github.com/farad-go/farad/fleet/etcd"
)

const held = time.Millisecond

func rate(v float64) string { return fmt.Sprintf("%.3g/s", v) }

// versus is the row of two rates, ours first.
func versus(what string, m []float64, least float64) row {
	return row{what: what, ours: rate(m[0]), other: rate(m[1]), ratio: m[0] / m[1], least: least}
}

func (b *bench) noHold() ([]row, error) {
	m, err := b.medians(result.rate,
		func() (result, error) { return b.fleetLoad(3, 1, 0) },
		func() (result, error) { return b.etcdLoad(3, 0) })
	if err != nil {
		return nil, err
	}
	return []row{versus("one permit, no hold ÷ `concurrency.Mutex`", m, 4000)}, nil
}

func (b *bench) oneProcess() ([]row, error) {
	m, err := b.medians(result.rate, b.localLoad,
		func() (result, error) { return b.oneProcessLoad(false) },
		func() (result, error) { return b.oneProcessLoad(true) })
	if err != nil {
		return nil, err
	}
	ns := func(v float64) string { return fmt.Sprintf("%.0f ns", 1e9/v) }
	return []row{
		{what: "one process ÷ a local semaphore", ours: ns(m[1]), other: ns(m[0]), ratio: m[0] / m[1], most: 3},
		{what: "the same with a token", ours: ns(m[2]), other: ns(m[0]), ratio: m[0] / m[2], most: 9},
	}, nil
}

func (b *bench) held() ([]row, error) {
	one, err := b.medians(result.rate,
		func() (result, error) { return b.fleetLoad(3, 1, held) },
		func() (result, error) { return b.etcdLoad(3, held) })
	if err != nil {
		return nil, err
	}
	four, err := b.medians(result.rate,
		func() (result, error) { return b.fleetLoad(3, 4, held) },
		func() (result, error) { return b.entryLoad(3, 4, held) })
	if err != nil {
		return nil, err
	}
	writes, err := b.medians(func(r result) float64 { return float64(r.writes) / r.total() },
		func() (result, error) { return b.fleetLoad(3, 1, held) },
		func() (result, error) { return b.fleetLoad(3, 4, held) })
	if err != nil {
		return nil, err
	}
	return []row{
		versus("one permit, held 1 ms, tenure 20 ms ÷ `concurrency.Mutex`", one, 3.5),
		versus("four permits, held 1 ms ÷ an entry an acquire", four, 4),
		{what: "writes an acquire, one permit, held 1 ms", ratio: writes[0], most: 0.2},
		{what: "writes an acquire, four permits, held 1 ms", ratio: writes[1], most: 0.2},
	}, nil
}

func (b *bench) fairness() ([]row, error) {
	var rows []row
	for _, c := range []struct {
		what    string
		clients int
		size    int64
		hold    time.Duration
		least   float64
	}{
		{"3 clients, one permit, held 1 ms", 3, 1, held, 0.98},
		{"3 clients, four permits, held 1 ms", 3, 4, held, 0.98},
		{"20 clients, four permits, held 1 ms", 20, 4, held, 0.95},
		{"3 clients, one permit, no hold", 3, 1, 0, 0.95},
	} {
		load := func() (result, error) { return b.fleetLoad(c.clients, c.size, c.hold) }
		slice := b.slice
		b.slice *= time.Duration(max(1, c.clients/5)) // each must have had a few turns
		m, err := b.medians(result.jain, load)
		b.slice = slice
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{what: "Jain's index: " + c.what, ratio: m[0], least: c.least})
	}
	return rows, nil
}

// waits compares the longest wait of any client with what the order promises: each other client
// before it has a block for a tenure, and then four round trips pass.
func (b *bench) waits() ([]row, error) {
	const clients = 3
	m, err := b.medians(func(r result) float64 {
		longest := time.Duration(0)
		for _, l := range r.longest {
			longest = max(longest, l)
		}
		// A goroutine waits for the goroutines of its own process, too: a tenure suffices for them.
		return float64(longest) / float64(clients*(fleet.DefaultTenure+4*b.trip))
	}, func() (result, error) { return b.fleetLoad(clients, 1, held) })
	if err != nil {
		return nil, err
	}
	return []row{{what: "longest wait ÷ clients × (tenure + 4 round trips)", ratio: m[0], most: 1.5}}, nil
}

func (b *bench) closing() ([]row, error) {
	var all []float64
	for range b.rounds {
		fs, end, err := b.members(1)
		if err != nil {
			end()
			return nil, err
		}
		sem, err := fs[0].Semaphore(b.ctx, b.name(), 1)
		if err == nil {
			err = sem.Acquire(b.ctx, 1)
		}
		if err != nil {
			end()
			return nil, err
		}
		sem.Release(1)
		begin := time.Now()
		end()
		all = append(all, float64(time.Since(begin))/1e6)
	}
	return []row{{what: "Close of a membership with an idle block", ratio: median(all), most: 50, unit: " ms"}}, nil
}

// A holder's config.
type holder struct {
	Endpoints []string
	Name      string
}

// hold is a process that holds the permit until it is killed.
func hold(ctx context.Context, h holder, say func(any) error) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: h.Endpoints})
	if err != nil {
		return err
	}
	f, err := fleet.New(ctx, etcd.New(c, "bench"))
	if err != nil {
		return err
	}
	sem, err := f.Semaphore(ctx, h.Name, 1)
	if err != nil {
		return err
	}
	if err := sem.Acquire(ctx, 1); err != nil {
		return err
	}
	if err := say("holds"); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// kills measures how long the permit of a process that was killed is missing.
func (b *bench) kills() ([]row, error) {
	back := func(member bool) (float64, error) {
		name := b.name()
		p, err := child.Start("holder", holder{b.cluster.Endpoints(), name})
		if err != nil {
			return 0, err
		}
		var holds string
		if err := p.Next(&holds); err != nil {
			return 0, err
		}
		fs, end, err := b.members(1)
		defer end()
		if err != nil {
			return 0, err
		}
		sem, err := fs[0].Semaphore(b.ctx, name, 1)
		if err != nil {
			return 0, err
		}
		begin := time.Now()
		if err := p.Kill(); err != nil {
			return 0, err
		}
		if member {
			leader, err := b.cluster.Leader(b.ctx)
			if err != nil {
				return 0, err
			}
			if err := b.cluster.Kill(leader); err != nil {
				return 0, err
			}
			defer func() { _ = b.cluster.Restart(b.ctx, leader) }()
		}
		if err := sem.Acquire(b.ctx, 1); err != nil {
			return 0, err
		}
		sem.Release(1)
		return time.Since(begin).Seconds(), nil
	}
	var rows []row
	for _, member := range []bool{false, true} {
		what, most := "a client is killed: its permit is back after", (fleet.DefaultTTL + time.Second).Seconds()
		if member {
			what, most = "the leader is killed with it", (fleet.DefaultTTL + 3*time.Second).Seconds()
		}
		var all []float64
		for range b.rounds {
			s, err := back(member)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
		rows = append(rows, row{what: what, ratio: median(all), most: most, unit: " s"})
	}
	return rows, nil
}
