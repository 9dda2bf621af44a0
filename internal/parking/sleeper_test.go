//go:build !interleave

package parking

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// The parker that a sleeper keeps is in no pool, where another wait would find it.
func TestKeptParkerIsInNoPool(t *testing.T) {
	s := new(Sleeper)
	p := s.Kept()
	s.Put(p)
	other := waiting.GetParker(waiting.Limit{})
	defer other.Put()
	require.True(t, p != other)
	require.Same(t, p, s.parker)
}

// A wait that was given up has withdrawn its own parker, and leaves the one that is kept.
func TestSleeperWithoutAParkerKeepsItsOwn(t *testing.T) {
	s := new(Sleeper)
	p := s.Kept()
	s.node, s.object, s.bucket = &p.Waiter, t, new(bucket)
	s.Put(nil)
	require.Same(t, p, s.parker)
	require.Equal(t, Sleeper{parker: p}, *s, "it remembers nothing")
}

func TestParkersAreNotKeptAcrossABubblesBorder(t *testing.T) {
	s := new(Sleeper)
	outside := s.Kept()
	synctest.Test(t, func(t *testing.T) {
		require.True(t, outside != s.Kept(), "it would not be durable")
		require.Same(t, outside, s.parker)
		fresh := new(Sleeper)
		fresh.Kept()
		require.Nil(t, fresh.parker)
	})
	require.Same(t, outside, s.Kept())
}

func TestKeptParkerObeysUseChannels(t *testing.T) {
	defer waiter.UseChannels(waiter.UseChannels(false))
	if !xsync.Parks() {
		t.Skip("this build always sleeps in channels")
	}
	s := new(Sleeper)
	for _, channels := range []bool{false, true, false} {
		waiter.UseChannels(channels)
		require.True(t, s.Kept().IsCheapest())
	}
}

// Another goroutine may have it then. The race detector would see it.
func TestNothingTouchesASleeperThatIsPut(t *testing.T) {
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for range 100 {
				s := GetSleeper()
				s.node = new(waiting.Waiter)
				s.Put(nil)
				runtime.Gosched()
			}
		})
	}
	all.Wait()
	require.Nil(t, GetSleeper().node)
}
