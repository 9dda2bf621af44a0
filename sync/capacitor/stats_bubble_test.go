//go:build !interleave

package capacitor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/sync/mutex"
	"github.com/farad-go/farad/waiter"
)

// The test is the one before in the queue, and has somebody overtaken twice while that one waits
// for three seconds; others give up.
func TestStatsOfAWait(t *testing.T) {
	for name, wait := range map[string]func(m *Mutex) bool{
		"Lock":        func(m *Mutex) bool { m.Lock(); return true },
		"LockContext": func(m *Mutex) bool { return m.LockContext(bg) == nil },
		"LockTimeout": func(m *Mutex) bool { return m.LockTimeout(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := NewMutex(2)
				m.CollectStats()
				require.True(t, m.gate.TakeOnly(), "admitted")
				m.Lock()
				go func() {
					if wait(m) {
						time.Sleep(time.Second)
						m.Unlock()
					}
				}()
				synctest.Wait()
				require.False(t, m.LockTimeout(2*time.Second), "longer than nobody's wait so far")
				m.Unlock()
				require.True(t, m.TryLock())
				m.Unlock()
				require.Equal(t, Stats{Express: 2}, m.Stats(), "nobody's wait has ended well")

				require.NoError(t, m.compete(waiter.Limit{}, true))
				time.Sleep(time.Second)
				m.Unlock()
				synctest.Wait()
				want := Stats{Platoons: 1, Express: 2, MaxOvertaken: 1, LongestWait: 3 * time.Second}
				require.Equal(t, want, m.Stats())
				time.Sleep(time.Second)
				synctest.Wait()
				want.Platoons = 2
				require.Equal(t, want, m.Stats())

				// A shorter wait, less overtaken, changes nothing.
				m.Lock()
				require.True(t, m.gate.TakeOnly())
				go func() {
					if wait(m) {
						m.Unlock()
					}
				}()
				synctest.Wait()
				time.Sleep(time.Second)
				m.Unlock()
				openGate(&m.gate)
				synctest.Wait()
				want.Platoons, want.Express = 3, 3
				require.Equal(t, want, m.Stats())

				// Nor does a longer one that is given up, in front of the mutex.
				m.Lock()
				require.False(t, m.LockTimeout(time.Hour))
				m.Unlock()
				want.Express = 4
				require.Equal(t, want, m.Stats())
				requireFree(t, m)
			})
		})
	}
}

func TestStatsOfAWrappedWait(t *testing.T) {
	type lock = Wrapped[*mutex.Word]
	for name, wait := range map[string]func(l *lock){
		"Lock":        (*lock).Lock,
		"LockContext": func(l *lock) { _ = l.LockContext(bg) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, opts := range [][]GateOption{nil, {WithWaitingArray(nil)}} {
				synctest.Test(t, func(t *testing.T) {
					l := Wrap(new(mutex.Word), 1, WithExpress(2), WithGate(opts...))
					l.CollectStats()
					require.True(t, l.gate.TryArrive())
					l.Lock()
					go func() {
						wait(l)
						l.Unlock()
					}()
					synctest.Wait()
					time.Sleep(time.Second)
					l.Unlock()
					require.True(t, l.TryLock())
					l.Unlock()
					require.False(t, l.TryLock(), "no place is left, and the gate is closed")
					require.Equal(t, Stats{Express: 2}, l.Stats())
					l.gate.Depart()
					synctest.Wait()
					want := Stats{Platoons: 2, Express: 2, MaxOvertaken: 1, LongestWait: time.Second}
					require.Equal(t, want, l.Stats())
				})
			}
		})
	}
}
