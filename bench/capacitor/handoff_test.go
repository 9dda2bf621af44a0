package capacitor

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A slowLock lets none in until some time has passed since it was unlocked.
type slowLock struct {
	sync.Mutex
	takes time.Duration
}

func (l *slowLock) Lock() {
	l.Mutex.Lock()
	time.Sleep(l.takes)
}

// What is timed is the way of a lock from one goroutine to another, in the window.
func TestHandOffsAreTimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 2 * time.Millisecond
		im := handsOver(newLock{"", func() sync.Locker { return &slowLock{takes: takes} }})
		loop := im.Make()
		by := func(g, n int) {
			_, err := loop(context.Background(), g, n, uint64(g+1))
			require.NoError(t, err)
		}
		im.Waits.Reset(2)
		for i := range 400 {
			by(i%2, 1)
		}
		require.Zero(t, im.Waits.Summary().Count, "the window is not open")
		im.Waits.Open.Store(true)
		by(1, 400)
		require.Zero(t, im.Waits.Summary().Count, "no other goroutine has had it")
		x := uint64(7)
		for i := range 400 {
			var err error
			x, err = loop(context.Background(), i%2, 1, x)
			require.NoError(t, err)
		}
		s := im.Waits.Summary()
		require.InDelta(t, 400/8, s.Count, 25)
		require.InEpsilon(t, float64(takes), s.P50, 0.01)
		require.InEpsilon(t, float64(takes), s.P99, 0.01)
	})
}
