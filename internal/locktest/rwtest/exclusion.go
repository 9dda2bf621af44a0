package rwtest

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/waiter"
)

var exclusion = []test{
	{"MutualExclusionUnderEverything", atEveryProcs(mutualExclusionUnderEverything)},
	{"MutualExclusionOfManyReadersAndRareWriters", atEveryProcs(mutualExclusionOfManyReadersAndRareWriters)},
}

// A datum is plain variables under a lock. The race detector sees a goroutine that gets in wrongly;
// without it, the two differ, or the count at the end is wrong.
type datum struct{ a, b int }

// A visitor comes in by all ways, and goes out by all.
type visitor struct {
	t     *testing.T
	k     Kind
	l     Lock
	u     UpgradableLock // l; nil if it is none
	d     *datum
	rng   *rand.Rand
	f     *waiter.Future // nil if there are none
	wrote int
}

func newVisitor(t *testing.T, k Kind, l Lock, d *datum, g, seed uint64) *visitor {
	v := &visitor{t: t, k: k, l: l, d: d, rng: rand.New(rand.NewPCG(g, seed))}
	v.u, _ = l.(UpgradableLock)
	if k.Bind != nil {
		v.f = new(waiter.Future)
	}
	return v
}

func (v *visitor) read() {
	a := v.d.a
	v.pause()
	if a != v.d.b || a != v.d.a {
		v.t.Error("a writer and a reader at once")
	}
}

func (v *visitor) write() {
	v.d.a++
	v.pause()
	v.d.b++
	v.wrote++
	if v.d.a != v.d.b {
		v.t.Error("two writers at once")
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
	defer v.f.Release() // it gives back what was not taken
	if v.rng.IntN(2) == 0 {
		select {
		case <-v.f.Done():
			return v.rng.IntN(4) > 0 && v.f.Take() == nil
		case <-time.After(v.soon()):
			return false
		}
	}
	for range 1 + v.rng.IntN(3) {
		if v.f.Poll(nil) {
			return v.rng.IntN(4) > 0 && v.f.Take() == nil
		}
		v.pause()
	}
	return false
}

// visit comes in and goes out.
func (v *visitor) visit() {
	s := [...]State{Read, Read, Write, Write, Upgradable}[v.rng.IntN(5)]
	if s == Upgradable && v.u == nil {
		s = Read
	}
	if !v.enter(s) {
		return
	}
	switch s {
	case Write:
		v.asWriter()
	case Upgradable:
		v.asUpgradable()
	default:
		v.read()
		v.l.RUnlock()
	}
}

// enter comes in by one of the ways, or not.
func (v *visitor) enter(s State) bool {
	ways := 4
	if v.f != nil {
		ways = 5
	}
	switch v.rng.IntN(ways) {
	case 0:
		s.Lock(v.l)
		return true
	case 1:
		return s.TryLock(v.l)
	case 2:
		return v.within(func(ctx context.Context) error { return s.LockContext(ctx, v.l) })
	case 3:
		return s.LockTimeout(v.l, v.soon())
	default:
		v.k.Bind(v.f, v.l, s)
		return v.future()
	}
}

func (v *visitor) asWriter() {
	v.write()
	way := 3
	if v.u != nil {
		way = v.rng.IntN(4)
	}
	switch way {
	case 0:
		n := v.d.a
		v.u.Downgrade()
		v.read()
		require.Equal(require.GoOn(v.t), n, v.d.a, "a goroutine wrote during a downgrade")
		v.l.RUnlock()
	case 1:
		n := v.d.a
		v.u.DowngradeToUpgradable()
		v.read()
		require.Equal(require.GoOn(v.t), n, v.d.a, "a goroutine wrote during a downgrade")
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
		v.u.Upgrade()
		upgraded = true
	case 1:
		upgraded = v.u.TryUpgrade()
	case 2:
		upgraded = v.within(v.u.UpgradeContext)
	case 3:
		upgraded = v.u.UpgradeTimeout(v.soon())
	case 4:
		v.u.ForgoUpgrade()
		v.read()
		require.Equal(require.GoOn(v.t), n, v.d.a, "a goroutine wrote during a downgrade")
		v.l.RUnlock()
		return
	default:
	}
	require.Equal(require.GoOn(v.t), n, v.d.a, "a goroutine wrote during an upgrade, or a failed one")
	if upgraded {
		v.asWriter()
		return
	}
	v.read() // still a reader
	v.u.UUnlock()
}

// Everything happens at once, at random.
func mutualExclusionUnderEverything(t *testing.T, k Kind, l Lock) {
	rounds := locktest.Scaled(20000)
	var d datum
	var visitors [8]*visitor
	var wg sync.WaitGroup
	for g := range visitors {
		v := newVisitor(t, k, l, &d, uint64(g), 1)
		visitors[g] = v
		wg.Go(func() {
			for range rounds {
				v.visit()
			}
			if v.f != nil {
				v.f.Release()
			}
		})
	}
	wg.Wait()
	want := 0
	for _, v := range visitors {
		require.NotZero(t, v.wrote)
		want += v.wrote
	}
	require.Equal(t, datum{want, want}, d)
	// A grant may still be passing through a future that was cancelled.
	locktest.Eventually(t, "all is given back", func() bool {
		ok := l.TryLock()
		if ok {
			l.Unlock()
		}
		return ok
	})
}

// Readers hardly ever meet a writer: if the lock has a bias towards readers, most of them hide.
func mutualExclusionOfManyReadersAndRareWriters(t *testing.T, k Kind, l Lock) {
	rounds := locktest.Scaled(50000)
	var d datum
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			v := newVisitor(t, k, l, &d, uint64(g), 2)
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
}
