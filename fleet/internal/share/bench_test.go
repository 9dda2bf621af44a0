//go:build !interleave

package share

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/waiter"
)

// What a process pays for permits that its share has to spare, and for those that another goroutine
// of it releases.
func BenchmarkShare(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	s := new(Share)
	s.Init(new(Bell), func() bool { return true })
	acquire := func(l waiter.Limit) {
		if !s.Try(1) && s.Wait(l, 1) != nil {
			b.Error("an error without a reason")
		}
		if !s.Release(1) {
			b.Error("nothing was held")
		}
	}
	b.Run("spare", func(b *testing.B) {
		s.Resize(1)
		b.ReportAllocs()
		for b.Loop() {
			acquire(waiter.Limit{})
		}
	})
	b.Run("spare for all", func(b *testing.B) {
		s.Resize(1 << 20)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				acquire(waiter.Limit{})
			}
		})
	})
	for name, l := range map[string]waiter.Limit{"one for all": {}, "one for all, until": waiter.UntilDone(ctx)} {
		b.Run(name, func(b *testing.B) {
			s.Resize(1)
			b.SetParallelism(4)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					acquire(l)
				}
			})
		})
	}
	b.Run("sections of 1 µs", func(b *testing.B) { // and 1 µs between, by two goroutines
		work := func() {
			begin := time.Now()
			for elapsed := time.Duration(0); elapsed < time.Microsecond; {
				elapsed = time.Since(begin)
			}
		}
		s.Resize(1)
		b.ReportAllocs()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				for range b.N / 2 {
					if !s.Try(1) && s.Wait(waiter.Limit{}, 1) != nil {
						b.Error("an error without a reason")
					}
					work()
					s.Release(1)
					work()
				}
			})
		}
		both.Wait()
	})
	b.Run("handed over", func(b *testing.B) {
		var sides [2]Share // what one goroutine releases the other one waits for
		for i := range sides {
			sides[i].Init(new(Bell), func() bool { return true })
			sides[i].Resize(1)
			sides[i].Try(1)
		}
		turn := func(i int) {
			if sides[i].Wait(waiter.Limit{}, 1) != nil || !sides[1-i].Release(1) {
				b.Error("an error without a reason")
			}
		}
		b.ReportAllocs()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range b.N {
				turn(1)
			}
		}()
		sides[1].Release(1)
		for range b.N {
			turn(0)
		}
		<-ended
	})
}
