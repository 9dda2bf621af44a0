//go:build !interleave

package twobit

import (
	"runtime"
	"testing"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// released is Bits that are held by a goroutine that lets go when they have been looked at so
// often.
type released struct {
	Word
	looks int
	slept bool // a goroutine wanted to sleep
}

func (r *released) Get() parking.State {
	if r.looks--; r.looks == 0 {
		r.TryUnlock()
	}
	return r.Word.Get()
}

func (r *released) Set(from, to parking.State) bool {
	if to == sleeping {
		r.slept = true
		return false // no goroutine would wake it
	}
	return r.Word.Set(from, to)
}

// Who finds a lock held looks a few times more before it goes to sleep, if another processor can
// make progress meanwhile. (That Spin knows is tested in bench/papers/phased.)
func TestSpinsBeforeItSleeps(t *testing.T) {
	if runtime.NumCPU() == 1 {
		t.Skip("no goroutine lets go meanwhile")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	locktest.Eventually(t, "it is known that there are two processors", func() bool { return xsync.Spin(0) })
	for looks := 1; looks <= 3; looks++ {
		r := &released{looks: looks}
		require.True(t, r.TryLock())
		require.NoError(t, Lock(waiting.Limit{}, r, parking.Key{Object: r}))
		require.False(t, r.slept, "released at look %d", looks)
		require.False(t, r.TryLock())
	}
}
