//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/rpc"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/etcd"
	"github.com/farad-go/farad/fleet/internal/clock"
)

const workerRole = "worker"

// The locks that the workers share, and the most that may be inside.
const (
	one      = "one"  // a semaphore
	several  = "four" // a semaphore, used with weights
	mutex    = "mutex"
	rwMutex  = "rwmutex"
	election = "election"
	oneKey   = "one for each key"  // one of its keys
	someKey  = "four for each key" // one of its keys, used with weights
)

var (
	sizes = map[string]int64{
		one: 1, several: 4, mutex: 1, rwMutex: everyone, election: 1, oneKey: 1, someKey: 4,
	}
	everything = []string{one, several, mutex, rwMutex, election, oneKey, someKey}
)

// everyone is what a writer acquires.
const everyone = 1 << 30

// A workerConfig is what a worker has to know.
type workerConfig struct {
	ID        int
	Endpoints []string // of etcd
	Resource  string   // a socket
	Locks     []string
	Goroutine int // how many for each lock
}

// A worker is a process that uses the locks all the time.
type worker struct {
	workerConfig
	resource *rpc.Client
	ops      atomic.Int64
}

// runWorker is the main function of a worker.
func runWorker(ctx context.Context, config workerConfig, _ func(any) error) error {
	before := goleak.IgnoreCurrent()
	if err := work(ctx, config); err != nil {
		return err
	}
	return goleak.Find(before)
}

func work(ctx context.Context, config workerConfig) (err error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: config.Endpoints, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	w := &worker{workerConfig: config}
	if w.resource, err = rpc.Dial("unix", config.Resource); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.resource.Close()) }()
	f, err := join(ctx, client)
	if err != nil || f == nil {
		return err
	}
	failures := make(chan error, len(config.Locks)*config.Goroutine)
	var running sync.WaitGroup
	for _, lock := range config.Locks {
		acquire, err := open(ctx, f, lock)
		if err != nil {
			return err
		}
		for g := range config.Goroutine {
			r := rand.New(rand.NewPCG(uint64(config.ID), uint64(g)))
			running.Go(func() { failures <- w.use(ctx, r, lock, acquire) })
		}
	}
	running.Wait()
	close(failures)
	for failure := range failures {
		err = errors.Join(err, failure)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(err, f.Close(ctx))
}

// join joins as soon as the servers can be reached, and returns nil if ctx ends before.
func join(ctx context.Context, client *clientv3.Client) (*fleet.Fleet, error) {
	for {
		once, cancel := context.WithTimeout(ctx, time.Second)
		f, err := fleet.New(once, etcd.New(client, namespace), fleet.WithTTL(ttl))
		cancel()
		switch {
		case err == nil:
			return f, nil
		case ctx.Err() != nil:
			return nil, nil
		}
	}
}

// An acquirer acquires n permits, locks or leads. With an error there is nothing to release.
type acquirer func(ctx context.Context, n int64) (*fleet.Permit, error)

func open(ctx context.Context, f *fleet.Fleet, lock string) (acquirer, error) {
	for {
		once, cancel := context.WithTimeout(ctx, time.Second)
		acquire, err := openOnce(once, f, lock)
		cancel()
		if err == nil || ctx.Err() != nil {
			return acquire, err
		}
	}
}

func openOnce(ctx context.Context, f *fleet.Fleet, lock string) (acquirer, error) {
	switch lock {
	case mutex:
		m, err := f.Mutex(ctx, lock)
		return func(ctx context.Context, _ int64) (*fleet.Permit, error) { return m.Lock(ctx) }, err
	case rwMutex:
		m, err := f.RWMutex(ctx, lock)
		return func(ctx context.Context, n int64) (*fleet.Permit, error) {
			if n == everyone {
				return m.Lock(ctx)
			}
			return m.RLock(ctx)
		}, err
	case election:
		e, err := f.Election(ctx, lock)
		return func(ctx context.Context, _ int64) (*fleet.Permit, error) { return e.Campaign(ctx) }, err
	case oneKey, someKey:
		k, err := f.Keyed(ctx, lock, sizes[lock])
		return func(ctx context.Context, n int64) (*fleet.Permit, error) { return k.Acquire(ctx, "key", n) }, err
	default:
		s, err := f.Semaphore(ctx, lock, sizes[lock])
		return func(ctx context.Context, n int64) (*fleet.Permit, error) { return s.AcquirePermit(ctx, n) }, err
	}
}

// use acquires and releases until ctx is done.
func (w *worker) use(ctx context.Context, r *rand.Rand, lock string, acquire acquirer) error {
	var last Act
	for ctx.Err() == nil {
		n := int64(1)
		switch {
		case lock == several, lock == someKey:
			n = 1 + r.Int64N(3)
		case lock == rwMutex && r.IntN(3) == 0:
			n = everyone
		}
		called := now()
		p, err := acquire(ctx, n)
		switch {
		case errors.Is(err, fleet.ErrTooLarge): // an operator has made the size less
			time.Sleep(10 * time.Millisecond)
			continue
		case ctx.Err() != nil:
			if err == nil {
				p.Release()
			}
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", lock, err)
		}
		op := Act{
			Worker: w.ID, Lock: lock, Op: int64(w.ID)<<32 | w.ops.Add(1), N: n, Token: p.Token(),
			Called: called, Returned: now(), Last: last.Op, LastReleased: last.LastReleased,
		}
		if err := w.act(op, p); err != nil {
			return err
		}
		p.Release()
		last = Act{Op: op.Op, LastReleased: now()}
		time.Sleep(time.Duration(r.IntN(8)) * time.Millisecond)
		if r.IntN(8) == 0 {
			time.Sleep(2 * fleet.DefaultTenure) // so that a key is sometimes not in use
		}
	}
	return nil
}

// act reads and writes the resource twice. Each time it first looks at whether the permits are
// valid: the fault that only the resource can find comes after that.
func (w *worker) act(op Act, p *fleet.Permit) error {
	valid := op.Called
	for _, kind := range []Kind{Enter, Read} {
		op.Kind, op.Checked = kind, now()
		if !p.Valid() {
			return w.leave(op, valid, true)
		}
		valid = op.Checked
		for _, kind := range []Kind{kind, Write} {
			op.Kind = kind
			refused, err := w.tell(op)
			switch {
			case err != nil:
				return err
			case refused:
				return w.leave(op, valid, true)
			}
			time.Sleep(time.Millisecond)
		}
	}
	at := now()
	if p.Valid() {
		return w.leave(op, at, false)
	}
	return w.leave(op, valid, true)
}

// leave says that nothing more comes of op, and when its permits were valid for the last time.
func (w *worker) leave(op Act, valid time.Duration, lost bool) error {
	op.Kind, op.Checked, op.Lost = Leave, valid, lost
	_, err := w.tell(op)
	return err
}

func (w *worker) tell(op Act) (refused bool, err error) {
	var a Answer
	err = w.resource.Call("Resource.Act", op, &a)
	clock.Skew.Store(int64(a.Skew))
	return a.Refused, err
}
