//go:build !interleave

package engine

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// hidden returns how many slots hold e.
func hidden(e *RW) (n int) {
	b := &e.Opts.bias
	for row := range b.rows() {
		if b.slot(row).Load() == b.id {
			n++
		}
	}
	return n
}

// newCrowded returns biased engines that have one small table, and one column in it.
func newCrowded(rows, n int) []*RW {
	shared := newTable(rows)
	es := make([]*RW, n)
	for i := range es {
		es[i] = newRW(true)
		b := &es[i].Opts.bias
		b.table, b.column, b.id = shared, 5, int64(i+1)
	}
	return es
}

func TestTableHasRoomForTheProcessors(t *testing.T) {
	a, b := new(bias), new(bias)
	a.init()
	b.init()
	require.NotZero(t, a.id)
	require.True(t, a.id != b.id)
	require.True(t, a.column != b.column, "neighbours in age share a column")
	require.Same(t, &a.table[0], &b.table[0], "one table for all")
	rows := a.rows()
	require.GreaterOrEqual(t, int(rows), 16)
	require.GreaterOrEqual(t, int(rows), 4*runtime.NumCPU())
	require.Zero(t, rows&(rows-1), "not a power of two")
	require.Len(t, a.table, int(rows)*columns)
	seen := map[*xsync.Int64]bool{}
	for row := range rows {
		seen[a.slot(row)] = true
		seen[b.slot(row)] = true
		require.Same(t, a.slot(row), a.slot(row+rows), "rows wrap around")
		require.Same(t, a.slot(row), a.slot(row-rows))
	}
	require.Len(t, seen, 2*int(rows))
}

func TestHideGoesToTheRowOfTheHintOrSoonAfter(t *testing.T) {
	e := newCrowded(16, 1)[0]
	b := &e.Opts.bias
	for i := range probes {
		require.True(t, e.Hide(14))
		require.Equal(t, b.id, b.slot(14+i).Load(), "probe %d", i)
		require.EqualValues(t, i+1, hidden(e))
	}
	require.False(t, e.Hide(14), "no room near by")
	require.EqualValues(t, probes, hidden(e))
	require.True(t, e.Hide(13))
	require.True(t, e.TryRead(), "a reader that finds no slot is counted")
	require.EqualValues(t, hiding, heldRW(e)&^readers)
}

func TestLeaveEmptiesTheSlotNearestToTheHint(t *testing.T) {
	e := newCrowded(16, 1)[0]
	b := &e.Opts.bias
	for row := range uintptr(16) {
		require.True(t, e.Hide(row))
	}
	for _, want := range []uintptr{7, 8, 6, 9, 10} { // its own, those a page beside it, then whatever there is
		require.True(t, e.Leave(7))
		require.Zero(t, b.slot(want).Load(), "row %d", want)
	}
	for range 11 {
		require.True(t, e.Leave(7))
	}
	require.Zero(t, hidden(e))
	require.False(t, e.Leave(7), "no reader hides")
	require.EqualValues(t, hiding, heldRW(e), "no permit came or went")
}

func TestHideAndLeaveOnlyWhileBiased(t *testing.T) {
	plain := new(RW)
	require.False(t, plain.MayHide())
	require.False(t, plain.Hide(0), "no table")
	require.False(t, plain.Leave(0))
	plain.Rebias()
	require.False(t, plain.MayHide())

	e := newCrowded(16, 1)[0]
	require.True(t, e.MayHide())
	require.True(t, e.Hide(0))
	for _, flag := range []int64{flagWaiters, flagClosed} {
		e.word.Or(flag)
		require.False(t, e.Hide(0), "flag %d", flag)
		require.True(t, e.Leave(0), "but a hidden reader may leave")
		e.word.Add(-flag)
		require.True(t, e.Hide(0))
	}
	e.Unbias()
	require.False(t, e.MayHide())
	require.False(t, e.Hide(0))
	require.False(t, e.Leave(0))
	require.EqualValues(t, Reader, heldRW(e))
	require.True(t, e.ReleaseRead())
	require.True(t, e.TakeAll())
	require.False(t, e.MayHide(), "a writer's share is not the bias's")
	require.True(t, e.GiveAll())
}

// Locks with one column between them never touch each other's slots.
func TestLocksOfOneColumn(t *testing.T) {
	es := newCrowded(16, 3)
	for i, e := range es {
		require.True(t, e.Hide(uintptr(i)))
		require.True(t, e.Hide(uintptr(i)))
	}
	for i, e := range es {
		require.Equal(t, 2, hidden(e))
		if i%2 == 0 {
			e.Unbias()
			require.Zero(t, hidden(e))
			require.EqualValues(t, 2, heldRW(e))
			require.True(t, e.ReleaseRead())
		} else {
			require.True(t, e.Leave(0))
			require.Equal(t, 1, hidden(e))
		}
		require.True(t, e.ReleaseRead())
		require.False(t, e.ReleaseRead(), "others' readers are taken for one's own")
	}
	for _, e := range es {
		e.Unbias()
		require.Zero(t, heldRW(e))
	}
}

