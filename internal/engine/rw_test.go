package engine

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

// newRW returns a read-write lock, plain or with bias.
func newRW(biased bool) *RW {
	e := new(RW)
	if biased {
		e.InitBias()
	}
	return e
}

// forEachRW runs f with both kinds of locks.
func forEachRW(t *testing.T, f func(t *testing.T, e *RW)) {
	t.Helper()
	for name, biased := range map[string]bool{"plain": false, "biased": true} {
		t.Run(name, func(t *testing.T) { f(t, newRW(biased)) })
	}
}

// heldRW returns what readers, upgradable readers and writers hold, as the word has it.
func heldRW(e *RW) int64 { return e.permits().Look().heldRW() }

// What can be returned, by what is held. The bias's share makes no difference to others.
func TestSharesThatCanBeReturned(t *testing.T) {
	shares := []int64{Reader, Upgradable, Everyone, Everyone - Reader, Everyone - Upgradable, Upgradable - Reader}
	never := []int64{
		0,
		2,
		3,
		-1,
		-Reader,
		hiding,
		hiding - Reader,
		hiding + Reader,
		Upgradable + Reader,
		Everyone + 1,
		Everyone - hiding,
		Everyone - 2,
	}
	for _, c := range []struct {
		held int64
		may  []int64
	}{
		{0, nil},
		{hiding, nil},
		{Reader, []int64{Reader}},
		{2, []int64{Reader}},
		{readers, []int64{Reader}},
		{hiding + Reader, []int64{Reader}},
		{hiding + readers, []int64{Reader}},
		{Upgradable, []int64{Upgradable, Upgradable - Reader}},
		{Upgradable + hiding, []int64{Upgradable, Upgradable - Reader}},
		{Upgradable + Reader, []int64{Reader, Upgradable, Upgradable - Reader}},
		{Upgradable + hiding + 3, []int64{Reader, Upgradable, Upgradable - Reader}},
		{Upgradable + hiding + readers - 2, []int64{Reader, Upgradable, Upgradable - Reader}},
		{Everyone, []int64{Everyone, Everyone - Reader, Everyone - Upgradable}},
	} {
		may := map[int64]bool{}
		for _, n := range c.may {
			may[n] = true
		}
		for _, n := range append(shares, never...) {
			require.Equal(t, may[n], legalRW(c.held, n), "%x of %x", n, c.held)
		}
	}
}

// By the same table, through the engine: what is refused changes nothing.
func TestRWMisuse(t *testing.T) {
	shares := []int64{Reader, Upgradable, Everyone, Everyone - Reader, Everyone - Upgradable, Upgradable - Reader}
	for held, may := range map[int64][]int64{
		0:                     nil,
		Reader:                {Reader},
		Upgradable:            {Upgradable, Upgradable - Reader},
		Upgradable + Reader:   {Reader, Upgradable, Upgradable - Reader},
		Upgradable + 2*Reader: {Reader, Upgradable, Upgradable - Reader},
		Everyone:              {Everyone, Everyone - Reader, Everyone - Upgradable},
	} {
		for _, n := range shares {
			for _, queue := range []bool{false, true} {
				forEachRW(t, func(t *testing.T, e *RW) {
					if held == Everyone {
						require.True(t, e.TryExclusive(Everyone, AtBack))
					} else {
						for range held & readers {
							require.True(t, e.TryRead())
						}
						require.True(t, held&Upgradable == 0 || e.TryAcquire(Upgradable))
					}
					var f waiting.Future
					if queue && held != 0 {
						waiting.Bind(&f, e, Everyone)
						require.False(t, f.Poll(nil))
					}
					legal := false
					for _, m := range may {
						legal = legal || m == n
					}
					require.Equal(t, legal, e.Release(n), "%x of %x", n, held)
					f.Release()
					e.Unbias() // the hidden are counted now
					left := held
					if legal {
						left -= n
					}
					if legal && queue && left == 0 { // the future's, who had it, and gave it back
						require.Zero(t, heldRW(e))
					}
					require.Equal(t, left, heldRW(e), "after %x of %x", n, held)
					require.Zero(t, e.Waiting())
					require.Zero(t, e.permits().Look()&flags)
				})
			}
		}
	}
}

