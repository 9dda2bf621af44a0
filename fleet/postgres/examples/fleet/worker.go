//go:build unix

package main

import (
	"context"
	"errors"
	"log"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/postgres"
)

const (
	namespace = "example"
	keyed     = "exports"

	// ttl is shorter than the default, so that more can be shown in less time.
	ttl = 2 * time.Second

	// hands is how many jobs of a tenant a worker does at a time, if it gets the permits.
	hands = 2

	usual       = 2 // the cap of a tenant that has none of its own
	closeWithin = 3 * time.Second
)

var tenants = []string{"acme", "globex", "initech"}

// A workerConfig is what the process of a worker has to know.
type workerConfig struct{ Name, Server string }

// runWorker does jobs until ctx ends.
func runWorker(ctx context.Context, c workerConfig) error {
	config, err := pgx.ParseConfig(c.Server)
	if err != nil {
		return err
	}
	f, exports := join(ctx, config, c.Name)
	if f == nil {
		return nil
	}
	var all sync.WaitGroup
	for _, tenant := range tenants {
		for range hands {
			all.Go(func() {
				h := hand{exports: exports, tenant: tenant, worker: c.Name, db: client{config: config}}
				defer h.db.close()
				for ctx.Err() == nil {
					if !h.turn(ctx) {
						pause(ctx, again)
					}
				}
			})
		}
	}
	all.Wait()
	return leave(ctx, f)
}

// leave ends the membership. What cannot be returned in time comes back when the lease ends.
func leave(ctx context.Context, f *fleet.Fleet) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	if err := f.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// join becomes a member of the fleet. It tries until ctx ends: the server may be down.
func join(ctx context.Context, config *pgx.ConnConfig, name string) (*fleet.Fleet, *fleet.Keyed) {
	for ctx.Err() == nil {
		f, err := fleet.New(ctx, postgres.New(config, namespace), fleet.WithTTL(ttl), fleet.WithName(name))
		if err == nil {
			exports, err := f.Keyed(ctx, keyed, usual)
			if err == nil {
				return f, exports
			}
			_ = f.Close(ctx) // the lease ends anyway
		}
		pause(ctx, again)
	}
	return nil, nil
}

// A hand does one job of a tenant after the other.
type hand struct {
	exports        *fleet.Keyed
	tenant, worker string
	db             client
}

// turn does a job, and reports whether there was one.
func (h *hand) turn(ctx context.Context) bool {
	p, err := h.exports.Acquire(ctx, h.tenant, 1)
	if err != nil {
		return false
	}
	defer p.Release()
	ctx = context.WithoutCancel(ctx) // a job that has begun is brought to its end
	var j job
	err = h.db.do(ctx, func(tx pgx.Tx) (err error) {
		j, err = begin(ctx, tx, h.tenant, h.worker, p.Token())
		return err
	})
	switch {
	case errors.Is(err, errNoJob), errors.Is(err, fence.ErrStale):
		return false
	case err != nil:
		log.Fatal(err)
	}
	// A careful worker stops at p.Lost() and so saves useless work. This one does not: to look
	// would make what follows rare, but not impossible. A worker can be paused after the look, too.
	time.Sleep(j.takes)
	err = h.db.do(ctx, func(tx pgx.Tx) error { return finish(ctx, tx, h.tenant, j, p.Token()) })
	if errors.Is(err, fence.ErrStale) { // it is another one's job now
		err = h.db.do(ctx, func(tx pgx.Tx) error { return note(ctx, tx, "refused", j, p.Token()) })
	}
	if err != nil {
		log.Fatal(err)
	}
	return true
}