// All hidden readers are counted, by Unbias and by a request that queues. The rest of the bias's
// share is free again.
func TestRevocationCountsTheHidden(t *testing.T) {
	for name, revoke := range map[string]func(e *RW, f *waiting.Future){
		"Unbias": func(e *RW, _ *waiting.Future) { e.Unbias() },
		"writer": func(e *RW, f *waiting.Future) { waiting.Bind(f, e, Everyone); f.Poll(nil) },
		"try":    func(e *RW, _ *waiting.Future) { e.TryExclusive(Everyone, AtBack) },
	} {
		for _, n := range []int{0, 1, 3, 16, 20} {
			e := newCrowded(16, 1)[0]
			for i := range n {
				require.True(t, e.Hide(uintptr(i)) || e.TryRead())
			}
			var f waiting.Future
			revoke(e, &f)
			require.False(t, e.MayHide())
			require.Zero(t, hidden(e))
			if n == 0 && name != "Unbias" {
				require.Equal(t, Everyone, heldRW(e), "%s: no reader was in the way", name)
				continue
			}
			require.EqualValues(t, n, heldRW(e), name)
			require.Equal(t, name == "writer", e.permits().Look()&flagWaiters != 0)
			for range n {
				require.True(t, e.ReleaseRead())
			}
			require.Equal(t, name == "writer", f.Complete())
		}
	}
}

func TestBiasComesBackWhenTheInhibitionHasPassed(t *testing.T) {
	e := newCrowded(16, 1)[0]
	before := xsync.Now()
	e.Unbias()
	after := xsync.Now()
	until := &e.Opts.bias.until
	require.GreaterOrEqual(t, until.Load(), before)
	require.LessOrEqual(t, until.Load(), after+inhibition*(after-before), "inhibited for longer than it took")
	until.Store(math.MaxInt64)
	e.Rebias()
	require.False(t, e.MayHide(), "too early")

	until.Store(xsync.Now())
	var f waiting.Future
	require.True(t, e.TryRead())
	waiting.Bind(&f, e, Everyone)
	require.False(t, f.Poll(nil))
	e.Rebias()
	require.False(t, e.MayHide(), "beside a waiter")
	f.Release()
	e.Rebias()
	require.True(t, e.MayHide())
	require.EqualValues(t, hiding+Reader, heldRW(e))
	e.Rebias()
	require.EqualValues(t, hiding+Reader, heldRW(e), "biased twice")
	require.True(t, e.ReleaseRead())
	e.Unbias()
	require.Zero(t, heldRW(e))
}

// An inhibition is as long as what it stands for: a revocation that took long is paid for by a long
// time without bias.
func TestInhibitionIsAMultipleOfTheRevocation(t *testing.T) {
	e := newRW(true)
	e.Opts.bias.table = newTable(1 << 15) // 16 MB to look through
	var until int64
	locktest.Eventually(
		t,
		"inhibited",
		func() bool { // not the first time if we were kept from looking until it was over
			e.Unbias()
			after := xsync.Now()
			until = e.Opts.bias.until.Load()
			e.Rebias()
			back := e.MayHide()
			require.True(t, !back || xsync.Now() >= until, "too early")
			return !back && until > after
		},
	)
	locktest.Eventually(t, "readers may hide", func() bool { e.Rebias(); return e.MayHide() })
	require.GreaterOrEqual(t, xsync.Now(), until)
}

// A reader that is not hidden, although others are, returns a permit. So does one whose slot has
// been taken.
func TestLeavingWhenOthersHide(t *testing.T) {
	e := newCrowded(16, 1)[0]
	require.True(t, e.permits().Take(e.permits().Look(), Reader)) // counted
	require.True(t, e.Hide(0))
	require.True(t, e.ReleaseRead(), "either of them")
	require.True(t, e.MayHide(), "for that the bias need not end")
	require.True(t, e.ReleaseRead())
	require.True(t, e.MayHide())
	require.False(t, e.ReleaseRead())
	require.Zero(t, hidden(e))
	require.Zero(t, heldRW(e)&^hiding)
}

// On several processors readers hide. A writer then waits for the current readers, and for no
// other.
func TestReadersHideUntilAWriterComes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	e := newRW(true)
	var stop atomic.Bool
	var found atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for !stop.Load() {
				if e.Hide(xsync.Hint()) {
					found.Add(1)
				} else if !e.TryRead() {
					continue // a request waits, or a writer holds
				}
				runtime.Gosched()
				if !e.Leave(xsync.Hint()) && !e.ReleaseRead() {
					t.Error("what is held was refused")
				}
			}
		})
	}
	rounds := 15
	if locktest.Stress() {
		rounds = 50
	}
	for round := range rounds {
		seen := found.Load()
		for deadline := time.Now().Add(20 * time.Second); found.Load() < seen+100; runtime.Gosched() {
			require.True(t, time.Now().Before(deadline), "no reader hides, in round %d", round)
		}
		require.True(t, e.MayHide())
		require.NoError(t, e.Acquire(waiting.UntilDone(t.Context()), Everyone, AtBack))
		require.False(t, e.MayHide())
		// A reader may have come too late, and goes again.
		locktest.Eventually(t, "no reader hides beside a writer", func() bool { return hidden(e) == 0 })
		require.True(t, e.Release(Everyone))
		e.Opts.bias.until.Store(0)
		locktest.Eventually(t, "readers may hide", func() bool { e.Rebias(); return e.MayHide() })
	}
	stop.Store(true)
	wg.Wait()
	e.Unbias()
	require.Zero(t, heldRW(e))
}

// A waiter that is served because the bias has ended is woken when the lock is free again: it may
// call back.
func TestWakeAtTheEndOfTheBiasMayCallBack(t *testing.T) {
	e := newRW(true)
	var f waiting.Future
	waiting.Bind(&f, e, Everyone)
	woken := false
	require.False(t, f.Poll(waiter.WakerFunc(func() { woken = e.Waiting() == 0 })), "woken by its waker")
	require.True(t, woken)
	require.True(t, f.Poll(nil))
	require.NoError(t, f.Err())
	require.True(t, e.Release(Everyone))
}
