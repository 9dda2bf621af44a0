package main

import (
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

const (
	connections = 5                     // of the database
	work        = 25 * time.Millisecond // of the database for a request, on average
	deadline    = 10 * work             // after which the client has gone
	slowness    = 4                     // how many times that a slow request takes
	capacity    = float64(connections) / (float64(work) / float64(time.Second))
)

// A server answers each request with what its database says.
type server struct {
	limiter  *limit.Limiter
	tenant   func(*http.Request) any
	database *semaphore.Semaphore // its connections
}

func newServer(p policy) *server {
	s := &server{limiter: p.limiter(), tenant: p.tenant, database: semaphore.New(connections)}
	if s.tenant == nil {
		s.tenant = func(*http.Request) any { return nil }
	}
	return s
}

// ServeHTTP does what the middleware of package httplimit does, which takes one line. It is written
// out to tell the client why it is refused.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), deadline) // RefuseLate has to know it
	defer cancel()
	tenant := s.tenant(r)
	if err := s.limiter.Semaphore().As(tenant).Acquire(ctx, 1); err != nil {
		refuse(w, err)
		return
	}
	p := s.limiter.StartAs(tenant, 1)
	defer p.Ignore() // in case of a panic
	if err := s.query(ctx, r.Header.Get("Slow") != ""); err != nil {
		p.Dropped()
		refuse(w, err)
		return
	}
	p.Success()
	_, _ = io.WriteString(w, "done\n") // the client may have gone
}

// query asks the database, which does not notice if nobody waits for its answer any more. That is
// what makes an overload expensive.
func (s *server) query(ctx context.Context, slow bool) error {
	if err := s.database.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.database.Release(1)
	takes := work
	if slow {
		takes *= slowness
	}
	time.Sleep(takes/2 + rand.N(takes))
	return ctx.Err()
}

// refuse says why, and when to come back.
func refuse(w http.ResponseWriter, err error) {
	if r, ok := errors.AsType[*semaphore.Refusal](err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(int(max(1, math.Ceil(r.RetryAfter.Seconds())))))
	}
	http.Error(w, why(err), http.StatusServiceUnavailable)
}

// why returns the reason of a refusal in a word or two.
func why(err error) string {
	switch {
	case errors.Is(err, semaphore.ErrQueueFull):
		return "line full"
	case errors.Is(err, semaphore.ErrWouldExpire):
		return "would expire"
	case errors.Is(err, semaphore.ErrShed):
		return "shed"
	default: // the deadline, or the client has gone
		return late
	}
}
