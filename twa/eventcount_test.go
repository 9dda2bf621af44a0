package twa_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/twa"
)

// Numbers from a sequencer and a wait for the event before make an order, and exclude.
func TestEventsOrderWhatWaitsForThem(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		var done twa.EventCount
		var seq twa.Sequencer
		var wg sync.WaitGroup
		var log []int64 // guarded by the order
		rounds := locktest.Scaled(2000)
		for range 8 {
			wg.Go(func() {
				for range rounds {
					n := seq.Ticket()
					require.NoError(require.GoOn(t), done.Await(bg, n))
					log = append(log, n)
					done.Advance()
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 8*rounds, done.Read())
		for i, n := range log {
			require.EqualValues(t, i, n)
		}
	})
}

func TestAdvanceWakesAllWhoWaitForIt(t *testing.T) {
	var e twa.EventCount
	first, second := make(chan error, 3), make(chan error, 1)
	for range 3 {
		go func() { first <- e.Await(bg, 1) }()
	}
	go func() { second <- e.Await(bg, 2) }()
	locktest.RequireBlocked(t, first)
	require.EqualValues(t, 1, e.Advance())
	for range 3 {
		require.NoError(t, locktest.Receive(t, first))
	}
	locktest.RequireBlocked(t, second)
	require.EqualValues(t, 2, e.Advance())
	require.NoError(t, locktest.Receive(t, second))
	require.NoError(t, e.Await(bg, -1))
	require.NoError(t, e.Await(bg, 2))
}

func TestAwaitEndsWithTheContext(t *testing.T) {
	var e twa.EventCount
	ctx, cancel := context.WithCancel(bg)
	c := make(chan error, 1)
	go func() { c <- e.Await(ctx, 1) }()
	locktest.RequireBlocked(t, c)
	cancel()
	require.Equal(t, context.Canceled, locktest.Receive(t, c))
	e.Advance()
	require.Equal(t, context.Canceled, e.Await(ctx, 1))
	require.NoError(t, e.Await(bg, 1))
	//nolint:staticcheck // nil on purpose
	require.PanicsWithValue(t, "twa: nil context", func() { _ = e.Await(nil, 0) })
}

// Three stages, each of which may work on an item as soon as the one before has: no locks, and no
// channel of items.
func ExampleEventCount() {
	const items = 3
	var fetched, parsed twa.EventCount
	var wg sync.WaitGroup
	data := make([]string, items)
	wg.Go(func() {
		for i := range data {
			data[i] = fmt.Sprint("item ", i)
			fetched.Advance()
		}
	})
	wg.Go(func() {
		for i := range data {
			if fetched.Await(context.Background(), int64(i+1)) == nil {
				data[i] += ", parsed"
				parsed.Advance()
			}
		}
	})
	for i := range data {
		if parsed.Await(context.Background(), int64(i+1)) == nil {
			fmt.Println(data[i])
		}
	}
	wg.Wait()
	// Output:
	// item 0, parsed
	// item 1, parsed
	// item 2, parsed
}

func ExampleSequencer() {
	var s twa.Sequencer
	fmt.Println(s.Ticket(), s.Ticket(), s.Ticket())
	// Output: 0 1 2
}