func TestRWShortcutsWorkOnAFreeLockOnly(t *testing.T) {
	words := map[string]int64{
		"free": 0, "read": -Reader << permitShift, "read twice": -2 * Reader << permitShift,
		"upgradable": -Upgradable << permitShift, "written": -Everyone << permitShift, "biased": -hiding << permitShift,
	}
	for _, flag := range []int64{0, flagWaiters} {
		for name, word := range words {
			for what, c := range map[string]struct {
				call     func(e *RW) bool
				from, to int64
			}{
				"TakeFirstRead": {(*RW).TakeFirstRead, 0, words["read"]},
				"GiveLastRead":  {(*RW).GiveLastRead, words["read"], 0},
				"TakeAll":       {(*RW).TakeAll, 0, words["written"]},
				"GiveAll":       {(*RW).GiveAll, words["written"], 0},
			} {
				e := new(RW)
				e.word.Store(word | flag)
				ok := flag == 0 && word == c.from
				require.Equal(t, ok, c.call(e), "%s of %s", what, name)
				if ok {
					require.Equal(t, c.to, e.word.Load())
				} else {
					require.Equal(t, word|flag, e.word.Load())
				}
			}
		}
	}
}

func TestStatesOfAReadWriteLock(t *testing.T) {
	for _, c := range []struct {
		held               int64
		upgradable, biased bool
	}{
		{0, false, false},
		{Reader, false, false},
		{readers, false, false},
		{Upgradable, true, false},
		{Upgradable + 5, true, false},
		{Upgradable + readers, true, false},
		{hiding, false, true},
		{hiding + 5, false, true},
		{hiding + Upgradable, true, true},
		{hiding + Upgradable + 5, true, true},
		{Everyone, false, false},
	} {
		for flag := range State(flags + 1) {
			o := State(-c.held<<permitShift) | flag
			require.Equal(t, c.held, o.heldRW())
			require.Equal(t, c.upgradable, o.isUpgradable(), "%x", c.held)
			require.Equal(t, c.biased, o.isBiased(), "%x", c.held)
		}
	}
}

func TestTryReadFailsForAWriterOrAWaiterOnly(t *testing.T) {
	forEachRW(t, func(t *testing.T, e *RW) {
		for range 3 {
			require.True(t, e.TryRead())
		}
		require.True(t, e.TryAcquire(Upgradable))
		require.True(t, e.TryRead(), "beside an upgradable reader")
		var f waiting.Future
		waiting.Bind(&f, e, Everyone)
		require.False(t, f.Poll(nil))
		require.False(t, e.TryRead(), "beside a waiter")
		require.EqualValues(t, Upgradable+4, heldRW(e), "who waits has all readers counted")
		f.Release()
		for range 4 {
			require.True(t, e.ReleaseRead())
		}
		require.False(t, e.ReleaseRead(), "there is an upgradable reader only")
		require.True(t, e.Release(Upgradable))
		require.True(t, e.TryExclusive(Everyone, AtBack))
		require.False(t, e.TryRead(), "beside a writer")
		require.False(t, e.ReleaseRead())
		require.True(t, e.GiveAll())
	})
}

func TestTryExclusive(t *testing.T) {
	forEachRW(t, func(t *testing.T, e *RW) {
		require.True(t, e.TryRead())
		require.False(t, e.TryExclusive(Everyone, AtBack))
		require.EqualValues(t, Reader, heldRW(e))
		require.Zero(t, e.permits().Look()&flags, "no request waits")
		require.True(t, e.ReleaseRead())

		// With a waiter in line: from the back no request gets past, from the front one does.
		require.True(t, e.TryAcquire(Upgradable))
		var f waiting.Future
		waiting.Bind(&f, e, Upgradable)
		require.False(t, f.Poll(nil))
		require.False(t, e.TryExclusive(Everyone-Upgradable, AtBack))
		require.NotZero(t, e.permits().Look()&flagWaiters)
		require.True(t, e.TryExclusive(Everyone-Upgradable, AtFront))
		require.Equal(t, Everyone, heldRW(e))
		require.NotZero(t, e.permits().Look()&flagWaiters, "the waiter is still there")
		require.False(t, e.TryExclusive(Everyone, AtFront))
		require.True(t, e.Release(Everyone))
		require.True(t, f.Complete())
		f.Release()
		require.Zero(t, heldRW(e))
	})
}

