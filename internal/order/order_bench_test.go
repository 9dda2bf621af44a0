package order

import (
	"fmt"
	"testing"
)

// What it costs to pop a request and to push it again, where four of each lane wait.
func BenchmarkPopPush(b *testing.B) {
	for _, lanes := range []int{1, 10, 1000} {
		for name, c := range kinds(lanes) {
			b.Run(fmt.Sprintf("%s-%d", name, lanes), func(b *testing.B) {
				turn := steady(c, lanes, 4*lanes)
				b.ReportAllocs()
				for b.Loop() {
					turn()
				}
			})
		}
	}
}
