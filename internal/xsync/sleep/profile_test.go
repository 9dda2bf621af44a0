//go:build !interleave

package sleep

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
)

// Profiles, traces and dumps that are taken while hundreds sleep do no harm. A goroutine that was
// taken for leaked, for instance, could not be woken any more.
func TestSleepersOutliveEveryLookAtThem(t *testing.T) {
	const n = 300
	runtime.SetBlockProfileRate(1)
	defer runtime.SetBlockProfileRate(0)
	defer runtime.SetMutexProfileFraction(runtime.SetMutexProfileFraction(1))
	looks := map[string]func(t *testing.T, sleeping int){
		"collection": func(*testing.T, int) { runtime.GC(); debug.FreeOSMemory() },
		"trace": func(t *testing.T, _ int) {
			require.NoError(t, trace.Start(io.Discard))
			time.Sleep(5 * time.Millisecond)
			trace.Stop()
		},
		"heap dump": func(t *testing.T, _ int) {
			f, err := os.Create(filepath.Join(t.TempDir(), "heap"))
			require.NoError(t, err)
			debug.WriteHeapDump(f.Fd())
			require.NoError(t, f.Close())
		},
		"stacks": func(t *testing.T, sleeping int) {
			all := make([]byte, 1<<22)
			all = all[:runtime.Stack(all, true)]
			if Parks() {
				require.GreaterOrEqual(t, strings.Count(string(all), "[semacquire"), sleeping)
			}
		},
	}
	// With Go 1.26 the profile of leaked goroutines needs GOEXPERIMENT=goroutineleakprofile.
	for _, name := range []string{"goroutine", "block", "mutex", "heap", "threadcreate", "goroutineleak"} {
		if p := pprof.Lookup(name); p != nil {
			looks[name] = func(t *testing.T, _ int) {
				for _, form := range []int{0, 1, 2} {
					var b bytes.Buffer
					require.NoError(t, p.WriteTo(&b, form))
					if name == "goroutineleak" && form == 1 && Parks() {
						require.False(t, strings.Contains(b.String(), "SleepInline"), "taken for leaked: %s", &b)
					}
				}
			}
		}
	}
	for name, look := range looks {
		t.Run(name, func(t *testing.T) {
			sleepers := make([]*Sleeper, n)
			var asleep, wg sync.WaitGroup
			asleep.Add(n)
			for i := range sleepers {
				s := new(Sleeper)
				s.Init(false)
				sleepers[i] = s
				wg.Go(func() {
					deep(i % 40)
					asleep.Done()
					if i%2 == 0 {
						s.SleepInline()
					}
					s.Sleep()
					deep(i % 40)
				})
			}
			asleep.Wait()
			locktest.Eventually(t, "all sleep", func() bool {
				for _, s := range sleepers {
					if s.word.Load() == 0 {
						return false
					}
				}
				return true
			})
			look(t, n)
			runtime.GC()
			for _, s := range sleepers {
				s.Wake(Token)
			}
			wg.Wait()
			look(t, 0)
		})
	}
}
