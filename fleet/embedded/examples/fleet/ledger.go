package main

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/fence/httpfence"
)

const (
	permits   = 40
	maxWeight = 4 // of a job
)

// who is one process of a worker: a worker that is started again is another one.
type who struct{ Worker, Run int }

// A job is what has to be done once.
type job struct {
	number int
	takes  time.Duration
	weight int64
	token  fence.Token // of the permits with which it is being done
	by     who
	lost   []who // who had it, and lost the permits
	done   int   // how often the ledger has written down a result
	stale  int   // how often it has refused one
}

// counts is what the ledger has counted.
type counts struct {
	jobs     int // that were done
	twice    int // results that were written down for a job that was done
	avoided  int // results that were refused, of jobs that were done
	refused  int // requests with a stale token, results included
	overfull int // requests for which there was no room at the gate
	wrong    int // requests that no worker should send
	longest  wait
	paused   wait // the longest of a worker that was paused meanwhile
}

// A wait is how long a worker has waited for how many permits.
type wait struct {
	took    time.Duration
	permits int64
}

// A ledger is the resource that the permits guard. It has a list of jobs without an end, and writes
// down what is done. It believes nobody who comes with a token that another one has outdated.
type ledger struct {
	mu      sync.Mutex
	gate    *fence.Gate
	jobs    []*job
	running map[*job]bool
	back    [maxWeight + 1][]*job // by weight: to be done by another one
	resumed map[who]time.Time     // before it went on after its last pause
	counts  counts
}

func newLedger() *ledger {
	return &ledger{
		gate: fence.NewGate(permits), running: make(map[*job]bool), resumed: make(map[who]time.Time),
	}
}

// begin gives out a job of a weight to somebody who has as many permits.
func (l *ledger) begin(t fence.Token, by who, weight int64, waited time.Duration) (*job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if weight < 1 || weight > maxWeight {
		l.counts.wrong++
		return nil, errors.New("no job has this weight")
	}
	if err := l.gate.Begin(t, weight); err != nil {
		l.refuse(err)
		return nil, err
	}
	// The token may have shown that others are stale.
	for j := range l.running {
		if l.gate.Check(j.token) != nil {
			delete(l.running, j)
			j.lost = append(j.lost, j.by)
			l.back[j.weight] = append(l.back[j.weight], j)
		}
	}
	longest := &l.counts.longest
	if time.Now().Add(-waited).Before(l.resumed[by]) {
		longest = &l.counts.paused
	}
	if waited > longest.took {
		*longest = wait{waited, weight}
	}
	j := l.take(weight)
	j.token, j.by = t, by
	l.running[j] = true
	return j, nil
}

// resume notes that a paused worker is about to go on: it has waited while it could do nothing.
func (l *ledger) resume(w who) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resumed[w] = time.Now()
}

// take returns a job that came back, or a new one.
func (l *ledger) take(weight int64) *job {
	if back := l.back[weight]; len(back) > 0 {
		l.back[weight] = back[1:]
		return back[0]
	}
	const least, most = 200 * time.Millisecond, time.Second
	j := &job{number: len(l.jobs), weight: weight, takes: least + rand.N(most-least)}
	l.jobs = append(l.jobs, j)
	return j
}

// end writes down that a job is done. The check of the token and the writing are under one lock: so
// nobody can come between them.
func (l *ledger) end(t fence.Token, number int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if number < 0 || number >= len(l.jobs) {
		l.counts.wrong++
		return errors.New("there is no such job")
	}
	j := l.jobs[number]
	if err := l.gate.End(t, j.weight); err != nil {
		l.refuse(err)
		j.stale++
		return err
	}
	delete(l.running, j)
	j.done++
	return nil
}

// refuse counts a request that the gate has refused.
func (l *ledger) refuse(err error) {
	switch {
	case errors.Is(err, fence.ErrStale):
		l.counts.refused++
	case errors.Is(err, fence.ErrFull):
		l.counts.overfull++
	default:
		l.counts.wrong++
	}
}

// count returns the counts until now.
func (l *ledger) count() counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts
	for _, j := range l.jobs {
		if j.done > 0 {
			c.jobs++
			c.twice += j.done - 1
			c.avoided += j.stale
		}
	}
	return c
}

// held returns how many permits each worker uses.
func (l *ledger) held(workers int) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := make([]int64, workers)
	for j := range l.running {
		held[j.by.Worker] += j.weight
	}
	return held
}

// of returns how many permits a process uses, how many jobs it has lost to others, and how many of
// these are not done yet.
func (l *ledger) of(w who) (held int64, lost, undone int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, j := range l.jobs {
		if l.running[j] && j.by == w {
			held += j.weight
		}
		for _, had := range j.lost {
			if had == w {
				lost++
				if j.done == 0 {
					undone++
				}
			}
		}
	}
	return held, lost, undone
}

// What workers send, and what they get. The token is in a header.
type (
	beginRequest struct {
		Who    who
		Weight int64
		Waited time.Duration
	}
	beginReply struct {
		Number int
		Takes  time.Duration
	}
	endRequest struct{ Number int }
)

// serve serves the ledger to the workers, and returns its address.
func (l *ledger) serve() (url string, end func(), err error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /begin", func(w http.ResponseWriter, r *http.Request) {
		answer(l, w, r, func(t fence.Token, q beginRequest) (beginReply, error) {
			j, err := l.begin(t, q.Who, q.Weight, q.Waited)
			if err != nil {
				return beginReply{}, err
			}
			return beginReply{j.number, j.takes}, nil // neither changes
		})
	})
	mux.HandleFunc("POST /end", func(w http.ResponseWriter, r *http.Request) {
		answer(l, w, r, func(t fence.Token, q endRequest) (struct{}, error) {
			return struct{}{}, l.end(t, q.Number)
		})
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) }) // returns when it is closed
	return "http://" + listener.Addr().String(), func() {
		_ = server.Close()
		wg.Wait()
	}, nil
}

// answer reads a request and its token, and writes what do returns.
func answer[Q, R any](l *ledger, w http.ResponseWriter, r *http.Request, do func(fence.Token, Q) (R, error)) {
	var q Q
	t, err := httpfence.FromRequest(r)
	if err = errors.Join(err, json.NewDecoder(r.Body).Decode(&q)); err != nil {
		if r.Context().Err() == nil { // a worker that was killed sends half a request
			l.mu.Lock()
			l.counts.wrong++
			l.mu.Unlock()
		}
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch reply, err := do(t, q); {
	case err == nil:
		_ = json.NewEncoder(w).Encode(reply) // the worker may have been killed
	case errors.Is(err, fence.ErrStale):
		http.Error(w, err.Error(), http.StatusPreconditionFailed)
	default:
		http.Error(w, err.Error(), http.StatusConflict)
	}
}
