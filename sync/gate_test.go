package sync

import (
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
)

// A place is one in the line of a gate whose owner does something else before it waits.
type place struct {
	s *parking.Sleeper // nil: admitted at once
	p *waiting.Parker
}

// stand takes a place in the line of the gate of lock, for hold.
func stand(lock admitting, hold int64) place {
	s := parking.GetSleeper()
	p := s.Parker(waiting.Limit{})
	p.N = hold
	if !lock.gateOf().enqueue(lock, s, &p.Waiter) {
		s.Put(p)
		return place{}
	}
	return place{s, p}
}

// await waits until the place's owner is admitted, and reports whether it has been let in.
func (q place) await() (in bool) {
	if q.s != nil {
		q.p.Park(waiting.Limit{})
		in = q.p.N == isIn
		q.s.Put(q.p)
	}
	return in
}

// What has stood in line is admitted in the order in which it came, and the gate is open again when
// none is left.
func TestGateAdmitsInOrder(t *testing.T) {
	m := new(Mutex) // of which only the gate matters
	g := &m.gate
	require.True(t, g.tryPass())
	require.False(t, g.tryPass())
	const goroutines = 10
	var order []int // guarded by the gate
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			waited, _, err := g.pass(m, rwWriter, waiting.Limit{})
			require.True(require.GoOn(t), waited)
			require.NoError(require.GoOn(t), err)
			order = append(order, i)
			g.open(m)
		})
		locktest.Eventually(t, "in line", func() bool { return g.waiting() == i+1 })
	}
	g.open(m)
	wg.Wait()
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, order)
	require.True(t, g.isOpen())
}

// One that gives up leaves the line, from its front, its middle or its end, and the others stay.
func TestGateForgetsOneThatGivesUp(t *testing.T) {
	for hasty := range 3 {
		m := new(Mutex)
		g := &m.gate
		require.True(t, g.tryPass())
		var places []place
		for i := range 3 {
			if i == hasty {
				_, _, err := g.pass(m, rwWriter, waiting.After(time.Millisecond))
				require.True(t, err != nil)
				continue
			}
			places = append(places, stand(m, rwWriter))
		}
		require.Equal(t, 2, g.waiting())
		for _, p := range places {
			g.open(m)
			p.await()
		}
		require.Zero(t, g.waiting())
		g.open(m)
		require.True(t, g.isOpen())
	}
	m := new(Mutex)
	g := &m.gate
	require.True(t, g.tryPass())
	_, _, err := g.pass(m, rwWriter, waiting.After(time.Millisecond))
	require.True(t, err != nil)
	g.open(m)
	require.True(t, g.isOpen(), "one that has given up is waited for")
}

// The gate of a lock that nobody has come through is not opened: an unlock too many is not passed
// on in silence.
func TestOpenGateIsNotOpened(t *testing.T) {
	m := new(Mutex)
	require.PanicsWithValue(t, "sync: permit lost", func() { m.gate.open(m) })
}
