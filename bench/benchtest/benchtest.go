package benchtest

import (
	"context"
	"image/color"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/peers"
)

// Broken fails, or lets none leave.
type Broken struct {
	Err  error
	Hang chan struct{}
}

// Acquire waits if the semaphore hangs, and fails if it has an error.
func (b *Broken) Acquire(context.Context, int64) error {
	if b.Hang != nil {
		<-b.Hang
	}
	return b.Err
}

// Release does nothing.
func (b *Broken) Release(int64) {}

// A Forgetful channel has another number of permits after a timeout, or a release.
type Forgetful struct {
	peers.Channel
	Loses, Finds bool
}

// Release returns a permit, unless the channel loses it, or finds another one.
func (f *Forgetful) Release(int64) {
	if !f.Loses {
		f.Channel.Release(1)
	}
	if f.Finds {
		f.Channel = make(peers.Channel, 2)
	}
}

// Together runs f in n goroutines, on threads of their own if need be, until all have come back.
func Together(t *testing.T, n int, onThread bool, f func(g int)) {
	t.Helper()
	var wg sync.WaitGroup
	for g := range n {
		wg.Go(func() {
			if onThread {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
			}
			f(g)
		})
	}
	if !measure.Within(20*time.Second, &wg) {
		t.Fatal("a goroutine waits for ever")
	}
}

// HasAll fails if text lacks one of wants; what it has instead is too long to be shown.
func HasAll(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Fatalf("no %q", want)
		}
	}
}

// Luminance is WCAG's relative luminance.
func Luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	linear := func(v uint32) float64 {
		s := float64(v) / math.MaxUint16
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

// Contrast is WCAG's contrast ratio of two luminances.
func Contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }
