package waiters

import (
	"math"
	"testing"
	"time"
	"unsafe"

	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

func TestTaskMemoryIsThatOfTheObject(t *testing.T) {
	const n = 1 << 14
	bytes, err := pollTaskMemory(n, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if size := float64(unsafe.Sizeof(waitingTask{})); math.Abs(bytes-size) > 8 {
		t.Errorf("%.1f bytes for a task of %.0f", bytes, size)
	}
}

func TestStacksAreCounted(t *testing.T) {
	const n, least, most = 5000, 1500, 10_000
	bytes, err := straightLineMemory(n, 5*time.Second)
	if err != nil || bytes < least || bytes > most {
		t.Errorf("%.0f bytes for a straight-line task, %v", bytes, err)
	}
	for _, im := range peers.Lockers() {
		if bytes, err = goroutineMemory(im, n, 5*time.Second); err != nil || bytes < least || bytes > most {
			t.Errorf("%.0f bytes for a goroutine that waits for %s, %v", bytes, im.Name, err)
		}
	}
}

func TestMemoryTargetsOfTheIssue(t *testing.T) {
	if tg := MemoryTargetFor(table.TaskBytes, ""); tg.Bound != 200 || tg.Met(201) {
		t.Errorf("memory: %+v", tg)
	}
	if tg := MemoryTargetFor(table.GoroutineTimes, ""); tg.Bound != 10 || tg.Met(9.9) || !tg.Met(10.1) {
		t.Errorf("memory of goroutines: %+v", tg)
	}
}
