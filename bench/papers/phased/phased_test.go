package phased

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/parking"
)

// sleeping returns how many goroutines sleep in a.
func (a *Array) sleeping() int { return a.lots.Count(func(parking.Key) bool { return true }) }

// pokes returns how often each bucket has been poked.
func (a *Array) pokes() (ns []int64) {
	for i := range len(a.sequences) {
		ns = append(ns, a.sequences[i].Load())
	}
	return ns
}

func eachConfig(t *testing.T, f func(t *testing.T, c Config)) {
	for _, threshold := range []int64{0, 1, 3} {
		for near := Spin; near <= Park; near++ {
			for far := Spin; far <= Park; far++ {
				for _, conservative := range []bool{false, true} {
					if threshold > 0 || near == Spin { // which no owner does
						c := Config{Threshold: threshold, Near: near, Far: far, Conservative: conservative}
						t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) { f(t, c) })
					}
				}
			}
		}
	}
}

// One permit excludes, several bound, no waiter is left behind, and no permit is lost, with all
// ways to wait, in an array in which many collide.
func TestExclusion(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		eachConfig(t, func(t *testing.T, c Config) {
			const goroutines, permits = 6, 2
			rounds := locktest.Scaled(160)
			array := NewArray(4)
			lock, few := New(array, 1, c), New(array, permits, c)
			count, inside := 0, make(chan struct{}, permits)
			var done sync.WaitGroup
			for range goroutines {
				done.Go(func() {
					for range rounds {
						lock.Take()
						count++
						lock.Post()

						few.Take()
						select {
						case inside <- struct{}{}:
						default:
							t.Error("too many hold a permit")
						}
						<-inside
						few.Post()
					}
				})
			}
			done.Wait()
			require.Equal(t, goroutines*rounds, count)
			require.EqualValues(t, 1, lock.grant.Load()-lock.ticket.Load())
			require.EqualValues(t, permits, few.grant.Load()-few.ticket.Load())
			require.Zero(t, array.sleeping())
		})
	})
}

// Permits go to tickets in their order, also where these wrap around.
func TestOrder(t *testing.T) {
	eachConfig(t, func(t *testing.T, c Config) {
		const goroutines = 8
		s := New(NewArray(4), 0, c)
		s.ticket.Store(math.MaxInt64 - 3)
		s.grant.Store(math.MaxInt64 - 3)
		first := s.ticket.Load()
		tickets := make(chan int64)
		for i := range int64(goroutines) {
			go func() { tickets <- s.take() }()
			locktest.Eventually(t, "the ticket is taken", func() bool { return s.ticket.Load()-first == i+1 })
		}
		locktest.RequireBlocked(t, tickets)
		for i := range int64(goroutines) {
			s.Post()
			require.Equal(t, first+i, locktest.Receive(t, tickets))
		}
	})
}

// With a threshold of 0 all waiters sleep if they may; otherwise the first Threshold in line do
// not.
func TestOnlyTheNearWaitForGrant(t *testing.T) {
	for threshold := range int64(4) {
		const goroutines = 8
		array := NewArray(16)
		s := New(array, 0, Config{Threshold: threshold, Near: Yield, Far: Park})
		var done sync.WaitGroup
		for range goroutines {
			done.Go(s.Take)
		}
		for granted := range goroutines {
			asleep := max(0, goroutines-granted-int(threshold))
			locktest.Eventually(t, "all but the near sleep", func() bool {
				return s.ticket.Load() == goroutines && array.sleeping() == asleep
			})
			s.Post()
		}
		done.Wait()
	}
}

// A post pokes the ticket that becomes near: the successor's successor with a threshold of 1.
// Before that it pokes the one that it grants, if its owner may sleep. With a threshold of 0 the
// two are the same, and it pokes once.
func TestPostPokes(t *testing.T) {
	for _, c := range []struct {
		Config
		poked []int64 // tickets, by the post of ticket 0
	}{
		{Config{Threshold: 0, Far: Park}, []int64{0}},
		{Config{Threshold: 0, Far: Spin, Near: Park}, []int64{0}},
		{Config{Threshold: 1, Near: Spin, Far: Park}, []int64{1}},
		{Config{Threshold: 1, Near: Yield, Far: Yield}, []int64{1}},
		{Config{Threshold: 1, Near: SpinThenPark, Far: Park}, []int64{0, 1}},
		{Config{Threshold: 1, Near: Park, Far: Spin}, []int64{0, 1}},
		{Config{Threshold: 3, Near: Park, Far: Park}, []int64{0, 3}},
		{Config{Threshold: 3, Near: Spin, Far: Spin}, []int64{3}},
	} {
		for _, conservative := range []bool{false, true} {
			c.Conservative = conservative
			s := New(NewArray(64), 0, c.Config)
			s.ticket.Store(4) // which need not have owners that wait
			want := make([]int64, 64)
			for _, ticket := range c.poked {
				want[s.bucket(ticket)]++
			}
			s.Post()
			require.Equal(t, want, s.array.pokes(), "%+v", c.Config)
		}
	}
}

// A post reads from ticket that there is no owner to poke; the conservative post does not look.
func TestPostsWithoutWaitersPokeNone(t *testing.T) {
	eachConfig(t, func(t *testing.T, c Config) {
		s := New(NewArray(4), 1, c)
		for range 10 {
			s.Take()
			s.Post()
		}
		var sum int64
		for _, n := range s.array.pokes() {
			sum += n
		}
		switch {
		case !c.Conservative:
			require.Zero(t, sum)
		case c.Threshold > 0 && c.Near.sleeps():
			require.EqualValues(t, 20, sum)
		default:
			require.EqualValues(t, 10, sum)
		}
	})
}

func TestWaitsAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	for _, c := range []Config{
		{Far: Park},
		{Threshold: 1, Near: SpinThenPark, Far: Yield},
		{Threshold: 1, Near: Yield, Far: Park},
	} {
		s, back := New(NewArray(4), 0, c), New(NewArray(4), 0, c)
		var done sync.WaitGroup
		done.Go(func() {
			for range 601 {
				s.Take()
				back.Post()
			}
		})
		for range 100 {
			s.Post()
			back.Take()
		}
		require.Zero(t, int(locktest.AllocsPerRun(500, func() { s.Post(); back.Take() })), "%+v", c)
		done.Wait()
	}
}

func TestMisuse(t *testing.T) {
	require.Panics(t, func() { NewArray(0) })
	require.Panics(t, func() { NewArray(3) })
	require.Panics(t, func() { New(NewArray(1), -1, Config{}) })
	require.Panics(t, func() { New(NewArray(1), 1, Config{Threshold: -1}) })
}
