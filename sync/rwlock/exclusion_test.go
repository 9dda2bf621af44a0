package rwlock_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/rwlock"
)

// A datum is plain variables under a lock: who gets in wrongly is seen by the race detector, or by
// the two being different, or by the count at the end.
type datum struct{ a, b int }

// A visitor comes in by all ways, and goes out by all.
type visitor struct {
	t     *testing.T
	l     *rwlock.RWLock
	d     *datum
	rng   *rand.Rand
	f     rwlock.LockFuture
	wrote int
}

func (v *visitor) read() {
	a := v.d.a
	v.pause()
	if a != v.d.b || a != v.d.a {
		v.t.Error("a writer beside a reader")
	}
}

func (v *visitor) write() {
	v.d.a++
	v.pause()
	v.d.b++
	v.wrote++
	if v.d.a != v.d.b {
		v.t.Error("a writer beside a writer")
	}
}

func (v *visitor) pause() {
	if v.rng.IntN(8) == 0 {
		runtime.Gosched()
	}
}

// soon is a time that often is too short.
func (v *visitor) soon() time.Duration { return time.Duration(1+v.rng.IntN(30)) * time.Microsecond }

// within calls lock with a context that often ends too early.
func (v *visitor) within(lock func(context.Context) error) bool {
	var ctx context.Context
	var cancel context.CancelFunc
	if v.rng.IntN(2) == 0 {
		ctx, cancel = context.WithTimeout(bg, v.soon())
	} else {
		ctx, cancel = context.WithCancel(bg)
		go cancel()
	}
	defer cancel()
	return lock(ctx) == nil
}

// future awaits v.f by its channel, or polls it a few times.
func (v *visitor) future() bool {
	defer v.f.Cancel() // it gives back what Err has not taken over
	if v.rng.IntN(2) == 0 {
		select {
		case <-v.f.Done():
			return v.rng.IntN(4) > 0 && v.f.Err() == nil
		case <-time.After(v.soon()):
			return false
		}
	}
	for range 1 + v.rng.IntN(3) {
		if v.f.Poll(nil) {
			return v.rng.IntN(4) > 0 && v.f.Err() == nil
		}
		v.pause()
	}
	return false
}

func (v *visitor) visit() {
	l := v.l
	switch v.rng.IntN(5) {
	case 0, 1:
		v.visitAsReader()
	case 2, 3:
		if v.in(l.Lock, l.TryLock, l.LockContext, l.LockTimeout, v.f.Init) {
			v.asWriter()
		}
	default:
		if v.in(l.ULock, l.TryULock, l.ULockContext, l.ULockTimeout, v.f.InitU) {
			v.asUpgradable()
		}
	}
}

// in gets in by one of the ways, or not.
func (v *visitor) in(
	lock func(),
	try func() bool,
	withContext func(context.Context) error,
	withTimeout func(time.Duration) bool,
	init func(*rwlock.RWLock),
) bool {
	switch v.rng.IntN(5) {
	case 0:
		lock()
		return true
	case 1:
		return try()
	case 2:
		return v.within(withContext)
	case 3:
		return withTimeout(v.soon())
	default:
		init(v.l)
		return v.future()
	}
}

func (v *visitor) visitAsReader() {
	l := v.l
	if v.in(l.RLock, l.TryRLock, l.RLockContext, l.RLockTimeout, v.f.InitRead) {
		v.read()
		l.RUnlock()
	}
}

func (v *visitor) asWriter() {
	v.write()
	switch v.rng.IntN(4) {
	case 0:
		n := v.d.a
		v.l.Downgrade()
		v.read()
		assert.Equal(v.t, n, v.d.a, "somebody wrote during a downgrade")
		v.l.RUnlock()
	case 1:
		n := v.d.a
		v.l.DowngradeU()
		v.read()
		assert.Equal(v.t, n, v.d.a, "somebody wrote during a downgrade")
		v.asUpgradable()
	default:
		v.l.Unlock()
	}
}

