package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A lineClient is what a careful user writes: a semaphore with an entry in etcd for each acquire,
// one lease and one watch a process, and weights of one. An entry holds if fewer than size entries
// precede it.
type lineClient struct {
	c      *clientv3.Client
	prefix string
	size   int
	lease  clientv3.LeaseID
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	next    int
	creates map[string]int64         // revision of each entry
	waits   map[string]chan struct{} // of own entries
}

func newLine(ctx context.Context, c *clientv3.Client, name string, size int64) (*lineClient, error) {
	lease, err := c.Grant(ctx, 60)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &lineClient{
		c: c, prefix: "entries/" + name + "/", size: int(size), lease: lease.ID,
		cancel: cancel, done: make(chan struct{}),
		creates: map[string]int64{}, waits: map[string]chan struct{}{},
	}
	r, err := c.Get(ctx, l.prefix, clientv3.WithPrefix())
	if err != nil {
		cancel()
		return nil, err
	}
	l.see(r.Kvs, nil)
	watch := c.Watch(ctx, l.prefix, clientv3.WithPrefix(), clientv3.WithRev(r.Header.GetRevision()+1))
	go func() {
		defer close(l.done)
		for r := range watch {
			for _, e := range r.Events {
				if e.Type == mvccpb.DELETE {
					l.see(nil, e.Kv)
				} else {
					l.see([]*mvccpb.KeyValue{e.Kv}, nil)
				}
			}
		}
	}()
	return l, nil
}

func (l *lineClient) see(put []*mvccpb.KeyValue, gone *mvccpb.KeyValue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, kv := range put {
		l.creates[string(kv.Key)] = kv.CreateRevision
	}
	if gone != nil {
		delete(l.creates, string(gone.Key))
	}
	for key, granted := range l.waits {
		mine, made := l.creates[key]
		if !made {
			continue
		}
		before := 0
		for _, c := range l.creates {
			if c < mine {
				before++
			}
		}
		if before < l.size {
			close(granted)
			delete(l.waits, key)
		}
	}
}

func (l *lineClient) acquire(ctx context.Context) (func(), error) {
	granted := make(chan struct{})
	l.mu.Lock()
	l.next++
	key := l.prefix + strconv.FormatInt(int64(l.lease), 16) + "/" + fmt.Sprintf("%016d", l.next)
	l.waits[key] = granted
	l.mu.Unlock()
	release := func() { _, _ = l.c.Delete(context.WithoutCancel(ctx), key) }
	if _, err := l.c.Put(ctx, key, "1", clientv3.WithLease(l.lease)); err != nil {
		return nil, fmt.Errorf("entry %s: %w", strings.TrimPrefix(key, l.prefix), err)
	}
	select {
	case <-granted:
		return release, nil
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
}

func (l *lineClient) close() {
	l.cancel()
	<-l.done
	_, _ = l.c.Revoke(context.Background(), l.lease)
}
