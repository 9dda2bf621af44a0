package rwlock_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/locktest/rwtest"
	"github.com/farad-go/farad/sync/rwlock"
)

// deep calls f with that many frames of some size below it.
func deep(frames int, f func()) {
	var here [512]byte
	if frames > 0 {
		deep(frames-1, f)
	} else {
		f()
	}
	runtime.KeepAlive(&here)
}

// Where RLock was called does not matter to RUnlock: another depth of the stack, a stack that has
// moved meanwhile, another goroutine.
func TestRUnlockElsewhere(t *testing.T) {
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		for _, depth := range []int{1, 5, 50, 500} {
			l.RLock()
			deep(depth, l.RUnlock)
			requireFree(t, l)
			deep(depth, l.RLock)
			rwtest.RequireState(t, l, rwtest.Read)
			l.RUnlock()
			requireFree(t, l)
		}
		const n = 8
		held := make(chan struct{}, n)
		var wg sync.WaitGroup
		for g := range n {
			wg.Go(func() {
				for range locktest.Scaled(2000) {
					deep(g, l.RLock)
					held <- struct{}{}
				}
			})
			wg.Go(func() {
				for range locktest.Scaled(2000) {
					<-held
					deep(n-g, l.RUnlock)
				}
			})
		}
		wg.Wait()
		requireFree(t, l)
	})
}

// The table of hidden readers is small, and all locks share it. A reader that finds no room is
// counted.
func TestMoreReadersThanRoomInTheTable(t *testing.T) {
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		const n = 500
		var in, out sync.WaitGroup
		gate := make(chan struct{})
		in.Add(n)
		for g := range n {
			out.Go(func() {
				deep(g%16, l.RLock)
				in.Done()
				<-gate
				l.RUnlock()
			})
		}
		in.Wait()
		rwtest.RequireState(t, l, rwtest.Read)
		w := rwtest.Queued(t, l, l.Lock)
		locktest.RequireBlocked(t, w)
		close(gate)
		out.Wait()
		locktest.Receive(t, w)
		l.Unlock()
	})
}

// Locks that share columns, and so slots, do not take each other's readers for their own.
func TestThousandsOfLocksShareTheTable(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			locks := make([]*rwlock.RWLock, 5000)
			for i := range locks {
				locks[i] = k.make()
				if i%2 == 0 {
					locks[i].RLock()
				}
			}
			for i, l := range locks {
				if i%2 == 1 {
					require.PanicsWithValue(t, "rwlock: RUnlock of a lock that is unlocked or write-locked", l.RUnlock)
				}
				require.Equal(t, i%2 == 1, l.TryLock(), i)
			}
			for i, l := range locks {
				[]rwtest.State{rwtest.Read, rwtest.Write}[i%2].Unlock(l)
				requireFree(t, l)
			}

			var wg sync.WaitGroup
			data := make([]datum, len(locks))
			for g := range 4 {
				wg.Go(func() {
					for i := range locktest.Scaled(4 * len(locks)) {
						j := (i*7 + g) % 256 // four in each column
						l, d := locks[j], &data[j]
						if (i+g)%64 == 0 {
							l.Lock()
							d.a++
							d.b++
							l.Unlock()
							continue
						}
						l.RLock()
						if d.a != d.b {
							t.Error("a writer beside a reader")
						}
						l.RUnlock()
					}
				})
			}
			wg.Wait()
			for _, l := range locks {
				requireFree(t, l)
			}
		})
	}
}

// An upgrade and a downgrade happen beside readers in the table.
func TestUpgradeBesideHiddenReaders(t *testing.T) {
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		const n = 50
		for range n {
			var wg sync.WaitGroup
			wg.Go(l.RLock)
			wg.Go(l.ULock)
			wg.Wait()
			require.False(t, l.TryUpgrade())
			up := rwtest.Queued(t, l, l.Upgrade)
			l.RUnlock()
			locktest.Receive(t, up)
			l.Downgrade()
			rwtest.RequireState(t, l, rwtest.Read)
			l.RUnlock()
		}
	})
}

func TestOnlyBiasedLocksAreBiased(t *testing.T) {
	require.False(t, rwlock.MayHide(new(rwlock.RWLock)))
	l := rwlock.NewBiased()
	for range 100 { // readers leave it as it is, upgradable ones too, and tries to read
		require.True(t, rwlock.MayHide(l))
		l.RLock()
		require.True(t, l.TryRLock())
		l.ULock()
		l.ForgoUpgrade()
		for range 3 {
			l.RUnlock()
		}
	}
	l.Lock()
	require.False(t, rwlock.MayHide(l))
	l.Unlock()
}

// Writers, whatever they do, end the bias. Readers that compete bring it back, although none of
// them has to wait.
func TestBiasComesBackWhenReadersCompete(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	l := rwlock.NewBiased()
	for name, write := range map[string]func(){
		"lock":    func() { rwtest.Write.Lock(l); rwtest.Write.Unlock(l) },
		"try":     func() { require.True(t, l.TryLock()); l.Unlock() },
		"upgrade": func() { l.ULock(); l.Upgrade(); l.Unlock() },
		"timeout": func() { require.True(t, l.LockTimeout(locktest.Patience)); l.Unlock() },
	} {
		write()
		require.False(t, rwlock.MayHide(l), name)
		var wg sync.WaitGroup
		var back atomic.Bool
		deadline := time.Now().Add(locktest.Patience)
		for range 8 {
			wg.Go(func() {
				for !back.Load() && time.Now().Before(deadline) {
					for range 100 {
						rwtest.Read.Lock(l)
						rwtest.Read.Unlock(l)
					}
					if rwlock.MayHide(l) {
						back.Store(true)
					}
				}
			})
		}
		wg.Wait()
		require.True(t, back.Load(), "%s: the bias has not come back", name)
	}
	requireFree(t, l)
}

// A reader that had to wait brings it back, too.
func TestBiasComesBackWithAReaderThatHasWaited(t *testing.T) {
	l := rwlock.NewBiased()
	for name, read := range map[string]func(){
		"plain":   l.RLock,
		"context": func() { require.NoError(t, l.RLockContext(bg)) },
		"timeout": func() { require.True(t, l.RLockTimeout(locktest.Patience)) },
	} {
		locktest.Eventually(t, name, func() bool { // not the first time if ending the bias took long
			l.Lock()
			r := rwtest.Queued(t, l, read)
			require.False(t, rwlock.MayHide(l))
			l.Unlock()
			locktest.Receive(t, r)
			defer l.RUnlock()
			return rwlock.MayHide(l)
		})
	}
	requireFree(t, l)
}
