//go:build !interleave

package observe

import (
	stdsync "sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/sync/keyed"
)

// keysOf returns the state of a keyed lock.
func keysOf(t *testing.T, name string) Lock {
	t.Helper()
	for _, l := range Read().Locks {
		if l.Name == name {
			return l
		}
	}
	require.Fail(t, "the lock is not observed")
	return Lock{}
}

// waitsFor waits until so many wait for keys of a lock. A wait has a record before the line of its
// key has it, and the line loses it first.
func waitsFor(t *testing.T, name string, n int) {
	t.Helper()
	locktest.Eventually(t, "they wait", func() bool {
		l := keysOf(t, name)
		queued := 0
		for _, k := range l.Keys {
			queued += k.Waiting
		}
		return queued == n && len(l.Waiters) == n
	})
}

// A cycle over two keys of one table is a deadlock, and is told once. Who waits for another key is
// no part of it.
func TestKeysOfOneTableDeadlock(t *testing.T) {
	for kind, m := range map[string]interface {
		Lock(keys ...string)
		Unlock(keys ...string)
	}{"mutex": new(keyed.Mutex[string]), "read-write lock": new(keyed.RWMutex[string])} {
		t.Run(kind, func(t *testing.T) {
			found := watchFast(t, t.Name())
			Watch(m, t.Name(), LevelHolders)
			defer Watch(m, "", LevelOff)
			var met, all stdsync.WaitGroup
			met.Add(2)
			m.Lock("c")
			for _, keys := range [][2]string{{"a", "b"}, {"b", "a"}} {
				all.Go(func() {
					m.Lock(keys[0])
					met.Done()
					met.Wait()
					m.Lock(keys[1]) // here they wait
					m.Unlock(keys[1])
				})
			}
			all.Go(func() { m.Lock("c"); m.Unlock("c") })
			waitsFor(t, t.Name(), 3)
			locktest.Eventually(t, "it is found", func() bool { return len(found()) > 0 })
			looks(t, 5)
			require.Len(t, found(), 1)
			waits := found()[0].Waits
			require.Len(t, waits, 2)
			require.ElementsMatch(t, []string{"a", "b"}, []string{waits[0].Waiter.Key, waits[1].Waiter.Key})
			for _, b := range waits {
				require.Len(t, b.Holders, 1)
				require.Equal(t, b.Waiter.Key, b.Holders[0].Key)
			}
			for _, k := range []string{"a", "b", "c"} {
				m.Unlock(k)
			}
			all.Wait()
		})
	}
}

// Waits that would be a cycle if a table were one lock are none.
func TestChainsOverKeysAreNoDeadlock(t *testing.T) {
	found := watchFast(t, t.Name())
	m := new(keyed.Mutex[string])
	m.Lock("c") // by one who goes on
	Watch(m, t.Name(), LevelHolders)
	defer Watch(m, "", LevelOff)
	m.Lock("d")
	var met, all stdsync.WaitGroup
	met.Add(2)
	for _, keys := range [][2]string{{"a", "b"}, {"b", "c"}} {
		all.Go(func() {
			m.Lock(keys[0])
			met.Done()
			met.Wait()
			m.Lock(keys[1])
			m.Unlock(keys[1])
			m.Unlock(keys[0])
		})
	}
	waitsFor(t, t.Name(), 2)
	looks(t, 5)
	require.Empty(t, found())
	for _, k := range keysOf(t, t.Name()).Keys {
		require.Equal(t, map[string]Key{
			"b": {Key: "b", Waiting: 1},
			"c": {Key: "c", Waiting: 1, Unknown: 1},
		}[k.Key], k)
	}
	m.Unlock("c")
	all.Wait()
	m.Unlock("d")
	require.Zero(t, keysOf(t, t.Name()).Counts.Handed, "an unknown holder has handed nothing on")
}

// Calls that ask for the same keys at one instant get them in any order, and do not deadlock with
// each other. Each does with one that asks for one key after the other.
func TestKeysAtOneInstantHaveNoOrder(t *testing.T) {
	for kind, m := range map[string]interface {
		Lock(keys ...string)
		Unlock(keys ...string)
	}{"mutex": new(keyed.Mutex[string]), "read-write lock": new(keyed.RWMutex[string])} {
		t.Run(kind, func(t *testing.T) {
			watchFast(t, t.Name())
			Watch(m, t.Name(), LevelHolders)
			defer Watch(m, "", LevelOff)
			id := keysOf(t, t.Name()).ID
			inversions := func() (texts []string) {
				for _, s := range Read().Suspicions {
					if s.Why == Inversion && s.LockID == id {
						texts = append(texts, s.Text)
					}
				}
				return texts
			}
			both := func() { m.Lock("a", "b"); m.Unlock("a", "b") }
			var all stdsync.WaitGroup
			all.Go(both)
			all.Wait()
			for _, k := range []string{"a", "b"} { // it gets the other first
				m.Lock(k)
				all.Go(both)
				waitsFor(t, t.Name(), 1)
				looks(t, 2)
				m.Unlock(k)
				all.Wait()
			}
			looks(t, 2)
			require.Empty(t, inversions())
			m.Lock("a")
			m.Lock("b")
			m.Unlock("a", "b")
			looks(t, 2)
			require.Len(t, inversions(), 1)
		})
	}
}

// A reader that comes back for the same key is stuck behind the writer that waits for it. The line
// of another key does not matter.
func TestAReaderIsStuckBehindAWriterOfItsKey(t *testing.T) {
	found := watchFast(t, t.Name())
	m := new(keyed.RWMutex[int])
	Watch(m, t.Name(), LevelHolders)
	defer Watch(m, "", LevelOff)
	m.RLock(1)
	m.RUnlock(1) // it has been seen that who locks unlocks
	m.Lock(2)
	var all stdsync.WaitGroup
	all.Go(func() { m.RLock(2); m.RUnlock(2) })
	held := make(chan struct{})
	again := make(chan struct{})
	all.Go(func() {
		m.RLock(1)
		close(held)
		<-again
		m.RLock(1) // here it waits
		m.RUnlock(1)
	})
	<-held
	all.Go(func() { m.Lock(1); m.Unlock(1) })
	waitsFor(t, t.Name(), 2)
	looks(t, 3)
	require.Empty(t, found())
	close(again)
	locktest.Eventually(t, "it is found", func() bool { return len(found()) > 0 })
	looks(t, 3)
	require.Len(t, found(), 1)
	require.Len(t, found()[0].Waits, 2)
	require.Equal(t, "1", found()[0].Waits[0].Waiter.Key)
	m.RUnlock(1)
	m.Unlock(2)
	all.Wait()
}
