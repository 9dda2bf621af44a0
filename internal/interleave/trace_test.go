package interleave_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/interleave"
)

const wantTrace = `
   1  first       starts
   2  first       l.mu.Lock()  | l.mu.Lock()
   3  first       l.top.Store(&item1)  | l.top.Store(it)
   4  first       item1.taken.Store(true)  | it.taken.Store(true)
   5  first       l.count.Add(-3) = -3  | l.count.Add(-3)
   6  first       l.mu.Unlock()  | l.mu.Unlock()
   7  first       l.child.sig.Send()  | l.child.sig.Send()
   8  second      starts
   9  second      l.child.sig.Receive()  | l.child.sig.Receive()
  10  second      threads.go child  | h := x.Go("child", func() { x.Logf("hello %d", 1) })
  11  child       starts
  11  child       hello 1  | h := x.Go("child", func() { x.Logf("hello %d", 1) })
  12  second      joins child  | h.Join()
  13  second      chooses 0 of 2  | interleave.Choose(2)
  14  second      l.top.Load() = &item1  | it := l.top.Load()
  15  second      item1.taken.CompareAndSwap(true, false) = true  | x.Assert(!it.taken.CompareAndSwap(true, false), "taken")
`

// It is compared without the places in the source, but with the lines that stand there.
func TestTrace(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("no traces under the race detector")
	}
	type item struct{ taken interleave.Bool }
	type locker struct {
		mu    interleave.Mutex
		count interleave.Int64
		top   interleave.Pointer[item]
		child struct{ sig *interleave.Signal }
	}
	f := interleave.Explore(interleave.Options{}, func(x *interleave.Run) {
		l := new(locker)
		l.child.sig = interleave.NewSignal(1)
		x.Name("l", l)
		x.Go("first", func() {
			l.mu.Lock()
			it := new(item)
			l.top.Store(it)
			it.taken.Store(true)
			l.count.Add(-3)
			l.mu.Unlock()
			l.child.sig.Send()
		})
		x.Go("second", func() {
			l.child.sig.Receive()
			h := x.Go("child", func() { x.Logf("hello %d", 1) })
			h.Join()
			interleave.Choose(2)
			it := l.top.Load()
			x.Assert(!it.taken.CompareAndSwap(true, false), "taken")
		})
		x.Wait()
	}).Failure
	require.NotNil(t, f)
	require.Equal(t, "a7.b3.c1.b4", f.Schedule)
	place := regexp.MustCompile(` +[a-z_]+\.go:[0-9]+: `)
	require.Equal(t, strings.Trim(wantTrace, "\n"), place.ReplaceAllString(f.Trace, "  | "))
	require.Regexp(t, `trace_test\.go:[0-9]+: l\.mu\.Lock\(\)\n`, f.Trace)
}
