package chains

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

func eachWake(t *testing.T, f func(t *testing.T, wake Wake)) {
	t.Run("handed", func(t *testing.T) { f(t, Handed) })
	t.Run("walked", func(t *testing.T) { f(t, Walked) })
}

// entered returns a function for [Table.WaitUntil] that reports false until yes is set. It counts
// in n the goroutines that have pushed, which are those that call it for the second time. It counts
// after it has read yes, so that a counted goroutine reports true only after a wake.
func entered(n *atomic.Int64, yes *atomic.Bool) func() bool {
	asked := 0
	return func() bool {
		answer := yes.Load()
		if asked++; asked == 2 {
			n.Add(1)
		}
		return answer
	}
}

// awaitEntered waits until n goroutines have pushed.
func awaitEntered(t *testing.T, n *atomic.Int64, want int64) {
	t.Helper()
	locktest.Eventually(t, "all are on their chains", func() bool { return n.Load() == want })
}

// A signal wakes every waiter on its chain, whatever its condition, and none on other chains.
func TestSignalWakesTheChain(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Wake) {
		for _, signal := range []func(*Table, uint64){(*Table).Signal, (*Table).SignalPolite} {
			table := New(Config{Chains: 4, Wake: wake})
			signal(table, 1) // without a waiter
			var n atomic.Int64
			var yes atomic.Bool
			woken := make(chan uint64, 8)
			for i := range uint64(8) {
				go func() {
					if err := table.WaitUntil(context.Background(), i, entered(&n, &yes)); err == nil {
						woken <- i
					}
				}()
			}
			awaitEntered(t, &n, 8)
			yes.Store(true)
			signal(table, 1)
			require.Equal(t, uint64(6), locktest.Receive(t, woken)+locktest.Receive(t, woken), "1 and 5")
			locktest.RequireBlocked(t, woken)
			for _, i := range []uint64{0, 2, 3} {
				signal(table, i)
			}
			for range 6 {
				locktest.Receive(t, woken)
			}
		}
	})
}

func TestWhoGivesUpLeavesOthersWaiting(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Wake) {
		table := New(Config{Chains: 1, Wake: wake})
		ctx, cancel := context.WithCancel(context.Background())
		var n atomic.Int64
		var yes, no atomic.Bool
		gone, woken := make(chan error, 3), make(chan error, 6)
		for i := range 9 { // among each other
			go func() {
				if i%3 == 0 {
					gone <- table.WaitUntil(ctx, 0, entered(&n, &no))
				} else {
					woken <- table.WaitUntil(context.Background(), 0, entered(&n, &yes))
				}
			}()
			awaitEntered(t, &n, int64(i+1))
		}
		cancel()
		for range 3 {
			require.ErrorIs(t, locktest.Receive(t, gone), context.Canceled)
		}
		locktest.RequireBlocked(t, woken)
		yes.Store(true)
		table.Signal(0)
		for range 6 {
			require.NoError(t, locktest.Receive(t, woken))
		}
		require.Nil(t, table.chains[0].top.Load())
	})
}

// The steps of leaving a chain: the top restores what was there, and an element that has been
// notified flushes nothing.
func TestLeavingDisturbsNoneWithoutNeed(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Wake) {
		table, ctx := New(Config{Chains: 1, Wake: wake}), context.Background()
		c := table.chain(0)
		a, b := table.enter(ctx, c), table.enter(ctx, c)
		require.True(t, table.expel(c, b))
		require.Same(t, a, c.top.Load())
		b.end(false)

		table.Signal(0)
		b = table.enter(ctx, c)
		require.False(t, table.expel(c, a))
		require.Same(t, b, c.top.Load())
		a.end(true)
		require.True(t, table.expel(c, b))
		b.end(false)
		require.Nil(t, c.top.Load())
	})
}

// A woken goroutine passes the wake on before it checks its own condition, which may take long.
func TestWakeIsPassedOnFirst(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Wake) {
		table := New(Config{Chains: 1, Wake: wake})
		var n atomic.Int64
		var yes atomic.Bool
		below, above := make(chan error, 1), make(chan error, 1)
		go func() { below <- table.WaitUntil(context.Background(), 0, entered(&n, &yes)) }()
		awaitEntered(t, &n, 1)
		go func() {
			look := entered(&n, &yes)
			above <- table.WaitUntil(context.Background(), 0, func() bool {
				if !look() {
					return false
				}
				below <- <-below // until the one below has entered
				return true
			})
		}()
		awaitEntered(t, &n, 2)
		yes.Store(true)
		table.Signal(0)
		require.NoError(t, locktest.Receive(t, above))
		require.NoError(t, locktest.Receive(t, below))
	})
}

