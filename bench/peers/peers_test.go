package peers

import (
	"testing"
)

func TestFloorServesOneGoroutine(t *testing.T) {
	f := NewFloor(1).(*floor)
	if err := f.Acquire(t.Context(), 1); err != nil || f.permits.Load() != 0 {
		t.Fatalf("acquire: %v, %d permits left", err, f.permits.Load())
	}
	if f.Release(1); f.permits.Load() != 1 {
		t.Fatalf("release: %d permits", f.permits.Load())
	}
}
