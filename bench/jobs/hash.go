package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/alitto/pond/v2"
	"github.com/panjf2000/ants/v2"
	"github.com/sourcegraph/conc/pool"
	"golang.org/x/sync/errgroup"
	xsemaphore "golang.org/x/sync/semaphore"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

// Worker pools with real work: one goroutine submits blocks to be hashed, of which only so many are
// at work at a time.

const (
	hashBound  = 8
	hashBlock  = 4 << 10 // bytes
	hashBlocks = 64      // that are different
)

// The names of worker pools.
const (
	NameErrgroup = "errgroup"
	NamePond     = "pond"
	NameConc     = "conc"
	nameGated    = "farad, ants" // ants behind our gate
)

// A workerPool is what work is submitted to. Submit waits until the work may begin.
type workerPool struct {
	submit func(ctx context.Context, job func()) error
	wait   func() error // until all has ended; nothing is submitted any more
	end    func() error // what is left to clear away; nil: nothing
}

// A poolMaker has the name of a worker pool, makes it, and has what it promises: pools differ in
// that.
type poolMaker struct {
	name       string
	create     func(bound int) (workerPool, error)
	order      string // of the callers that wait in submit
	cancels    bool   // submit ends with its context
	panics     string // what becomes of a panic of the work
	goroutines string
}

const (
	panicEnds  = "ends the program"
	freshOnes  = "one for each job"
	reusedOnes = "reused"
)

// PoolMakers are the worker pools, in the order of the tables.
var PoolMakers = []poolMaker{
	onLocker(measure.NameFarad, "FIFO", func(permits int64) peers.Locker { return semaphore.New(permits) }),
	onLocker(
		peers.NameArray,
		"FIFO",
		func(permits int64) peers.Locker { return semaphore.New(permits, semaphore.WithWaitingArray(nil)) },
	),
	onLocker(
		peers.NameCapacitor,
		"bounded overtaking",
		func(permits int64) peers.Locker { return semaphore.New(permits, semaphore.WithCapacitor(1, 256)) },
	),
	onLocker(peers.NameXSync, "FIFO", func(permits int64) peers.Locker { return xsemaphore.NewWeighted(permits) }),
	onLocker(peers.NameChannel, "FIFO", func(permits int64) peers.Locker { return make(peers.Channel, permits) }),
	{NameErrgroup, newErrgroup, "FIFO", false, panicEnds, freshOnes},
	{peers.NameAnts, newAnts, "first to arrive", false, "goes to the PanicHandler", reusedOnes},
	{nameGated, newGatedAnts, "FIFO", true, "goes to the PanicHandler", reusedOnes},
	{NamePond, newPond, "first to arrive", false, "is caught", reusedOnes},
	{NameConc, newConc, "FIFO", false, "is raised by Wait", reusedOnes},
}

// onLocker is go statements, each of which holds a permit.
func onLocker(name, order string, create func(permits int64) peers.Locker) poolMaker {
	return poolMaker{name, func(bound int) (workerPool, error) {
		s := create(int64(bound))
		var wg sync.WaitGroup
		return workerPool{
			submit: func(ctx context.Context, job func()) error {
				if err := s.Acquire(ctx, 1); err != nil {
					return err
				}
				wg.Go(func() {
					defer s.Release(1)
					job()
				})
				return nil
			},
			wait: func() error { wg.Wait(); return nil },
		}, nil
	}, order, true, panicEnds, freshOnes}
}

func newErrgroup(bound int) (workerPool, error) {
	g := new(errgroup.Group)
	g.SetLimit(bound)
	return workerPool{
		submit: func(_ context.Context, job func()) error {
			g.Go(func() error { job(); return nil })
			return nil
		},
		wait: g.Wait,
	}, nil
}

func newAnts(bound int) (workerPool, error) {
	p, err := ants.NewPool(bound)
	if err != nil {
		return workerPool{}, err
	}
	var wg sync.WaitGroup
	return workerPool{
		submit: func(_ context.Context, job func()) error {
			wg.Add(1)
			return p.Submit(func() {
				defer wg.Done()
				job()
			})
		},
		wait: func() error { wg.Wait(); return nil },
		end:  func() error { return p.ReleaseTimeout(tasks.AntsRelease) },
	}, nil
}

