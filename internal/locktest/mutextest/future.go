package mutextest

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/futuretest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/waiter"
)

var futures = []test{
	{"Future", futureContract},
	{"FutureNeedsAMutex", futureNeedsAMutex},
}

func futureContract(t *testing.T, k kind) {
	futuretest.Run(t, futuretest.Kind{New: func() futuretest.Lock {
		m := k.mutex()
		return futuretest.Lock{
			Bind:     func(f *waiter.Future) { k.bind(m, f) },
			GiveBack: m.Unlock,
			Lock:     m.Lock,
			Unlock:   m.Unlock,
			TryLock:  m.TryLock,
			Waits:    m.Waiting,
		}
	}})
}

func futureNeedsAMutex(t *testing.T, k kind) {
	m, f := k.mutex(), new(waiter.Future)
	semtest.RequirePanic(t, "future of a nil mutex", func() { k.bind(nil, f) })
	require.False(t, f.Complete())
	k.bind(m, f) // which is not too late
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Take())
	m.Unlock()
	RequireFree(t, m)
}