func (v *visitor) asUpgradable() {
	v.read()
	n, upgraded := v.d.a, false
	switch v.rng.IntN(6) {
	case 0:
		v.l.Upgrade()
		upgraded = true
	case 1:
		upgraded = v.l.TryUpgrade()
	case 2:
		upgraded = v.within(v.l.UpgradeContext)
	case 3:
		upgraded = v.l.UpgradeTimeout(v.soon())
	case 4:
		v.l.UDowngrade()
		v.read()
		assert.Equal(v.t, n, v.d.a, "somebody wrote during a downgrade")
		v.l.RUnlock()
		return
	default:
	}
	assert.Equal(v.t, n, v.d.a, "somebody wrote during an upgrade, or a failed one")
	if upgraded {
		v.asWriter()
		return
	}
	v.read() // still a reader
	v.l.UUnlock()
}

// Everything at once, at random.
func TestMutualExclusionUnderEverything(t *testing.T) {
	rounds := locktest.Scaled(20000)
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		var d datum
		var visitors [8]visitor
		var wg sync.WaitGroup
		for g := range visitors {
			v := &visitors[g]
			v.t, v.l, v.d, v.rng = t, l, &d, rand.New(rand.NewPCG(uint64(g), 1))
			wg.Go(func() {
				for range rounds {
					v.visit()
				}
				v.f.Cancel()
			})
		}
		wg.Wait()
		want := 0
		for i := range visitors {
			want += visitors[i].wrote
		}
		require.NotZero(t, want)
		require.Equal(t, want, d.a)
		// A grant may still be passing through a future that was cancelled.
		locktest.Eventually(t, "all is given back", func() bool {
			ok := l.TryLock()
			if ok {
				l.Unlock()
			}
			return ok
		})
	})
}

// Readers that hardly ever meet a writer: with bias, most of them hide.
func TestMutualExclusionOfManyReadersAndRareWriters(t *testing.T) {
	rounds := locktest.Scaled(50000)
	forEachKindAndProcs(t, func(t *testing.T, l *rwlock.RWLock) {
		var d datum
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				v := visitor{t: t, l: l, d: &d, rng: rand.New(rand.NewPCG(uint64(g), 2))}
				for i := range rounds {
					if i%500 == 50*g {
						l.Lock()
						v.asWriter()
						continue
					}
					l.RLock()
					v.read()
					l.RUnlock()
				}
			})
		}
		wg.Wait()
		require.Equal(t, d.a, d.b)
	})
}

func TestManyReadersOneWriterOneUpgradable(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		const n = 20
		for range n {
			require.True(t, l.TryRLock())
		}
		require.False(t, l.TryLock())
		require.True(t, l.TryULock(), "beside readers there is room for an upgradable one")
		require.False(t, l.TryULock(), "but for one only")
		require.True(t, l.TryRLock(), "and readers still come in beside it")
		require.False(t, l.TryLock())
		for range n + 1 {
			l.RUnlock()
		}
		require.False(t, l.TryLock(), "the upgradable reader reads")
		l.UUnlock()
		require.True(t, l.TryLock())
		require.False(t, l.TryRLock())
		require.False(t, l.TryULock())
		require.False(t, l.TryLock())
		l.Unlock()
	})
}

func TestNewWithoutOptionsIsTheZeroLock(t *testing.T) {
	require.Equal(t, new(rwlock.RWLock), rwlock.New())
	require.NotEqual(t, new(rwlock.RWLock), rwlock.New(rwlock.WithReaderBias()))
}

func TestUnlockFromAnotherGoroutine(t *testing.T) {
	forEachKind(t, func(t *testing.T, l *rwlock.RWLock) {
		for _, s := range []state{asReader, asUpgradable, asWriter} {
			lockAs(l, s)
			go unlockAs(l, s)
			require.True(t, l.LockTimeout(locktest.Patience))
			l.Unlock()
		}
	})
}
