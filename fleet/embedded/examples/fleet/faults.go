package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	firstFault = 500 * time.Millisecond
	faultEvery = 2 * time.Second
	memberDown = 2 * time.Second
	lookEvery  = 10 * time.Millisecond

	// patience is for what must happen, on a slow machine too.
	patience = time.Minute
)

// faults is what was done.
type faults struct {
	workersPaused, workersKilled, membersKilled int

	// How long it took until the permits of a worker that was killed were others'. If a member is
	// killed meanwhile, its successor as the leader lets all leases begin anew.
	back, backWithMember []time.Duration
}

// breakThings pauses and kills workers and members in turn, for the time d or until ctx is done. It
// returns when all of them work again, or ctx is done.
func (s *show) breakThings(ctx context.Context, d time.Duration) {
	all := []func(context.Context) error{s.pauseWorker, s.killWorker, s.killMember, s.killWorker, s.pauseWorker}
	var wg sync.WaitGroup
	defer wg.Wait()
	end := time.After(d)
	next := time.NewTimer(firstFault)
	defer next.Stop()
	// How many faults there are depends on the plan, and not on how late their times are noticed.
	for i, at := 0, firstFault; at < d; i, at = i+1, at+faultEvery {
		select {
		case <-next.C:
			next.Reset(faultEvery)
		case <-ctx.Done():
			return
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := all[i%len(all)](ctx); err != nil {
				s.fail(err)
			}
		})
	}
	select {
	case <-end:
	case <-ctx.Done():
	}
}

// pick waits for a worker that uses permits, chooses the one that uses most, and says what it does
// from now on. It chooses none if no two work: somebody has to take over the permits.
func (s *show) pick(ctx context.Context, does string) (h hand, err error) {
	err = s.await(ctx, "two workers work", func() bool {
		held := s.ledger.held(len(s.crew))
		s.mu.Lock()
		defer s.mu.Unlock()
		best, working := -1, 0
		for i, h := range s.crew {
			if h.does != works {
				continue
			}
			working++
			if best < 0 || held[i] > held[best] {
				best = i
			}
		}
		if working < 2 || held[best] == 0 {
			return false
		}
		s.crew[best].does = does
		h = s.crew[best]
		return true
	})
	return h, err
}

// does notes what a worker does.
func (s *show) does(h hand, does string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crew[h.who.Worker].does = does
}

// pauseWorker pauses a worker until others have done all the jobs that it has not finished.
func (s *show) pauseWorker(ctx context.Context) error {
	h, err := s.pick(ctx, paused)
	if err != nil {
		return err
	}
	defer s.does(h, works)
	switch err := h.process.Pause(); {
	case errors.Is(err, errors.ErrUnsupported):
		return nil // there are other faults
	case err != nil:
		return err
	}
	held, _, _ := s.ledger.of(h.who)
	s.say("worker %d is paused, with %d permits", h.who.Worker, held)
	err = s.await(ctx, "the jobs of a paused worker are done by others", func() bool {
		held, _, undone := s.ledger.of(h.who)
		return held == 0 && undone == 0
	})
	if err != nil {
		return errors.Join(err, h.process.Resume())
	}
	_, lost, _ := s.ledger.of(h.who)
	s.say("worker %d goes on: others have done %d jobs of it", h.who.Worker, lost)
	s.count(func(f *faults) { f.workersPaused++ })
	s.ledger.resume(h.who)
	return h.process.Resume()
}

// killWorker kills a worker, and starts it again when others have its permits.
func (s *show) killWorker(ctx context.Context) error {
	h, err := s.pick(ctx, killed)
	if err != nil {
		return err
	}
	begun, before := time.Now(), s.membersKilled()
	if err := h.process.Kill(); err != nil {
		return err
	}
	held, _, _ := s.ledger.of(h.who)
	s.say("worker %d is killed, with %d permits", h.who.Worker, held)
	err = s.await(ctx, "the permits of a killed worker are others'", func() bool {
		held, _, _ := s.ledger.of(h.who)
		return held == 0
	})
	if err != nil {
		return err
	}
	took := time.Since(begun)
	s.say("worker %d starts again: others have its permits after %s", h.who.Worker, short(took))
	s.count(func(f *faults) {
		f.workersKilled++
		switch {
		case held == 0:
		case f.membersKilled == before:
			f.back = append(f.back, took)
		default:
			f.backWithMember = append(f.backWithMember, took)
		}
	})
	return s.startWorker(h.who.Worker)
}

// killMember kills a member, another one each time, and starts it again.
func (s *show) killMember(ctx context.Context) error {
	i, ok := s.pickMember()
	if !ok {
		return nil
	}
	if err := s.cluster.Kill(i); err != nil {
		return err
	}
	s.say("member %d is killed", i)
	select {
	case <-time.After(memberDown):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := s.cluster.Restart(ctx, i); err != nil {
		return err
	}
	s.say("member %d starts again", i)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[i] = works
	return nil
}

// pickMember chooses a member, but none while another one is down: the others are no majority.
func (s *show) pickMember() (i int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, does := range s.members {
		if does != works {
			return 0, false
		}
	}
	i = s.faults.membersKilled % len(s.members)
	s.members[i] = killed
	s.faults.membersKilled++
	return i, true
}

// membersKilled returns how many members were killed until now.
func (s *show) membersKilled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.faults.membersKilled
}

// await waits for a condition.
func (s *show) await(ctx context.Context, what string, is func() bool) error {
	for !is() {
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return fmt.Errorf("while waiting until %s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}

func (s *show) count(add func(*faults)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add(&s.faults)
}
