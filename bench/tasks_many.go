package main

import (
	"errors"
	"sync"
	"time"

	rt "github.com/farad-go/farad/runtime"
)

const (
	// spawnBatch is how many are started before somebody waits for them.
	spawnBatch = 1024
	// spawnPass is how many tasks there are; they are spawned again and again.
	spawnPass = 64 * spawnBatch
	// timerPass is how many timers are set at a time.
	timerPass = 100_000
)

// passes has do called with numbers of at most most, until it comes to what is to be done.
func (l *lap) passes(most int, do func(n int) error) error {
	for left := l.todo; left > 0; left -= most {
		if err := do(min(left, most)); err != nil {
			return err
		}
	}
	return nil
}

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
func spawnTasks(l *lap) error {
	ex := l.executor()
	var ended sync.WaitGroup
	tasks := make([]stillborn, min(l.todo, spawnPass))
	for i := range tasks {
		tasks[i].ended = &ended
	}
	err := l.passes(len(tasks), func(n int) error {
		err := l.clock(n, func() error {
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
func spawnGoroutines(l *lap) error {
	var ended sync.WaitGroup
	end := func() { ended.Done() } // made once: nor does the go statement allocate
	return l.clock(l.todo, func() error {
		return l.passes(spawnBatch, func(n int) error {
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
func taskTimers(l *lap) error {
	ex := l.executor()
	var ended sync.WaitGroup
	sleepers := make([]sleeper, timerPass)
	err := l.timerPasses(func() error {
		for i := range sleepers {
			s := &sleepers[i]
			s.ended = &ended
			s.timer.Init(after(i))
		}
		ended.Add(timerPass)
		err := l.clock(timerPass, func() error {
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
func afterFuncs(l *lap) error {
	var ended sync.WaitGroup
	end := func() { ended.Done() }
	return l.timerPasses(func() error {
		ended.Add(timerPass)
		return l.clock(timerPass, func() error {
			for i := range timerPass {
				time.AfterFunc(after(i), end)
			}
			ended.Wait()
			return nil
		})
	})
}

// timerPasses calls pass as often as it comes to what is to be done, at least once.
func (l *lap) timerPasses(pass func() error) error {
	for left := l.todo; ; left -= timerPass {
		if err := pass(); err != nil {
			return err
		}
		if left <= timerPass {
			return nil
		}
	}
}
