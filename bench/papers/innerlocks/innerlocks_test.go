package innerlocks

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

func eachKind(t *testing.T, f func(t *testing.T, create func() lock)) {
	for name, create := range kinds {
		t.Run(name, func(t *testing.T) { f(t, create) })
	}
}

func TestZeroLockIsUnlocked(t *testing.T) {
	eachKind(t, func(t *testing.T, create func() lock) {
		l := create()
		for range 3 {
			l.Lock()
			require.False(t, l.TryLock())
			l.Unlock()
			require.True(t, l.TryLock())
			require.False(t, l.TryLock())
			l.Unlock()
			require.PanicsWithValue(t, notLocked, l.Unlock)
		}
	})
}

// One permit excludes, and no waiter is left behind, even where all goroutines but one sleep. The
// race detector sees a wrong entry.
func TestExclusion(t *testing.T) {
	locktest.AtEveryProcs(t, func(t *testing.T) {
		eachKind(t, func(t *testing.T, create func() lock) {
			const goroutines = 8
			rounds := locktest.Scaled(8000)
			l, count, inside := create(), 0, 0
			var done sync.WaitGroup
			for g := range goroutines {
				done.Go(func() {
					for i := range rounds {
						for (i+g)%5 == 0 && !l.TryLock() { // some only try
							runtime.Gosched()
						}
						if (i+g)%5 != 0 {
							l.Lock()
						}
						inside++
						if (i+g)%7 == 0 {
							runtime.Gosched() // others arrive while it is held
						}
						assert.Equal(t, 1, inside)
						inside--
						count++
						l.Unlock()
					}
				})
			}
			done.Wait()
			require.Equal(t, goroutines*rounds, count)
			require.Nil(t, newest(l))
			require.PanicsWithValue(t, notLocked, l.Unlock)
		})
	})
}

// Five arrive one after the other, the fifth when the first of them has got the lock.
func TestOrderIsAsDocumented(t *testing.T) {
	for name, want := range map[string][]int{
		"lifo":          {4, 5, 3, 2, 1},
		"mcs":           {1, 2, 3, 4, 5},
		"reciprocating": {4, 3, 2, 1, 5},
	} {
		t.Run(name, func(t *testing.T) {
			l := kinds[name]()
			l.Lock()
			got, held := make(chan int), make(chan struct{})
			come := func(i int) {
				before := newest(l)
				go func() {
					l.Lock()
					got <- i
					<-held
					l.Unlock()
				}()
				locktest.Eventually(t, "it has come", func() bool { return newest(l) != before })
			}
			for i := range 4 {
				come(i + 1)
			}
			l.Unlock()
			order := []int{locktest.Receive(t, got)}
			come(5)
			for range 4 {
				held <- struct{}{}
				order = append(order, locktest.Receive(t, got))
			}
			held <- struct{}{}
			require.Equal(t, want, order)
			locktest.Eventually(t, "it is free", l.TryLock)
		})
	}
}

// Another goroutine than the holder may unlock a lock.
func TestAnotherGoroutineMayUnlock(t *testing.T) {
	eachKind(t, func(_ *testing.T, create func() lock) {
		l := create()
		for range 100 {
			l.Lock()
			go l.Unlock()
		}
		l.Lock()
		l.Unlock()
	})
}
