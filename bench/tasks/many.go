package tasks

import (
	"errors"
	"sync"
	"time"

	"github.com/farad-go/farad/bench/measure"
	rt "github.com/farad-go/farad/runtime"
)

const (
	// spawnBatch is how many are started before a goroutine waits for them.
	spawnBatch = 1024
	// spawnPass is how many tasks there are; they are spawned again and again.
	spawnPass = 64 * spawnBatch
	// timerPass is how many timers are set at a time.
	timerPass = 100_000
)

// A stillborn task ends at once.
type stillborn struct {
	rt.Task
	ended *sync.WaitGroup
}

// Poll implements [rt.Poller].
func (s *stillborn) Poll(*rt.Context) bool {
	s.ended.Done()
	return true
}

// spawnTasks measures spawning and ending.
func spawnTasks(l *measure.Lap) error {
	ex := executorOf(l)
	var ended sync.WaitGroup
	tasks := make([]stillborn, min(l.Todo, spawnPass))
	for i := range tasks {
		tasks[i].ended = &ended
	}
	err := l.Passes(len(tasks), func(n int) error {
		err := l.Clock(n, func() error {
			for first := 0; first < n; first += spawnBatch {
				batch := tasks[first:min(first+spawnBatch, n)]
				ended.Add(len(batch))
				for i := range batch {
					if err := ex.Spawn(&batch[i]); err != nil {
						return err
					}
				}
				ended.Wait()
			}
			return nil
		})
		rest(ex)
		return err
	})
	return errors.Join(err, shutdown(ex))
}

// spawnGoroutines measures the same with goroutines.
func spawnGoroutines(l *measure.Lap) error {
	var ended sync.WaitGroup
	end := func() { ended.Done() } // made once, so that the go statement does not allocate either
	return l.Clock(l.Todo, func() error {
		return l.Passes(spawnBatch, func(n int) error {
			ended.Add(n)
			for range n {
				go end()
			}
			ended.Wait()
			return nil
		})
	})
}

// after returns how long the i-th timer runs: 1 to 10 ms, in no order.
func after(i int) time.Duration {
	const span = 9_000_000
	return time.Millisecond + time.Duration(uint64(i)*2_654_435_761%span)
}

// A sleeper waits for a timer and ends.
type sleeper struct {
	rt.Task
	timer rt.Timer
	ended *sync.WaitGroup
}

// Poll implements [rt.Poller].
func (s *sleeper) Poll(cx *rt.Context) bool {
	if !cx.Poll(&s.timer) {
		return false
	}
	s.ended.Done()
	return true
}

// taskTimers measures timers from the first that is set to the last that has fired. Setting them
// takes longer than they run, or at least about as long; so this is work and not waiting.
func taskTimers(l *measure.Lap) error {
	ex := executorOf(l)
	var ended sync.WaitGroup
	sleepers := make([]sleeper, timerPass)
	err := timerPasses(l, func() error {
		for i := range sleepers {
			s := &sleepers[i]
			s.ended = &ended
			s.timer.Init(after(i))
		}
		ended.Add(timerPass)
		err := l.Clock(timerPass, func() error {
			for i := range sleepers {
				if err := ex.Spawn(&sleepers[i]); err != nil {
					return err
				}
			}
			ended.Wait()
			return nil
		})
		rest(ex)
		return err
	})
	return errors.Join(err, shutdown(ex))
}

// afterFuncs measures the same with timers of package time.
func afterFuncs(l *measure.Lap) error {
	var ended sync.WaitGroup
	end := func() { ended.Done() }
	return timerPasses(l, func() error {
		ended.Add(timerPass)
		return l.Clock(timerPass, func() error {
			for i := range timerPass {
				time.AfterFunc(after(i), end)
			}
			ended.Wait()
			return nil
		})
	})
}

// timerPasses calls pass, once or more, until l.Todo operations are done.
func timerPasses(l *measure.Lap, pass func() error) error {
	for left := l.Todo; ; left -= timerPass {
		if err := pass(); err != nil {
			return err
		}
		if left <= timerPass {
			return nil
		}
	}
}
