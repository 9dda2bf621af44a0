package interleave

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var whereItStands = regexp.MustCompile(` +[a-z_]+\.go:[0-9]+: .*`)

// story returns the trace of a failure without the places in the source.
func story(f *Failure) string { return whereItStands.ReplaceAllString(f.Trace, "") }

const wantStory = `
   1  a           starts
   2  a           flag.Load() = false
   3  a           flag.Store(true)
   4  a           flag.Swap(false) = true
   5  a           flag.CompareAndSwap(true, false) = false
   6  a           n.Add(6) = 6
   7  a           n.Or(1) = 6
   8  a           n.And(3) = 7
   9  a           p.Load() = nil
  10  a           mu.Lock()
  11  a           mu.TryLock() = false
  12  a           mu.Unlock()
  13  a           s.Send()
  14  a           s.TryReceive()
  15  a           s.TrySend()
  16  a           s.Receive()
  17  a           s.Send()
  18  a           s.ReceiveOr(done) = true
  19  a           chooses 1 of 2
  20  a           s.Send()
  21  a           chooses 0 of 2
  22  a           s.Receive()
  23  a           ctx.Load() = false
  24  a           ctx.Swap(true) = false
  25  a           ctx.close
  26  a           s.ReceiveOr(done) = false
  28  a           threads.go AfterFunc
  29  a           calls
  30  a           returns
  31  a           n.Load() = 3
  32  a           threads.go child
  33  child       starts
  34  child       n.Store(4)
  35  a           Yield()
  36  a           joins child
  36  a           said
  37  a           s.Send()
  39  a           chooses 1 of 2
`

// Each operation has a line in a trace, but for two that show in what follows them: AfterFunc in
// its thread, and a ReceiveOr that could do either in its choice. Without a trace no line is made:
// a search would spend its time on that.
func TestEveryOperationIsTold(t *testing.T) {
	if RaceEnabled {
		t.Skip("no traces under the race detector")
	}
	f := fails(t, Assertion, Options{}, func(x *Run) {
		var flag Bool
		var n Int32
		var p Pointer[int]
		var mu Mutex
		s, ctx := NewSignal(1), x.NewContext()
		x.Name("flag", &flag)
		x.Name("n", &n)
		x.Name("p", &p)
		x.Name("mu", &mu)
		x.Name("s", s)
		x.Name("no pointer", struct{ n int }{1})
		x.Logf("not by a thread")
		x.Go("a", func() {
			flag.Load()
			flag.Store(true)
			flag.Swap(false)
			flag.CompareAndSwap(true, false)
			n.Add(6)
			n.Or(1)
			n.And(3)
			p.Load()
			mu.Lock()
			mu.TryLock()
			mu.Unlock()
			s.Send()
			s.TryReceive()
			s.TrySend()
			s.Receive()
			s.Send()
			s.ReceiveOr(ctx.Done())
			late := !receiveWithin(s)
			s.Send()
			receiveWithin(s)
			_ = ctx.Err()
			ctx.Cancel()
			s.ReceiveOr(ctx.Done())
			ctx.AfterFunc(func() {})
			x.Invoke()
			x.Respond()
			n.Load()
			h := x.Go("child", func() { n.Store(4) })
			Yield()
			h.Join()
			x.Logf("said")
			s.Send()
			x.Assert(x.tracing || len(x.lines) == 0, "a line without a trace")
			x.Assert(s.ReceiveOr(ctx.Done()) || !late, "both")
		})
		x.Wait()
	})
	require.Equal(t, "both", f.Message)
	require.Equal(t, strings.Trim(wantStory, "\n"), story(f))
}

// What deferred functions do once the execution has failed is no part of it.
func TestUnwindingIsNotTold(t *testing.T) {
	if RaceEnabled {
		t.Skip("no traces under the race detector")
	}
	f := fails(t, Assertion, Options{}, func(x *Run) {
		var n Int32
		s, ctx := NewSignal(1), x.NewContext()
		x.Name("n", &n)
		x.Go("waiting", func() {
			defer ctx.Cancel()
			defer n.Add(1)
			n.Store(5)
			s.Receive()
		})
		x.Go("failing", func() {
			defer n.Add(2)
			x.Assert(n.Load() == 0, "no")
		})
		x.Wait()
	})
	require.Equal(t, strings.Trim(`
   1  waiting     starts
   2  waiting     n.Store(5)
   3  failing     starts
   4  failing     n.Load() = 5
`, "\n"), story(f))
}

// A deadlock's message and the end of its trace call what is waited for by its name.
func TestDeadlocksAreTold(t *testing.T) {
	if RaceEnabled {
		t.Skip("no traces under the race detector")
	}
	f := fails(t, Deadlock, Options{}, func(x *Run) {
		var mu Mutex
		var n Int32
		s, ctx := NewSignal(1), x.NewContext()
		x.Name("mu", &mu)
		x.Name("n", &n)
		x.Name("s", s)
		holder := x.Go("holder", func() {
			mu.Lock()
			s.Receive()
		})
		x.Go("locker", mu.Lock)
		x.Go("receiver", func() { s.ReceiveOr(ctx.Done()) })
		x.Go("joiner", holder.Join)
		x.Go("spinner", func() {
			n.Load()
			Yield()
		})
		x.Wait()
	})
	require.Equal(t, "holder waits to receive from s; locker waits to lock mu; receiver waits to receive from s; "+
		"joiner waits for the end of holder; spinner waits for a change of what it looks at", f.Message)
	require.Equal(t, strings.Trim(`
   1  holder      starts
   2  holder      mu.Lock()
   3  locker      starts
   4  receiver    starts
   5  joiner      starts
   6  spinner     starts
   7  spinner     n.Load() = 0
 ...  holder      waits to receive from s
 ...  locker      waits to lock mu
 ...  receiver    waits to receive from s
 ...  joiner      waits for the end of holder
 ...  spinner     waits for a change of what it looks at
`, "\n"), story(f))
	require.Regexp(t, ` waits to receive from s +told_test\.go:[0-9]+: s\.Receive\(\)\n`, f.Trace)
}
