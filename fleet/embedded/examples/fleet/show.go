package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/farad-go/farad/fleet/embedded/internal/child"
	"github.com/farad-go/farad/fleet/embedded/internal/cluster"
)

// What workers and members do. A member never pauses here.
const (
	works  = ""
	paused = "paused"
	killed = "killed"
)

// A show is all processes, and what has been done to them.
type show struct {
	cluster *cluster.Cluster
	ledger  *ledger
	config  workerConfig // but for the worker
	begun   time.Time
	fail    context.CancelCauseFunc       // ends the show
	say     func(format string, a ...any) // tells the user

	mu      sync.Mutex
	crew    []hand
	members []string // what they do
	ending  bool
	faults  faults
}

// A hand is a worker as its parent knows it.
type hand struct {
	who     who
	process *child.Process
	does    string
}

func newShow(c *cluster.Cluster, l *ledger, config workerConfig, workers int, fail context.CancelCauseFunc) *show {
	return &show{
		cluster: c, ledger: l, config: config, begun: time.Now(), fail: fail,
		crew: make([]hand, workers), members: make([]string, c.Len()),
	}
}

func (s *show) startWorkers() error {
	for i := range s.crew {
		if err := s.startWorker(i); err != nil {
			return err
		}
	}
	return nil
}

// startWorker starts worker i, or starts it again.
func (s *show) startWorker(i int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.config
	c.Who = who{i, s.crew[i].who.Run + 1}
	p, err := child.Start(workerRole, c)
	if err != nil {
		return err
	}
	s.crew[i] = hand{c.Who, p, works}
	go func() {
		err := p.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ending && s.crew[i].process == p && s.crew[i].does != killed {
			s.fail(fmt.Errorf("worker %d ended by itself: %w", i, err))
		}
	}()
	return nil
}

// processes returns those of the workers that were started. From then on they may end.
func (s *show) processes() (all []*child.Process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	for _, h := range s.crew {
		if h.process != nil {
			all = append(all, h.process)
		}
	}
	return all
}

// stopWorkers lets all workers bring their jobs to an end.
func (s *show) stopWorkers() error {
	all := s.processes()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() { errs[i] = p.Stop(time.Minute) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// killWorkers leaves no worker over.
func (s *show) killWorkers() {
	for _, p := range s.processes() {
		_ = p.Kill() // it fails for processes that have ended
	}
}
