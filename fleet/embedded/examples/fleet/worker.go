package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/embedded/internal/child"
	"github.com/farad-go/farad/fleet/etcd"
	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/fence/httpfence"
)

const (
	workerRole = "fleet worker"

	// ttl is shorter than the default, so that more can be shown in less time. It is long enough
	// for the members to elect a leader meanwhile.
	ttl = 4 * time.Second

	// hands is how many jobs a worker does at a time, if it gets the permits. Six workers want
	// about twice as many permits as there are.
	hands = 6

	closeWithin = 3 * time.Second
	again       = 100 * time.Millisecond
)

// A workerConfig is what the process of a worker has to know.
type workerConfig struct {
	Who       who
	Endpoints []string // of etcd
	Ledger    string
}

var _ child.Role[workerConfig] = runWorker

// runWorker does jobs until ctx ends.
func runWorker(ctx context.Context, c workerConfig, _ func(any) error) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: c.Endpoints, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer client.Close()
	f, sem := join(ctx, client)
	if f == nil {
		return nil
	}
	w := &worker{workerConfig: c, sem: sem, http: http.Client{Transport: httpfence.Transport(nil)}}
	var all sync.WaitGroup
	for range hands {
		all.Go(func() {
			for ctx.Err() == nil {
				w.turn(ctx)
			}
		})
	}
	all.Wait()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeWithin)
	defer cancel()
	err = f.Close(closing)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // what is left comes back when the lease ends
	}
	return err
}

// join becomes a member of the fleet. It tries until ctx ends: the members may have no leader now.
func join(ctx context.Context, client *clientv3.Client) (*fleet.Fleet, *fleet.Semaphore) {
	for ctx.Err() == nil {
		f, err := fleet.New(ctx, etcd.New(client, "example"), fleet.WithTTL(ttl))
		if err == nil {
			sem, err := f.Semaphore(ctx, "jobs", permits)
			if err == nil {
				return f, sem
			}
			_ = f.Close(ctx) // the lease ends anyway
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
	return nil, nil
}

type worker struct {
	workerConfig
	sem  *fleet.Semaphore
	http http.Client
}

// turn does one job. Whatever goes wrong, the ledger gives the job to somebody else.
func (w *worker) turn(ctx context.Context) {
	weight := 1 + rand.Int64N(maxWeight)
	asked := time.Now()
	p, err := w.sem.AcquirePermit(ctx, weight)
	if err != nil {
		return
	}
	defer p.Release()
	// A job that has begun is brought to its end.
	ctx = fence.NewContext(context.WithoutCancel(ctx), p.Token())
	var j beginReply
	if w.ask(ctx, "/begin", beginRequest{w.Who, weight, time.Since(asked)}, &j) != nil {
		return
	}
	// A careful worker stops at p.Lost() and so saves useless work. This one does not: to look
	// would make what follows rare, but not impossible. A worker can be paused after the look, too.
	time.Sleep(j.Takes)
	_ = w.ask(ctx, "/end", endRequest{j.Number}, new(struct{})) // refused: it is another one's job now
}

var errRefused = errors.New("refused")

// ask sends a request with the token that ctx carries, and reads the reply.
func (w *worker) ask(ctx context.Context, path string, request, reply any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Ledger+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := w.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s", errRefused, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(reply)
}
