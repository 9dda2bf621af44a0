package parking

import (
	"context"
	"runtime"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func always() bool { return true }

func sleep(ctx context.Context, table *Table, k Key) error {
	_, err := table.Sleep(waiting.UntilDone(ctx), k, 0, always)
	return err
}

// awaitSleeping waits until n sleep for k.
func awaitSleeping(t *testing.T, table *Table, k Key, n int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); table.Sleeping(k) != n; runtime.Gosched() {
		require.True(t, time.Now().Before(deadline), "%d sleep, not %d", table.Sleeping(k), n)
	}
}

// However many keys share a bucket, a wake is for its own.
func TestWakesItsOwn(t *testing.T) {
	for _, buckets := range []int{1, 2, 64} {
		table := New(buckets)
		var objects [5]int
		woken := make(chan int, 10)
		var keys []Key
		for i := range 10 {
			keys = append(keys, Key{Object: &objects[i/2], Part: int64(i % 2)})
			go func() {
				_, _ = table.Sleep(waiting.UntilDone(context.Background()), keys[i], 0, always)
				woken <- i
			}()
			awaitSleeping(t, table, keys[i], 1)
		}
		for _, i := range []int{3, 9, 0, 5, 4, 1, 2, 8, 7, 6} { // first, last, and in between
			table.Wake(keys[i])
			require.Equal(t, i, <-woken)
			table.Wake(keys[i]) // no goroutine is there any more
			require.Zero(t, table.Sleeping(keys[i]))
		}
	}
}

func TestSleepsOnlyIfStill(t *testing.T) {
	table, k := New(1), Key{Object: t}
	how, err := table.Sleep(waiting.UntilDone(context.Background()), k, 0, func() bool { return false })
	require.NoError(t, err)
	require.Equal(t, NotSlept, how)
	require.Zero(t, table.Sleeping(k))
}

// A wake for a sleeper that has given up wakes the next.
func TestWakeIsPassedOn(t *testing.T) {
	for range 500 {
		table, k := New(1), Key{Object: t}
		ctx, cancel := context.WithCancel(context.Background())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- sleep(ctx, table, k) }()
		awaitSleeping(t, table, k, 1)
		go func() { second <- sleep(context.Background(), table, k) }()
		awaitSleeping(t, table, k, 2)
		go cancel()
		table.Wake(k)
		if <-first == nil { // the wake was for it
			table.Wake(k)
		}
		require.NoError(t, <-second)
		cancel()
	}
}

// A sleeper of which a wake has failed stands before the others, and in the end is handed the lock.
func TestVainWakesComeFirst(t *testing.T) {
	table, k := New(1), Key{Object: t}
	type end struct {
		failedWakes int
		how         How
	}
	ends := make(chan end, 4)
	for i, failedWakes := range []int{0, 0, 1, handoffAfter} {
		go func() {
			how, _ := table.Sleep(waiting.UntilDone(context.Background()), k, failedWakes, always)
			ends <- end{failedWakes, how}
		}()
		awaitSleeping(t, table, k, i+1)
	}
	require.False(t, table.WakeOrHand(k, func(hand bool) bool { require.True(t, hand); return false }))
	require.Equal(t, 4, table.Sleeping(k), "woken although it was not released")
	for _, want := range []end{{handoffAfter, Handed}, {1, Woken}, {0, Woken}, {0, Woken}} {
		if handoffAfter == 1 && want.failedWakes == 1 {
			want.how = Handed
		}
		require.True(t, table.WakeOrHand(k, func(bool) bool { return true }))
		require.Equal(t, want, <-ends)
	}
	go func() {
		how, _ := table.Sleep(waiting.UntilDone(context.Background()), k, handoffAfter, always)
		ends <- end{handoffAfter, how}
	}()
	awaitSleeping(t, table, k, 1)
	table.Wake(k) // which has nothing to hand over
	require.Equal(t, end{handoffAfter, Woken}, <-ends)
	require.True(t, table.WakeOrHand(k, func(hand bool) bool { return !hand }), "no goroutine to hand it to")
}

// A locked line shows only its own sleepers, in order, and its holder decides where each stands.
func TestLine(t *testing.T) {
	table, k, other := New(1), Key{Object: new(int)}, Key{Object: new(int)}
	var nodes [4]waiting.Waiter
	var s [4]Sleeper
	require.True(t, table.Enter(&s[3], &nodes[3], other, 0, always))
	l := table.Line(k)
	require.Nil(t, l.First())
	l.Insert(&s[1], &nodes[1], false)
	l.Insert(&s[2], &nodes[2], false)
	l.Insert(&s[0], &nodes[0], true)
	l.Unlock()
	require.Equal(t, 3, table.Sleeping(k))
	l = table.Line(k)
	for i, p := 0, l.First(); i < 3; i, p = i+1, l.Next(p) {
		require.Same(t, &s[i], p)
		require.Same(t, &nodes[i], p.Node())
	}
	require.Nil(t, l.Next(&s[2]))
	require.True(t, l.Remove(&s[1]))
	require.False(t, l.Remove(&s[1]), "it has gone")
	require.Same(t, &s[2], l.Next(&s[0]))
	l.Unlock()
	require.Same(t, &nodes[0], table.Claim(k))
	require.Same(t, &nodes[2], table.Claim(k))
	require.Nil(t, table.Claim(k))
	require.Same(t, &nodes[3], table.Claim(other))
}
