//go:build !interleave

package sync

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	std "sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/panictest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// waitOn begins a wait with c.L, in a goroutine of its own. What it returned is sent when the lock
// is unlocked again.
func waitOn(ctx context.Context, t *testing.T, c *Cond) <-chan error {
	t.Helper()
	n := c.Waiting()
	got := make(chan error, 1)
	go func() {
		c.L.Lock()
		err := c.WaitContext(ctx)
		c.L.Unlock()
		got <- err
	}()
	locktest.AwaitWaiting(t, c, n+1)
	return got
}

func TestCondWakesInTheOrderOfArrival(t *testing.T) {
	c := NewCond(new(Mutex))
	var got []<-chan error
	for range 5 {
		got = append(got, waitOn(bg, t, c))
	}
	for i, g := range got {
		c.Signal()
		require.NoError(t, locktest.Receive(t, g))
		require.Equal(t, len(got)-i-1, c.Waiting())
	}
	c.Signal()
	c.Broadcast()
	late := waitOn(bg, t, c)
	locktest.RequireBlocked(t, late)
	c.Broadcast()
	require.NoError(t, locktest.Receive(t, late))
}

func TestCondBroadcastWakesAll(t *testing.T) {
	c := NewCond(new(std.Mutex))
	var got []<-chan error
	for range 20 {
		got = append(got, waitOn(bg, t, c))
	}
	c.L.Lock()
	c.Broadcast()
	require.Zero(t, c.Waiting())
	for _, g := range got {
		locktest.RequireBlocked(t, g)
	}
	c.L.Unlock()
	for _, g := range got {
		require.NoError(t, locktest.Receive(t, g))
	}
}

// A waiter in the middle that gives up leaves the others in their order.
func TestCondGivesUp(t *testing.T) {
	c := NewCond(new(Mutex))
	ctx, cancel := context.WithCancelCause(bg)
	first, second, third := waitOn(bg, t, c), waitOn(ctx, t, c), waitOn(bg, t, c)
	cancel(context.DeadlineExceeded)
	require.Equal(t, context.Canceled, locktest.Receive(t, second))
	require.Equal(t, 2, c.Waiting())
	for _, g := range []<-chan error{first, third} {
		c.Signal()
		require.NoError(t, locktest.Receive(t, g))
	}
}

// The signal that comes after a cancel goes to another, although the one that has been cancelled
// may still be first in line.
func TestCondEarlierCancelWins(t *testing.T) {
	hold := func() locktest.Held {
		c := NewCond(new(Mutex))
		return locktest.Held{
			Wait: func(ctx context.Context) error {
				c.L.Lock()
				defer c.L.Unlock()
				return c.WaitContext(ctx)
			},
			Waiting: func() bool { return c.Waiting() > 0 },
			Free:    c.Signal,
			Forgets: true,
			After: func(t *testing.T) {
				require.Zero(t, c.Waiting())
				c.L.Lock()
				c.L.Unlock()
			},
		}
	}
	locktest.RequireEarlierCancelWins(t, hold)
	panictest.RequireNothingLost(t, hold)
}

// A countingLock counts its unlocks.
type countingLock struct {
	std.Mutex
	unlocks int
}

func (l *countingLock) Unlock() {
	l.unlocks++
	l.Mutex.Unlock()
}

func TestCondDoesNotUnlockIfItNeedNotWait(t *testing.T) {
	var l countingLock
	c := NewCond(&l)
	l.Lock()
	require.Equal(t, context.Canceled, c.WaitContext(locktest.DoneContext()))
	require.False(t, c.WaitTimeout(0))
	require.False(t, c.WaitTimeout(math.MinInt64))
	require.False(t, l.TryLock())
	require.Zero(t, l.unlocks)
	require.False(t, c.WaitTimeout(1))
	require.False(t, l.TryLock())
	require.Equal(t, 1, l.unlocks)
	l.Unlock()
}

func TestCondWithANilContextPanics(t *testing.T) {
	var none context.Context
	c := NewCond(new(Mutex))
	c.L.Lock()
	require.PanicsWithValue(t, "sync: nil context", func() { _ = c.WaitContext(none) })
	c.L.Unlock()
	require.Panics(t, func() { new(Cond).Wait() }, "a Cond without a lock")
	require.Zero(t, c.Waiting())
}

// The standard library's own test asks Signal.
func TestCondSeesThatItIsACopy(t *testing.T) {
	var c Cond
	c.Broadcast() // the first use
	for _, call := range []func(*Cond){
		(*Cond).Wait,
		(*Cond).Signal,
		(*Cond).Broadcast,
		func(c *Cond) { _ = c.WaitContext(t.Context()) },
		func(c *Cond) { c.WaitTimeout(time.Hour) },
	} {
		var d Cond
		reflect.ValueOf(&d).Elem().Set(reflect.ValueOf(&c).Elem()) // hidden from vet
		require.PanicsWithValue(t, "sync.Cond is copied", func() { call(&d) })
		require.Zero(t, d.Waiting())
	}
}

// Of two that use it first at the same time the later one sees that it is no copy.
func TestCondMayBeUsedByTwoAtOnce(*testing.T) { // It panics otherwise.
	var c Cond
	c.check()
	c.checkSlow()
}

// An awkwardLock fails to unlock.
type awkwardLock func()

func (awkwardLock) Lock()     {}
func (l awkwardLock) Unlock() { l() }

