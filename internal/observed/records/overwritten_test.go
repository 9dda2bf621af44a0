//go:build !interleave

package records_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/records"
	farad "github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/sync/rwlock"
)

// A program may write a new lock over one that nobody uses, whatever the monitor reads meanwhile.
// The race detector sees no race there, and the numbers are those of an idle lock.
func TestAnIdleLockMayBeOverwritten(t *testing.T) {
	var (
		m farad.Mutex
		l farad.RWMutex
		c farad.Cond
		g farad.WaitGroup
		s mutex.Mutex
		w rwlock.RWLock
	)
	for name, lock := range map[string]struct {
		at        any
		use, over func()
	}{
		"sync.Mutex":     {&m, func() { m.Lock(); m.Unlock() }, func() { m = farad.Mutex{} }},
		"sync.RWMutex":   {&l, func() { l.RLock(); l.RUnlock() }, func() { l = farad.RWMutex{} }},
		"sync.Cond":      {&c, func() { c.Signal() }, func() { c = farad.Cond{} }},
		"sync.WaitGroup": {&g, func() { g.Add(1); g.Done() }, func() { g = farad.WaitGroup{} }},
		"mutex.Mutex":    {&s, func() { s.Lock(); s.Unlock() }, func() { s = mutex.Mutex{} }},
		"rwlock.RWLock":  {&w, func() { w.RLock(); w.RUnlock() }, func() { w = rwlock.RWLock{} }},
	} {
		for level, is := range levels {
			if is == observed.Off {
				continue
			}
			t.Run(name+"/"+level, func(t *testing.T) {
				require.True(t, records.Watch(lock.at, t.Name(), is))
				defer records.Unwatch(lock.at)
				done, looked := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(looked)
					for !locktest.IsClosed(done) {
						records.Stamp()
						all, _ := records.Read()
						for i := range all {
							if all[i].Name == t.Name() && all[i].Waiting != 0 {
								t.Errorf("%d wait", all[i].Waiting)
							}
						}
					}
				}()
				for range 1000 {
					lock.use()
					lock.over()
				}
				close(done)
				<-looked
			})
		}
	}
}
