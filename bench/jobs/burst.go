package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/twa"
)

// burstSilence lies between two bursts. It is so long that goroutines that spin for work have gone
// to sleep.
const burstSilence = 100 * time.Microsecond

// burstSteps are the steps of a PRNG while a permit is held: about a microsecond.
const burstSteps = 400

// burstLockers are whose permits a burst takes. The floor gives one to all.
var burstLockers = []struct {
	name   string
	create func(permits int64) peers.Locker
}{
	{measure.NameFarad, func(permits int64) peers.Locker { return semaphore.New(permits) }},
	{peers.NameFloor, peers.NewFloor},
	{peers.NameXSync, func(permits int64) peers.Locker { return xsemaphore.NewWeighted(permits) }},
	{peers.NameChannel, func(permits int64) peers.Locker { return make(peers.Channel, permits) }},
	{
		peers.NameArray,
		func(permits int64) peers.Locker { return semaphore.New(permits, semaphore.WithWaitingArray(nil)) },
	},
	{peers.NameTWA, func(permits int64) peers.Locker { return twa.New(permits) }},
	{
		peers.NameCapacitor,
		func(permits int64) peers.Locker { return semaphore.New(permits, semaphore.WithCapacitor(1, 256)) },
	},
}

// burstbench makes the workload of bursts.
func burstbench(goroutines, permits int) Bench {
	w := Bench{Name: fmt.Sprintf("burst-%dx%d", goroutines, permits), bound: permits}
	for _, of := range burstLockers {
		log := new(measure.WaitLog)
		w.Impls = append(
			w.Impls,
			Impl{
				measure.LapImpl{
					Name: of.name,
					Run:  func(l *measure.Lap) error { return bursts(l, of.create(int64(permits)), goroutines, log) },
				},
				log,
			},
		)
	}
	return w
}

// bursts measures one burst after the other, and what each waits in them.
func bursts(l *measure.Lap, s peers.Locker, goroutines int, log *measure.WaitLog) error {
	each, _ := l.Share(goroutines)
	log.Reset(goroutines)
	log.Open.Store(true)
	begin, ended := make([]chan struct{}, each), make([]sync.WaitGroup, each)
	for b := range begin {
		begin[b] = make(chan struct{})
		ended[b].Add(goroutines)
	}
	ctxs, cancels := measure.Shared.Contexts(goroutines)
	defer cancels[0]()
	g := measure.NewGang(goroutines)
	for i := range goroutines {
		g.Spawn(i, func(n *measure.Counter) (err error) {
			x := uint64(i + 1)
			for b := range begin {
				<-begin[b]
				if err == nil { // or all others would wait for ever
					err = inBurst(ctxs[i], s, i, &x, log)
				}
				ended[b].Done()
			}
			n.Publish(int64(each), x)
			return err
		})
	}
	close(g.Gate)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b := range begin {
		time.Sleep(burstSilence)
		start := time.Now()
		close(begin[b])
		ended[b].Wait()
		l.Elapsed += time.Since(start)
		l.Ops += goroutines
	}
	runtime.ReadMemStats(&after)
	l.Mallocs += after.Mallocs - before.Mallocs
	g.WG.Wait()
	if counted, ok := s.(peers.TryLocker); ok {
		g.Err = errors.Join(g.Err, peers.HasPermits(counted, l.Workers))
	}
	return g.Err
}

// inBurst is what goroutine number i does in a burst. It yields while it has its permit: the others
// are to come meanwhile, however few processors there are.
func inBurst(ctx context.Context, s peers.Locker, i int, x *uint64, log *measure.WaitLog) error {
	start := time.Now()
	if err := s.Acquire(ctx, 1); err != nil {
		return err
	}
	waited := time.Since(start)
	for range burstSteps {
		*x = measure.Xorshift(*x)
	}
	runtime.Gosched()
	s.Release(1)
	log.Note(i, waited)
	return nil
}