// A wait that could not unlock leaves no waiter behind, and uses up no signal.
func TestCondSurvivesALockThatPanics(t *testing.T) {
	var fail atomic.Bool
	c := NewCond(awkwardLock(func() {
		if fail.Swap(false) {
			panic("not locked")
		}
	}))
	for range 20 {
		behind := waitOn(bg, t, c)
		for _, wait := range []func(){
			c.Wait,
			func() { _ = c.WaitContext(t.Context()) },
			func() { c.WaitTimeout(time.Hour) },
		} {
			fail.Store(true)
			require.PanicsWithValue(t, "not locked", wait)
			require.Equal(t, 1, c.Waiting())
		}
		c.Signal()
		require.NoError(t, locktest.Receive(t, behind))
	}

	var others Cond
	got := make(chan error, 1)
	others.L = awkwardLock(func() {
		others.L = awkwardLock(func() {})
		go func() { got <- others.WaitContext(bg) }()
		locktest.AwaitWaiting(t, &others, 2)
		others.Signal() // for the first, which is about to panic
		panic("not locked")
	})
	require.PanicsWithValue(t, "not locked", others.Wait)
	require.NoError(t, locktest.Receive(t, got))
	require.Zero(t, others.Waiting())
}

func TestCondSurvivesALockThatEndsTheGoroutine(t *testing.T) {
	c := NewCond(awkwardLock(runtime.Goexit))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.Wait()
	}()
	locktest.Receive(t, ended)
	require.Zero(t, c.Waiting())
}

func TestCondIsDurablyBlocking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCond(new(Mutex))
		got := make(chan string, 9)
		wait := func(f func() string) {
			go func() {
				c.L.Lock()
				defer c.L.Unlock()
				got <- f()
			}()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		wait(func() string { return c.WaitContext(ctx).Error() })
		wait(func() string {
			if c.WaitTimeout(2 * time.Minute) {
				return "woken"
			}
			return "timed out"
		})
		synctest.Wait()
		wait(func() string { c.Wait(); return "woken" })
		wait(func() string { c.Wait(); return "woken" })
		synctest.Wait()
		require.Equal(t, 4, c.Waiting())
		start := time.Now()
		require.Equal(t, "context deadline exceeded", <-got)
		require.Equal(t, time.Minute, time.Since(start))
		require.Equal(t, "timed out", <-got)
		require.Equal(t, 2*time.Minute, time.Since(start))
		for range 2 {
			c.Signal()
			require.Equal(t, "woken", <-got)
		}
	})
}

// A signal finds who has waited for long, however many have come and given up meanwhile: more than
// a number of 32 bits counts, if all rounds are made. The race detector would need hours for those.
func TestCondOldestIsFoundHoweverManyCameAndWent(t *testing.T) {
	n := int64(1 << 17)
	if locktest.Stress() && !locktest.RaceEnabled {
		n = 1<<31 + 1
	}
	for name, wake := range map[string]func(*Cond){"Signal": (*Cond).Signal, "Broadcast": (*Cond).Broadcast} {
		t.Run(name, func(t *testing.T) {
			c := NewCond(new(Mutex))
			oldest := waitOn(bg, t, c)
			p := waiting.GetParker(waiting.Limit{})
			for range n {
				c.enter(p)
				(condLine{c}).Unlink(&p.Waiter)
			}
			p.Put()
			wake(c)
			require.NoError(t, locktest.Receive(t, oldest))
		})
	}
}

// What is before a signal is ordered before what is after the wait that it ends, also if L orders
// nothing. The race detector would see it.
func TestCondOrdersMemory(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		c := NewCond(awkwardLock(func() {}))
		wakes := []func(){c.Signal, c.Broadcast}
		for i := range 50 {
			message := 0
			got := make(chan int)
			go func() {
				switch i % 3 {
				case 0:
					c.Wait()
				case 1:
					_ = c.WaitContext(t.Context())
				default:
					c.WaitTimeout(time.Hour)
				}
				got <- message
			}()
			locktest.AwaitWaiting(t, c, 1)
			message = 1
			wakes[i%2]()
			require.Equal(t, 1, locktest.Receive(t, got))
		}
	})
}

// Waiters that give up at the moment of a signal stand before one that does not. One of them that
// was woken sends another signal. So if a signal is used up by one who gives up, the last one
// sleeps for ever.
func TestCondLosesNoSignal(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var m Mutex
		c := NewCond(&m)
		wait := func(f func() bool) <-chan bool {
			locked, got := make(chan struct{}), make(chan bool, 1)
			go func() {
				m.Lock()
				close(locked)
				woken := f()
				m.Unlock()
				if woken {
					c.Signal()
				}
				got <- woken
			}()
			<-locked
			m.Lock() // It has entered the line: it has unlocked.
			m.Unlock()
			return got
		}
		for range locktest.Scaled(8000) {
			ctx, cancel := context.WithCancel(bg)
			hasty := wait(func() bool { return c.WaitTimeout(time.Duration(1 + rand.IntN(100_000))) })
			first := wait(func() bool { return c.WaitContext(ctx) == nil })
			second := wait(func() bool { return c.WaitContext(ctx) == nil })
			steady := wait(func() bool { c.Wait(); return false })
			go cancel()
			c.Signal()
			locktest.Receive(t, steady)
			for _, got := range []<-chan bool{hasty, first, second} {
				locktest.Receive(t, got)
			}
			require.Zero(t, c.Waiting())
		}
	})
}
