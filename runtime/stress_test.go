package rt_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// countsItself is a poll task that yields some times and then counts itself.
type countsItself struct {
	rt.Task
	yields uint8
	runs   uint8
	ended  *atomic.Int64
}

func (c *countsItself) Poll(cx *rt.Context) bool {
	if c.yields > 0 {
		c.yields--
		return cx.Yield()
	}
	c.runs++
	c.ended.Add(1)
	return true
}

// Of very many tasks, spawned by many, none is lost and none runs twice. FARAD_LONG=1 makes it ten
// million.
func TestNoTaskIsLostInManySpawns(t *testing.T) {
	const spawners, batch = 4, 5_000
	total := locktest.Scaled(200_000)
	if os.Getenv("FARAD_LONG") == "1" {
		total = 10_000_000
	}
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := rt.New()
		each := total / spawners
		var wg sync.WaitGroup
		for range spawners {
			wg.Go(func() {
				tasks := make([]countsItself, min(batch, each))
				cs := make([]rt.Completion, len(tasks))
				var ended atomic.Int64
				for left := each; left > 0; left -= len(tasks) {
					tasks = tasks[:min(left, len(tasks))]
					ended.Store(0)
					for i := range tasks {
						p := &tasks[i]
						p.ended, p.runs, p.yields = &ended, 0, uint8(max(0, rand.IntN(20)-17))
						if err := ex.Spawn(p); err != nil {
							t.Error(err)
							return
						}
					}
					for i := range tasks {
						cs[i].Init(&tasks[i].Task)
						<-cs[i].Done()
						if tasks[i].runs != 1 {
							t.Errorf("ran %d times", tasks[i].runs)
						}
					}
					if ended.Load() != int64(len(tasks)) {
						t.Errorf("%d of %d have ended", ended.Load(), len(tasks))
					}
				}
			})
		}
		wg.Wait()
		shutdown(t, ex)
		require.EqualValues(t, each*spawners, ex.Stats().Ended)
	})
}

// brawler is a poll task that acquires and releases at random, and gives up at random.
type brawler struct {
	rt.Task
	ss     []*semaphore.Semaphore
	a, b   waiter.Future
	timer  rt.Timer
	rounds int
	begun  bool
}

func (p *brawler) Poll(cx *rt.Context) bool {
	for cx.Err() == nil && p.rounds > 0 {
		if !p.begun {
			p.begun = true
			p.ss[0].Bind(&p.a, 1)
			p.ss[1].Bind(&p.b, 2)
			p.timer.Init(time.Duration(rand.IntN(50)) * time.Microsecond)
		}
		a, b, late := cx.Poll(&p.a), cx.Poll(&p.b), cx.Poll(&p.timer)
		if !late && (!a || !b) {
			return false
		}
		p.rounds--
		p.giveUp()
		if p.rounds%3 == 0 {
			return cx.Yield()
		}
	}
	p.giveUp()
	return true
}

// giveUp releases what is held, and gives up the rest.
func (p *brawler) giveUp() {
	if !p.begun {
		return
	}
	p.begun = false
	p.a.Release()
	p.b.Release()
	p.timer.Release()
}

// Everything at once: poll tasks and straight-line tasks, goroutines, cancels, aborts, time limits,
// selects, panics, blocking functions, and a resize now and then. At the end all permits are there
// and nothing waits.
func TestEverythingAtOnceConservesPermits(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		ex := rt.New(quiet)
		ss := []*semaphore.Semaphore{semaphore.New(2), semaphore.New(3), semaphore.New(1)}
		rounds := locktest.Scaled(150)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range rounds {
					ctx, cancel := context.WithTimeout(bg, time.Duration(rand.IntN(300))*time.Microsecond)
					if rand.IntN(2) == 0 {
						p := &brawler{ss: ss, rounds: 20}
						if err := ex.Spawn(p); err != nil {
							t.Error(err)
						}
						if rand.IntN(2) == 0 {
							p.Abort()
						}
						var c rt.Completion
						c.Init(&p.Task)
						if rt.BlockOn(ctx, &c) != nil {
							p.Abort()
							<-c.Done()
							_ = c.Err() // it may have panicked
						}
					} else {
						h := spawned(ex, func(cx *rt.Context) error { return fight(ctx, cx, ss) })
						_, err := h.Wait(ctx)
						if errors.Is(err, context.DeadlineExceeded) {
							h.Abort()
						}
						<-h.Done()
						if errors.Is(h.Err(), waiter.ErrPending) {
							t.Error("pending after the end")
						}
					}
					cancel()
				}
			})
		}
		wg.Go(func() {
			for range rounds {
				ss[1].Resize(2 + rand.Int64N(3))
				if ss[2].AcquireTimeout(50*time.Microsecond, 1) == nil {
					ss[2].Release(1)
				}
				ex.Dump()
			}
			ss[1].Resize(3)
		})
		wg.Wait()
		shutdown(t, ex)
		for _, s := range ss {
			requireIdle(t, s)
		}
	})
}

// fight does something with the locks.
func fight(ctx context.Context, cx *rt.Context, ss []*semaphore.Semaphore) error {
	for range 10 {
		i, k := rand.IntN(3), rand.IntN(3)
		f, g := request(ss[i], 1), request(ss[k], 1)
		var err error
		switch rand.IntN(7) {
		case 0:
			err = rt.Await(cx, f)
		case 1:
			_, err = rt.Select(cx, f, g)
		case 2:
			if i != k { // two requests for one lock may wait for another task with two
				err = rt.Await(cx, rt.Timeout(rt.AllOf(f, g), 50*time.Microsecond))
			}
		case 3:
			err = rt.Await(cx, rt.WithContext(ctx, f))
		case 4:
			err = rt.Sleep(cx, time.Duration(rand.IntN(20))*time.Microsecond)
		case 5:
			_, err = rt.Blocking(cx, func() (int, error) { return 0, nil })
		case 6:
			err = rt.Await(cx, rt.FirstOf(rt.Timeout(f, 20*time.Microsecond), g))
		}
		leave := func() {
			if f.Take() == nil { // one way or the other
				ss[i].Release(1)
			}
			f.Release()
			g.Release()
		}
		if err == nil && rand.IntN(10) == 0 {
			defer leave()
			panic("in the middle of it")
		}
		if err == nil {
			err = rt.Yield(cx)
		}
		leave()
		if err != nil {
			return err
		}
	}
	return nil
}