func newGatedAnts(bound int) (workerPool, error) {
	p, err := ants.NewPool(bound, ants.WithNonblocking(true))
	if err != nil {
		return workerPool{}, err
	}
	gate := antspool.New(p)
	var wg sync.WaitGroup
	return workerPool{
		submit: func(ctx context.Context, job func()) error {
			wg.Add(1)
			err := gate.Submit(ctx, 1, func() {
				defer wg.Done()
				job()
			})
			if err != nil {
				wg.Done()
			}
			return err
		},
		wait: func() error { wg.Wait(); return nil },
		end:  func() error { return gate.ReleaseTimeout(tasks.AntsRelease) },
	}, nil
}

// newPond has no queue, so that submit waits, as with the others, and not the job.
func newPond(bound int) (workerPool, error) {
	p := pond.NewPool(bound, pond.WithQueueSize(0))
	return workerPool{
		submit: func(_ context.Context, job func()) error { return p.Go(job) },
		wait:   func() error { return p.Stop().Wait() },
	}, nil
}

func newConc(bound int) (workerPool, error) {
	p := pool.New().WithMaxGoroutines(bound)
	return workerPool{
		submit: func(_ context.Context, job func()) error { p.Go(job); return nil },
		wait:   func() error { p.Wait(); return nil },
	}, nil
}

// hashbench has blocks hashed by every worker pool. The floor is as many goroutines as there are
// processors, each with its share, and nothing submitted.
func hashbench() Bench {
	w := Bench{Name: fmt.Sprintf("hash-%d", hashBound), bound: hashBound}
	for _, of := range PoolMakers {
		w.Impls = append(
			w.Impls,
			Impl{LapImpl: measure.LapImpl{Name: of.name, Run: func(l *measure.Lap) error { return hashAll(l, of) }}},
		)
	}
	w.Impls = append(w.Impls, Impl{LapImpl: measure.LapImpl{Name: peers.NameFloor, Run: hashShares}})
	return w
}

// blocks are what is hashed, and what must come of it.
type blocks struct {
	data   [][]byte
	sums   [][sha256.Size]byte
	hashed atomic.Int64
	wrong  atomic.Int64
}

func newBlocks() *blocks {
	b := new(blocks)
	for i := range hashBlocks {
		block := bytes.Repeat([]byte{byte(i)}, hashBlock)
		b.data, b.sums = append(b.data, block), append(b.sums, sha256.Sum256(block))
	}
	return b
}

func (b *blocks) hash(i int) {
	if sha256.Sum256(b.data[i%hashBlocks]) != b.sums[i%hashBlocks] {
		b.wrong.Add(1)
	}
	b.hashed.Add(1)
}

// complete returns an error unless want blocks have been hashed, and all of them right.
func (b *blocks) complete(want int) error {
	if n, wrong := b.hashed.Load(), b.wrong.Load(); n != int64(want) || wrong != 0 {
		return fmt.Errorf("%d blocks of %d were hashed, %d wrongly", n, want, wrong)
	}
	return nil
}

// hashAll measures from the first that is submitted to the end of the last. The context can be
// cancelled, and is not.
func hashAll(l *measure.Lap, of poolMaker) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p, err := of.create(l.Workers)
	if err != nil {
		return err
	}
	b, all := newBlocks(), l.Todo
	err = l.Clock(all, func() error {
		for i := range all {
			if err := p.submit(ctx, func() { b.hash(i) }); err != nil {
				return err
			}
		}
		return p.wait()
	})
	if p.end != nil {
		err = errors.Join(err, p.end())
	}
	if err != nil {
		return err
	}
	return b.complete(all)
}

func hashShares(l *measure.Lap) error {
	n := runtime.GOMAXPROCS(0)
	each, all := l.Share(n)
	b := newBlocks()
	var wg sync.WaitGroup
	err := l.Clock(all, func() error {
		for g := range n {
			wg.Go(func() {
				for i := range each {
					b.hash(g*each + i)
				}
			})
		}
		wg.Wait()
		return nil
	})
	return errors.Join(err, b.complete(all))
}

const poolNote = "What the pools of hash-N promise. Order is that of several goroutines that wait in submit. A" +
	" submit that can be cancelled returns when its context ends, and its job is not begun."

// PoolTable has what the worker pools promise.
func PoolTable(rs []*Result) *table.Table {
	t := &table.Table{
		Title: "What worker pools promise",
		Note:  poolNote,
		Head:  []string{"by", "order", "submit can be cancelled", "a panic", "goroutines"},
		Left:  5,
	}
	for _, of := range PoolMakers {
		for _, l := range rs {
			if len(l.Samples[of.name]) > 0 && l.Workload == fmt.Sprintf("hash-%d", hashBound) {
				t.Add(of.name, of.order, table.YesNo(of.cancels), of.panics, of.goroutines)
			}
		}
	}
	return t
}
