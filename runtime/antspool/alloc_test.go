package antspool_test

import (
	"context"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/runtime/antspool"
	"github.com/farad-go/farad/sync/semaphore"
)

func TestAllocations(t *testing.T) {
	locktest.SkipUnderRace(t)
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would empty the pools of ants and of the semaphore
	p := newPool(t, 2, antspool.WithGate(semaphore.New(1)))
	cancellable, cancel := context.WithCancel(bg)
	defer cancel()
	ran := make(chan struct{}, 1)
	fn := func() { ran <- struct{}{} }
	back := func() { // the permit
		<-ran
		for p.Gate().Available() == 0 {
			runtime.Gosched()
		}
	}
	for name, test := range map[string]struct {
		most float64
		f    func()
	}{
		"Submit": {1, func() {
			require.NoError(t, p.Submit(bg, 1, fn))
			back()
		}},
		"Submit, cancellable": {2, func() {
			require.NoError(t, p.Submit(cancellable, 1, fn))
			back()
		}},
		"TrySubmit": {1, func() {
			if p.TrySubmit(1, fn) == nil {
				back()
			}
		}},
		"Go": {1, func() {
			p.Go(1, fn)
			back()
		}},
		"Go, waiting": {1, func() {
			p.Gate().TryAcquire(1)
			p.Go(1, fn)
			p.Gate().Release(1)
			back()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			test.f()
			require.LessOrEqual(t, locktest.AllocsPerRun(500, test.f), test.most)
		})
	}
}
