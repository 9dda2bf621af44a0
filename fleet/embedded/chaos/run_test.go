//go:build linux

package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/embedded/internal/child"
	"github.com/farad-go/farad/fleet/embedded/internal/cluster"
)

const namespace = "chaos"

// A run is a cluster, a resource and workers.
type run struct {
	*testing.T
	random   *rand.Rand
	cluster  *cluster.Cluster
	client   *clientv3.Client // an operator's
	resource *Resource
	socket   string
	locks    []string
	workers  []*process // that live
	started  int
}

// A process is a worker and its way to the servers.
type process struct {
	*child.Process
	id   int
	link *cluster.Link
}

// newRun starts three members and some workers, and returns when all of them have had all locks.
func newRun(t *testing.T, workers int, locks ...string) *run {
	r := &run{T: t, random: random(t), locks: locks}
	r.cluster = startCluster(t, 3)
	var err error
	r.client, err = r.cluster.Client()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.client.Close()) })
	r.resource, r.socket = serve(t, locks)
	t.Cleanup(func() {
		for _, w := range r.workers {
			_ = w.Kill() // after a failure; they have stopped otherwise
		}
	})
	for range workers {
		r.start()
	}
	r.allServed("at the beginning")
	return r
}

// start starts one more worker.
func (r *run) start() *process {
	link, err := r.cluster.Link()
	require.NoError(r, err)
	r.started++
	w := &process{id: r.started, link: link}
	w.Process, err = child.Start(workerRole, workerConfig{
		ID: w.id, Endpoints: link.Endpoints(), Resource: r.socket, Locks: r.locks, Goroutine: 2,
	})
	require.NoError(r, err)
	r.workers = append(r.workers, w)
	return w
}

// anyWorker returns one.
func (r *run) anyWorker() *process { return r.workers[r.random.IntN(len(r.workers))] }

// anyMember returns one.
func (r *run) anyMember() int { return r.random.IntN(r.cluster.Len()) }

// anyLock returns one.
func (r *run) anyLock() string { return r.locks[r.random.IntN(len(r.locks))] }

// kill kills a worker and returns when that was.
func (r *run) kill(w *process) time.Duration {
	at := now()
	require.NoError(r, w.Kill())
	r.resource.kill(w.id, at)
	r.workers = slices.DeleteFunc(r.workers, func(o *process) bool { return o == w })
	return at
}

// allServed waits until each worker has had each lock twice from now on: the second time it has
// asked for it after now.
func (r *run) allServed(when string) {
	r.Helper()
	r.served(when, r.workers, r.locks)
}

func (r *run) served(when string, workers []*process, locks []string) {
	r.Helper()
	type key struct {
		worker int
		lock   string
	}
	want := map[key]int{}
	for _, w := range workers {
		for _, l := range locks {
			want[key{w.id, l}] = r.resource.entered(w.id, l) + 3 // of two goroutines
		}
	}
	began := time.Now()
	for len(want) > 0 {
		for k, n := range want {
			if r.resource.entered(k.worker, k.lock) >= n {
				delete(want, k)
			}
		}
		if time.Since(began) > patience {
			require.FailNow(r, "not served", "%s: %v", when, want)
		}
		time.Sleep(2 * time.Millisecond)
	}
	r.Logf("%7.3f s until all were served %s", time.Since(began).Seconds(), when)
}

// finish stops the workers, and judges what they have done.
func (r *run) finish(expect expectation) {
	for _, w := range r.workers {
		require.NoError(r, w.Stop(2*patience), "worker %d", w.id) // it looks for leaks itself
	}
	r.workers = nil
	r.resource.look(func() {
		overlaps := 0
		for _, lock := range r.locks {
			g, size := r.resource.locks[lock], sizes[lock]
			late, refused := 0, 0
			for _, e := range g.effects {
				if !prompt(e) {
					late++
				}
				if !e.fenced {
					refused++
				}
			}
			found := g.overlaps(size, all)
			overlaps += found
			r.Logf("%s: %d operations, %d effects, %d late, %d refused; overlaps without tokens: %d",
				lock, len(g.ops), len(g.effects), late, refused, found)
			require.Empty(r, g.wrong)
			require.Zero(r, g.overlaps(size, fenced), "%s: with tokens", lock)
			if size == 1 {
				require.Zero(r, g.overlaps(size, compared), "%s: with the newest token only", lock)
			}
			if !expect.full {
				require.Zero(r, g.full, "%s: valid tokens refused for want of room", lock)
			}
			if expect.prompt {
				require.Zero(r, g.overlaps(size, prompt), "%s: without tokens", lock)
			}
			if expect.linearizable {
				require.Equal(r, porcupine.Ok, g.linearizable(size), "%s: the history", lock)
			}
		}
		if expect.overlaps {
			require.NotZero(r, overlaps, "the faults were none")
		}
	})
}

// An expectation is what finish asserts. With tokens nothing ever overlaps.
type expectation struct {
	full         bool // an operator has changed entries: a valid token may find no room
	prompt       bool // no process was paused: nothing overlaps without tokens either
	linearizable bool // nor do the times during which the permits were valid
	overlaps     bool // processes were paused: something overlaps without tokens
}

// calm is what a run without pauses of workers expects.
var calm = expectation{prompt: true, linearizable: true}

func (r *run) key(lock, rest string) string {
	kind := map[string]string{mutex: "mutex", rwMutex: "rwmutex"}[lock]
	if kind == "" {
		kind = "semaphore"
	}
	return fmt.Sprintf("%s/%s/%s/%s", namespace, kind, lock, rest)
}