// A try that takes what is free must not take it from those in line: what its look at the hidden
// readers has brought to light is the oldest waiter's.
func TestRWPermitsAreConserved(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 2000
	}
	for _, procs := range []int{1, 2, 4, 16} {
		old := runtime.GOMAXPROCS(procs)
		forEachRW(t, func(t *testing.T, e *RW) {
			var value, other int
			var wg sync.WaitGroup
			forever := waiting.UntilDone(context.Background())
			for g := range 6 {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(uint64(g), uint64(procs)))
					for range rounds {
						switch rng.IntN(4) {
						case 0:
							if e.TryExclusive(Everyone, AtBack) {
								value++
								other++
								require.True(require.GoOn(t), e.Release(Everyone))
							}
						case 1:
							if !e.TryAcquire(Everyone) {
								require.NoError(require.GoOn(t), e.Acquire(forever, Everyone, AtBack))
							}
							value++
							other++
							require.True(require.GoOn(t), e.Release(Everyone))
						default:
							if !e.TryRead() {
								require.NoError(require.GoOn(t), e.Acquire(forever, Reader, AtBack))
								e.Rebias()
							}
							if value != other {
								t.Error("a writer beside a reader")
							}
							require.True(require.GoOn(t), e.ReleaseRead())
						}
					}
				})
			}
			wg.Wait()
			e.Unbias()
			require.Zero(t, heldRW(e))
			require.Zero(t, e.Waiting())
			require.Zero(t, e.permits().Look()&flags)
		})
		runtime.GOMAXPROCS(old)
	}
}

// Several grants that meet abandoned futures come back one by one: their sum is no reader's share.
func TestRefusedGrantsOfReadersComeBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		wants []int64
	}{
		{"one reader", []int64{Reader}},
		{"an upgradable reader", []int64{Upgradable}},
		{"two readers", []int64{Reader, Reader}},
		{"a reader and an upgradable one", []int64{Reader, Upgradable}},
		{"many", []int64{Reader, Reader, Upgradable, Reader, Reader}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := new(RW)
			require.True(t, e.TakeAll())
			fs := make([]waiting.Future, len(c.wants))
			for i := range fs {
				waiting.Bind(&fs[i], e, c.wants[i])
				require.False(t, fs[i].Poll(nil))
			}
			// The claims, as Release makes them, with the owners' Cancel before the delivery.
			var wake waiting.WakeList
			e.mu.Lock()
			require.True(t, e.addLocked(Everyone))
			e.permits().serveLocked(&wake)
			e.mu.Unlock()
			for i := range fs {
				fs[i].Release()
			}
			deliver(e, &wake)
			require.Zero(t, heldRW(e), "permits were lost")
		})
	}
}

func TestWhatWasRefusedComesBack(t *testing.T) {
	for _, c := range []struct{ held, n, left int64 }{
		{Everyone, Everyone, 0},
		{Everyone, Everyone - Upgradable, Upgradable}, // of a reader that has given up its upgrade
		{Upgradable + 3, Upgradable, 3},
		{Upgradable + 3, Reader, Upgradable + 2},
	} {
		e := new(RW)
		require.True(t, e.permits().Take(e.permits().Look(), c.held))
		waiting.GiveBack(e, c.n)
		require.Equal(t, c.left, heldRW(e), "%x of %x", c.n, c.held)
	}
	require.PanicsWithValue(t, "farad: more was released than was held, beside a request that was given up",
		func() { waiting.GiveBack(new(RW), Reader) })
}

// A release that saw W may find the bias back when it has mu. Slots and permits are
// interchangeable: what was counted may be in a slot by then.
func TestReleaseUnderTheLockCountsTheHidden(t *testing.T) {
	for _, hidden := range []int{0, 1, 2} {
		e := newRW(true)
		for range hidden {
			require.True(t, e.Hide(0))
		}
		require.Equal(t, hidden > 0, e.releaseSlow(Reader))
		require.Equal(t, int64(max(0, hidden-1)), heldRW(e), "the bias has ended, and the rest is counted")
		require.Zero(t, e.permits().Look()&flags, "no request waits")

		e = newRW(true)
		for range hidden {
			require.True(t, e.Hide(0))
		}
		require.True(t, e.permits().Take(e.permits().Look(), Upgradable))
		require.True(t, e.releaseSlow(Upgradable))
		require.True(t, e.MayHide(), "that is no reason to end the bias")
		require.False(t, e.releaseSlow(Upgradable), "not held")
		require.EqualValues(t, hidden, heldRW(e))
	}
}

// While the bias is being ended, W is set without a waiter: a try to read has to find out.
func TestTryReadDoesNotFailWhileTheBiasIsEnded(t *testing.T) {
	e := newRW(true)
	require.True(t, e.TryRead())
	e.mu.Lock()
	e.word.Or(flagWaiters)
	tried := make(chan bool)
	go func() { tried <- e.TryRead() }()
	for range 100 {
		select {
		case <-tried:
			require.Fail(t, "it cannot know yet")
		default:
			runtime.Gosched()
		}
	}
	e.unbiasLocked()
	require.True(t, <-tried)
	require.EqualValues(t, 2, heldRW(e))
	require.True(t, e.ReleaseRead())
	require.True(t, e.ReleaseRead())
}
