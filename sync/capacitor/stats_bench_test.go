package capacitor

import (
	"runtime"
	"testing"
)

// What statistics cost: without, and with, alone and where 64 goroutines want the lock.
func BenchmarkStats(b *testing.B) {
	for name, collect := range map[string]bool{"without": false, "with": true} {
		create := func() *Mutex {
			m := new(Mutex)
			if collect {
				m.CollectStats()
			}
			return m
		}
		b.Run("alone/"+name, func(b *testing.B) {
			m := create()
			for b.Loop() {
				m.Lock()
				m.Unlock() //nolint:staticcheck // nothing in between, on purpose
			}
		})
		b.Run("contended/"+name, func(b *testing.B) {
			m := create()
			b.SetParallelism((64 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
			x := uint64(1) // guarded by m
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					m.Lock()
					x ^= x << 13
					x ^= x >> 7
					x ^= x << 17
					m.Unlock()
				}
			})
		})
	}
}