// A condition that has come true takes precedence over a context that is done.
func TestSatisfiedNeedsNoContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	table := New(Config{Chains: 1})
	require.NoError(t, table.WaitUntil(ctx, 0, func() bool { return true }))
	require.ErrorIs(t, table.WaitUntil(ctx, 0, func() bool { return false }), context.Canceled)
	require.Nil(t, table.chains[0].top.Load())
}

// satisfied may take something: once it has returned true it is not called again.
func TestSatisfiedIsNotAskedAgain(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Wake) {
		for yesAt := 1; yesAt <= 2; yesAt++ { // before the push, and after it
			asked := 0
			table := New(Config{Chains: 1, Wake: wake})
			require.NoError(t, table.WaitUntil(context.Background(), 0, func() bool { asked++; return asked == yesAt }))
			require.Equal(t, yesAt, asked)
			require.Nil(t, table.chains[0].top.Load())
		}
	})
}

func TestSequence(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Wake) {
		table := New(Config{Chains: 2, Wake: wake, Sequences: true})
		seq := table.Monitor(1)
		done := make(chan error, 1)
		go func() { done <- table.Wait(context.Background(), 1, seq) }()
		locktest.Eventually(t, "on the chain", func() bool { return table.chains[1].top.Load() != nil })
		table.Signal(0)
		locktest.RequireBlocked(t, done)
		table.SignalPolite(1)
		require.NoError(t, locktest.Receive(t, done))
		require.Equal(t, seq+1, table.Monitor(1))
		require.NoError(t, table.Wait(context.Background(), 1, seq), "it has moved")

		lazy := uint64(0)
		require.NoError(t, table.WaitLazy(context.Background(), 1, &lazy))
		require.Equal(t, seq+1, lazy)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		require.ErrorIs(t, table.WaitLazy(ctx, 1, &lazy), context.Canceled)
	})
}

// Every waiter on the chain gets the news, with each kind of wake. A flush carries none.
func TestNewsGoDownTheChain(t *testing.T) {
	eachWake(t, func(t *testing.T, wake Wake) {
		table := New(Config{Chains: 1, Wake: wake})
		ctx, cancel := context.WithCancel(context.Background())
		var asked atomic.Int64 // before each push and after it
		no := func() bool { asked.Add(1); return false }
		awaitAsked := func(n int64) {
			locktest.Eventually(t, "all are on the chain", func() bool { return asked.Load() == n })
		}
		gone, heard := make(chan error, 1), make(chan News, 20)
		go func() { gone <- table.WaitUntil(ctx, 0, no) }()
		awaitAsked(2)
		var done sync.WaitGroup
		for i := range int64(5) {
			done.Go(func() {
				_ = table.WaitNews(context.Background(), 0, no, func(n News) bool {
					heard <- n
					return n.Semaphore == 7 && n.Grant > i
				})
			})
			awaitAsked(4 + 2*i)
		}
		cancel()
		require.Error(t, locktest.Receive(t, gone))
		asks := int64(12)
		for _, step := range []struct {
			say        News
			hear, stay int64
		}{{News{}, 5, 5}, {News{7, 2}, 5, 3}, {News{8, 9}, 3, 3}, {News{7, 5}, 3, 0}} {
			if step.say != (News{}) { // which a flush says
				table.SignalNews(0, step.say)
			}
			for range step.hear {
				require.Equal(t, step.say, locktest.Receive(t, heard))
			}
			asks += 2 * step.stay
			awaitAsked(asks)
		}
		done.Wait()
		require.Empty(t, heard)
	})
}

func TestMisuse(t *testing.T) {
	require.Panics(t, func() { New(Config{}) })
	require.Panics(t, func() { New(Config{Chains: 3}) })
	table := New(Config{Chains: 1, Wake: Handed})
	require.Panics(t, func() { _ = table.Wait(context.Background(), 0, 0) })
	require.Panics(t, func() { _ = table.WaitLazy(context.Background(), 0, new(uint64)) })
	require.Panics(t, func() { table.NewLocation(context.Background()) })
	require.Panics(t, func() { _ = table.WaitDelegated(context.Background(), 0, nil) })
	e := new(element)
	e.notified.Store(true)
	require.PanicsWithValue(t, "chains: an element was notified twice", func() { e.notify(News{}) })
}

