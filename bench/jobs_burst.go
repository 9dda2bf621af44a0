package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// burstSilence lies between two bursts: so long that those who spin for work have gone to sleep.
const burstSilence = 100 * time.Microsecond

// burstLockers are whose permits a burst wants. The floor gives one to everybody.
var burstLockers = []struct {
	name   string
	create func(permits int64) locker
}{
	{nameFarad, func(permits int64) locker { return semaphore.New(permits) }},
	{nameFloor, newFloor},
	{nameXSync, func(permits int64) locker { return xsemaphore.NewWeighted(permits) }},
	{nameChannel, func(permits int64) locker { return make(channel, permits) }},
	{nameArray, func(permits int64) locker { return semaphore.New(permits, semaphore.WithWaitingArray(nil)) }},
	{nameTWA, func(permits int64) locker { return twa.New(permits) }},
	{namePlatoon, func(permits int64) locker { return semaphore.New(permits, semaphore.WithPlatoon(1, 256)) }},
}

// burstbench is bursts of so many goroutines.
func burstbench(goroutines, permits int) jobWorkload {
	w := jobWorkload{name: fmt.Sprintf("burst-%dx%d", goroutines, permits), bound: permits}
	for _, of := range burstLockers {
		log := new(waitLog)
		w.impls = append(
			w.impls,
			jobImpl{
				taskImpl{of.name, func(l *lap) error { return bursts(l, of.create(int64(permits)), goroutines, log) }},
				log,
			},
		)
	}
	return w
}

// bursts measures one burst after the other, and what each waits in them.
func bursts(l *lap, s locker, goroutines int, log *waitLog) error {
	each, _ := l.share(goroutines)
	log.reset(goroutines)
	log.open.Store(true)
	begin, ended := make([]chan struct{}, each), make([]sync.WaitGroup, each)
	for b := range begin {
		begin[b] = make(chan struct{})
		ended[b].Add(goroutines)
	}
	ctxs, cancels := shared.contexts(goroutines)
	defer cancels[0]()
	g := newGang(goroutines)
	for i := range goroutines {
		g.spawn(i, func(n *counter) (err error) {
			x := uint64(i + 1)
			for b := range begin {
				<-begin[b]
				if err == nil { // or all others would wait for ever
					err = inBurst(ctxs[i], s, i, &x, log)
				}
				ended[b].Done()
			}
			n.publish(int64(each), x)
			return err
		})
	}
	close(g.gate)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b := range begin {
		time.Sleep(burstSilence)
		start := time.Now()
		close(begin[b])
		ended[b].Wait()
		l.elapsed += time.Since(start)
		l.ops += goroutines
	}
	runtime.ReadMemStats(&after)
	l.mallocs += after.Mallocs - before.Mallocs
	g.wg.Wait()
	if counted, ok := s.(tryLocker); ok {
		g.err = errors.Join(g.err, hasPermits(counted, l.workers))
	}
	return g.err
}

// inBurst is what goroutine number i does in a burst. It yields while it has its permit: the others
// are to come meanwhile, however few processors there are.
func inBurst(ctx context.Context, s locker, i int, x *uint64, log *waitLog) error {
	start := time.Now()
	if err := s.Acquire(ctx, 1); err != nil {
		return err
	}
	waited := time.Since(start)
	for range stormSteps {
		*x = xorshift(*x)
	}
	runtime.Gosched()
	s.Release(1)
	log.note(i, waited)
	return nil
}

// hasPermits says what is wrong if not just so many permits are free.
func hasPermits(s tryLocker, want int) error {
	for free := range want {
		if !s.TryAcquire(1) {
			return fmt.Errorf("permits are lost: %d of %d are free at the end", free, want)
		}
	}
	if s.TryAcquire(1) {
		return fmt.Errorf("there are more permits than the %d that there were", want)
	}
	for range want {
		s.Release(1)
	}
	return nil
}