// An element that was left behind is taken off when the location moves to another chain, and by
// Close.
func TestLocationLeavesNothingBehind(t *testing.T) {
	table := New(Config{Chains: 2, Wake: Walked})
	l := table.NewLocation(context.Background())
	require.NoError(t, l.Wait(0))
	require.NotNil(t, table.chains[0].top.Load())
	require.NoError(t, l.Wait(1))
	require.Nil(t, table.chains[0].top.Load())
	require.NotNil(t, table.chains[1].top.Load())
	table.Signal(1)
	require.NoError(t, l.Wait(1), "woken")
	require.NoError(t, l.Wait(1), "pushed again")
	l.Close()
	require.Nil(t, table.chains[1].top.Load())
	l.Close()

	ctx, cancel := context.WithCancel(context.Background())
	l = table.NewLocation(ctx)
	require.NoError(t, l.Wait(0))
	cancel()
	require.ErrorIs(t, l.Wait(0), context.Canceled)
	require.Nil(t, table.chains[0].top.Load())
	l.Close()
}

// A signaller may be slow to notify an element that it has taken off its chain: the location uses
// its other element meanwhile.
func TestLocationDoesNotWaitForItsOldElement(t *testing.T) {
	table := New(Config{Chains: 2, Wake: Walked})
	l := table.NewLocation(context.Background())
	require.NoError(t, l.Wait(0))
	slow := table.chains[0].top.Swap(nil)
	pushed := make(chan error, 1)
	go func() { pushed <- l.Wait(1) }()
	require.NoError(t, locktest.Receive(t, pushed))
	require.NotNil(t, table.chains[1].top.Load())
	table.notify(slow, News{})
	l.Close()
	require.Nil(t, table.chains[1].top.Load())
	require.Nil(t, l.old, "it has not been waited for at all")
}

func TestLocationRemembersItsAddress(t *testing.T) {
	table := New(Config{Chains: 64, Wake: Walked})
	l := table.NewLocation(context.Background())
	defer l.Close()
	for _, a := range []uint64{0, 0, 1, 0xc000123440, 0} {
		require.NoError(t, l.WaitAddress(a))
		require.Same(t, table.chain(Mix32A(a)), l.found)
		table.Signal(Mix32A(a))
		require.NoError(t, l.WaitAddress(a), "woken")
	}
}

func TestWaitsAllocateNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	eachWake(t, func(t *testing.T, wake Wake) {
		table := New(Config{Chains: 1, Wake: wake, Sequences: true})
		var n, notified atomic.Int64
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := int64(1); i <= 602; i++ {
				_ = table.WaitUntil(context.Background(), 0, func() bool { return n.Load() >= i })
				notified.Store(i)
			}
		}()
		i := int64(0)
		round := func() {
			for table.chains[0].top.Load() == nil {
				time.Sleep(time.Microsecond)
			}
			i++
			n.Store(i)
			table.Signal(0)
			for notified.Load() < i {
				time.Sleep(time.Microsecond)
			}
		}
		for range 100 {
			round()
		}
		// Two rounds: the last wait begins after the count has ended, and must not hide the only
		// allocation of each.
		require.Zero(t, int(locktest.AllocsPerRun(250, func() { round(); round() })))
		<-done
	})
}

// until waits in the way that the table is configured for.
func until(ctx context.Context, table *Table, hash uint64, satisfied func() bool) error {
	if table.wake == Delegated {
		return table.WaitDelegated(ctx, hash, satisfied)
	}
	return table.WaitUntil(ctx, hash, satisfied)
}

// A semaphore is a ticket semaphore that waits on chains.
type semaphore struct {
	ticket, grant atomic.Int64
	table         *Table
	id            uint64
}

func (s *semaphore) take(t *testing.T, how int, l *Location) {
	tx := s.ticket.Add(1) - 1
	h, granted := Ticket(s.id, uint64(tx)), func() bool { return s.grant.Load() > tx }
	switch ctx := context.Background(); how {
	case 0:
		require.NoError(t, until(ctx, s.table, h, granted))
	case 1:
		for {
			seq := s.table.Monitor(h)
			if granted() {
				return
			}
			require.NoError(t, s.table.Wait(ctx, h, seq))
		}
	case 2:
		for seq := uint64(0); !granted(); {
			require.NoError(t, s.table.WaitLazy(ctx, h, &seq))
		}
	default:
		for !granted() {
			require.NoError(t, l.Wait(h))
		}
	}
}

func (s *semaphore) post() {
	g := s.grant.Add(1) - 1
	if s.ticket.Load() > g {
		s.table.SignalPolite(Ticket(s.id, uint64(g)))
	}
}

// The signaller notifies exactly those whose condition holds. The others keep their order. A waiter
// that gives up is notified, too, and no other with it.
func TestDelegatedWakesThoseItConcerns(t *testing.T) {
	ctx := context.Background()
	for _, notified := range [][]bool{
		{true},
		{false},
		{true, false, false},
		{false, true, false},
		{false, false, true},
		{true, true, false},
		{true, false, true},
		{true, true, true},
	} {
		for _, leave := range []bool{false, true} {
			table := New(Config{Chains: 2, Wake: Delegated})
			c := table.chain(1)
			var es, kept []*element
			var now atomic.Bool
			for _, holds := range notified {
				e := table.delegate(ctx, c, func() bool { return holds && now.Load() })
				es = append(es, e)
				if !holds {
					kept = append([]*element{e}, kept...)
				}
			}
			if leave {
				for i, e := range es {
					if notified[i] {
						require.False(t, table.expel(c, e), "the token comes")
					}
				}
			} else {
				table.Signal(1)
				for e := c.top.Load(); e != nil; e = e.below {
					require.False(t, e.notified.Load(), "no goroutine's condition holds")
				}
				now.Store(true)
				table.Signal(0)
				table.SignalPolite(1)
			}
			e := c.top.Load()
			for _, k := range kept {
				require.Same(t, k, e)
				require.False(t, k.notified.Load())
				e = e.below
			}
			require.Nil(t, e)
			for i, e := range es {
				require.Equal(t, notified[i], e.notified.Load())
				if !notified[i] {
					require.False(t, table.expel(c, e))
				}
				e.end(true)
			}
			require.Nil(t, c.top.Load())
		}
	}
}

// A waiter that Delegated notifies does not check again: its condition has held.
func TestDelegatedAsksOnceForAWake(t *testing.T) {
	table := New(Config{Chains: 1, Wake: Delegated})
	var asked, yes atomic.Int64
	done := make(chan error, 1)
	go func() {
		done <- table.WaitDelegated(context.Background(), 0, func() bool {
			answer := yes.Load() == 1
			asked.Add(1)
			return answer
		})
	}()
	for _, want := range []int64{2, 3, 4} { // before the push and after it, then by signals
		locktest.Eventually(t, "asked", func() bool { return asked.Load() == want })
		locktest.RequireBlocked(t, done)
		table.Signal(0)
	}
	yes.Store(1)
	table.Signal(0)
	require.NoError(t, locktest.Receive(t, done))
	require.EqualValues(t, 6, asked.Load())
}

// Goroutines take and post semaphores that share few chains, in every way there is, while others
// give up. No permit is lost and no waiter is left behind.
func TestStress(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		stress := func(t *testing.T, wake Wake) {
			const permits, takers, quitters = 2, 8, 4
			rounds := locktest.Scaled(4000)
			table := New(Config{Chains: 4, Wake: wake, Sequences: true})
			var sems [3]semaphore
			var held [3]atomic.Int64
			for i := range sems {
				sems[i].table, sems[i].id = table, uint64(i)
				sems[i].grant.Store(permits)
			}
			ways := map[Wake]int{Handed: 3, Walked: 4, Delegated: 3}[wake]
			var takersDone, done sync.WaitGroup
			for g := range takers {
				takersDone.Go(func() {
					rng := rand.New(rand.NewPCG(7, uint64(g)))
					var l *Location
					if wake == Walked {
						l = table.NewLocation(context.Background())
						defer l.Close()
					}
					for range rounds {
						i := rng.IntN(len(sems))
						sems[i].take(t, rng.IntN(ways), l)
						if held[i].Add(1) > permits {
							t.Error("too many permits")
						}
						held[i].Add(-1)
						sems[i].post()
					}
				})
			}
			stop := make(chan struct{})
			for g := range quitters {
				done.Go(func() {
					rng := rand.New(rand.NewPCG(8, uint64(g)))
					for {
						select {
						case <-stop:
							return
						default:
						}
						ctx, cancel := context.WithTimeout(
							context.Background(),
							time.Duration(rng.IntN(50))*time.Microsecond,
						)
						err := until(ctx, table, rng.Uint64(), func() bool { return false })
						cancel()
						if err == nil {
							t.Error("woken for nothing")
						}
					}
				})
			}
			takersDone.Wait()
			close(stop)
			done.Wait()
			for i := range sems {
				require.EqualValues(t, permits, sems[i].grant.Load()-sems[i].ticket.Load())
			}
			for i := range table.chains {
				require.Nil(t, table.chains[i].top.Load())
			}
		}
		eachWake(t, stress)
		t.Run("delegated", func(t *testing.T) { stress(t, Delegated) })
	})
}
