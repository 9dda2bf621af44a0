package volt

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/interleave"
)

// Each scenario makes the least that its defect needs. Who is queued when it begins was queued in the body, where nothing
// is interleaved. Every search is the unbounded one.

var update = flag.Bool("update", false, "write the traces into "+document)

const document = "../../docs/design/volt-defects.md"

// A finding is how the explorer finds a defect. Its searches are deterministic: other figures mean that the explorer
// searches or shortens in another way.
type finding struct {
	kind              interleave.FailureKind
	message           string
	executions, steps int // until found; of the shortened schedule
}

// find has the explorer find the failure, follows the shortened schedule to it again, and looks whether the document tells
// the same.
func find(t *testing.T, want finding, body func(x *interleave.Run)) {
	t.Helper()
	r := interleave.Explore(interleave.Options{}, body)
	f := r.Failure
	require.NotNil(t, f, "not found in %d executions", r.Executions)
	require.Equal(t, want.kind, f.Kind, f)
	require.Equal(t, want.executions, r.Executions)
	if f.Trace == "" {
		return // under the race detector schedules are not shortened, nor explained
	}
	require.Equal(t, want.message, f.Message)
	again := interleave.Explore(interleave.Options{Schedule: f.Schedule}, body)
	require.NotNil(t, again.Failure)
	require.Equal(t, f.Kind, again.Failure.Kind)
	require.Equal(t, f.Trace, again.Failure.Trace)
	require.Equal(t, want.steps, again.Steps)
	t.Logf("%s: %s\nafter %d executions; %d steps, schedule %s\n%s",
		f.Kind, f.Message, r.Executions, again.Steps, f.Schedule, f.Trace)
	requireTold(t, fmt.Sprintf("%s, after %s. Shortened to %d steps, schedule %s\n%s: %s\n\n%s\n",
		t.Name(), plural(r.Executions, "execution"), again.Steps, f.Schedule, f.Kind, f.Message, narrow(f.Trace)))
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// narrow leaves out of a trace in which file and line its source stands.
func narrow(trace string) string {
	var b strings.Builder
	for line := range strings.Lines(trace) {
		step, source := strings.TrimRight(line, "\n"), ""
		if i := strings.Index(line, "_test.go:"); i >= 0 {
			step = strings.TrimRight(line[:strings.LastIndexByte(line[:i], ' ')], " ")
			_, source, _ = strings.Cut(line[i+len("_test.go:"):], ": ")
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-66s  %s", step, strings.TrimSpace(source)), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// requireTold fails if the document does not show text, in a block that begins with the test's name.
func requireTold(t *testing.T, text string) {
	t.Helper()
	doc, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(doc), "```text\n"+t.Name()+",")
	require.True(t, ok, "%s has no block for %s", document, t.Name())
	told, after, ok := strings.Cut(t.Name()+","+rest, "```\n")
	require.True(t, ok, document)
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(before+"```text\n"+text+"```\n"+after), 0o600))
		return
	}
	require.Equal(t, text, told, "go test ./internal/volt -update writes it again")
}

// queued returns a future that has been polled, and waits.
func queued(x *interleave.Run, s *Semaphore, name string, num int64) (*AcquireFuture, *Waker) {
	f, k := newFuture(s, num), newWaker()
	x.Name(name+".waker", k)
	x.Name(name, f)
	x.Assert(!f.poll(k), "setup: %s waits", name)
	return f, k
}

// listed is queued, but in the list even if the slot is empty.
func listed(x *interleave.Run, s *Semaphore, name string, num int64) (*AcquireFuture, *Waker) {
	f, k := newFuture(s, num), newWaker()
	x.Name(name+".waker", k)
	x.Name(name, f)
	f.waiter.waker.Store(k)
	f.waiting = true
	x.Assert(!s.acquireWait(&f.waiter), "setup: %s waits", name)
	return f, k
}

func named(x *interleave.Run, permits int64) *Semaphore {
	s := newSemaphore(permits)
	x.Name("sem", s)
	return s
}

// (a) A release that has found the slot empty passes by one who has gone there since.

func TestVoltDefectA(t *testing.T) {
	find(t, finding{interleave.Deadlock, "", 0, 0}, twoTasks((*Semaphore).release))
}

// The scenario is not to blame: it cannot fail if the release looks into the slot again once it has the mutex.
func TestVoltDefectARepaired(t *testing.T) {
	interleave.Check(t, interleave.Options{}, twoTasks(func(s *Semaphore, num int64) {
		w := s.fastWaiter.Swap(nil)
		if w == nil {
			s.mutex.Lock()
			if w = s.fastWaiter.Swap(nil); w == nil {
				s.releaseLocked(num)
				return
			}
			s.mutex.Unlock()
		}
		s.releaseToFastWaiter(w, num)
	}))
}

func twoTasks(release func(s *Semaphore, num int64)) func(x *interleave.Run) {
	return func(x *interleave.Run) {
		s := named(x, 1)
		x.Same(2, "task", func(i int) {
			f, k := newFuture(s, 1), newWaker()
			x.Name(fmt.Sprintf("waker%d", i+1), k)
			x.Name(fmt.Sprintf("future%d", i+1), f)
			f.await(k)
			release(s, 1)
		})
		x.Wait()
	}
}

// (b) When the slot is empty and the list is not, a newcomer takes the slot, and the slot is served first.

func TestVoltDefectB(t *testing.T) {
	find(t, finding{interleave.Assertion, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 0)
		first, firstWaker := queued(x, s, "first", 1)    // in the slot
		second, secondWaker := queued(x, s, "second", 1) // in the list
		enough := x.NewContext()
		x.Go("holder", func() { s.release(1) })
		x.Go("first", func() {
			first.await(firstWaker)
			s.release(1)
		})
		x.Go("second", func() {
			second.await(secondWaker)
			enough.Cancel() // and it keeps the permit
		})
		x.Go("newcomer", func() {
			f, k := newFuture(s, 1), newWaker()
			x.Name("newcomer.waker", k)
			x.Name("newcomer", f)
			for !f.poll(k) {
				if !k.ReceiveOr(enough.Done()) {
					return
				}
			}
			x.Fail("the newcomer has the permit, and the second waits for it")
		})
		x.Wait()
	})
}

// There is no bound, nor any need for a race: two tasks that give the permit to each other keep a third from it as long as
// they like.
func TestVoltDefectBStarves(t *testing.T) {
	s := newSemaphore(1)
	k := newWaker()
	holder, next, starving := newFuture(s, 1), newFuture(s, 1), newFuture(s, 1)
	require.True(t, holder.poll(k))
	require.False(t, next.poll(k))
	require.False(t, starving.poll(k))
	for range 1000 {
		s.release(1) // by the holder
		require.True(t, next.poll(k))
		holder.init(s, 1)
		require.False(t, holder.poll(k))
		holder, next = next, holder
		require.False(t, starving.poll(k))
	}
}

// (c) A cancel and a release both think that the waiter is theirs.

func TestVoltDefectC(t *testing.T) {
	find(t, finding{interleave.Assertion, "", 0, 0}, cancelAgainstRelease((*Semaphore).cancelAcquire))
}

// The scenario is not to blame: it cannot fail if a cancel that finds the waiter nowhere waits for whoever has it.
func TestVoltDefectCRepaired(t *testing.T) {
	interleave.Check(t, interleave.Options{}, cancelAgainstRelease(func(s *Semaphore, w *Waiter) bool {
		if s.fastWaiter.CompareAndSwap(w, nil) {
			return false
		}
		for !w.isComplete() {
			interleave.Yield()
		}
		return true
	}))
}

func cancelAgainstRelease(cancel func(s *Semaphore, w *Waiter) bool) func(x *interleave.Run) {
	return func(x *interleave.Run) {
		s := named(x, 0)
		f, _ := queued(x, s, "future", 1) // in the slot
		x.Go("holder", func() { s.release(1) })
		x.Go("task", func() {
			if cancel(s, &f.waiter) { // else it has nothing
				s.release(1)
			}
		})
		x.Wait()
		x.Assert(s.permits.Load() == 1, "%d of 1 permits are left", s.permits.Load())
	}
}

// With a request for 2 the release puts the waiter back after its task has gone.
func TestVoltDefectCPutBack(t *testing.T) {
	find(t, finding{interleave.Assertion, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 0)
		f, _ := queued(x, s, "future", 2) // in the slot
		x.Go("holder", func() { s.release(1) })
		x.Go("task", func() { s.cancelAcquire(&f.waiter) })
		x.Wait()
		x.Assert(s.fastWaiter.Load() == nil, "a waiter that was cancelled stands in the slot")
	})
}

// (d) The surplus of a release passes by one who has come to the slot since it was emptied.

func TestVoltDefectD(t *testing.T) {
	find(t, finding{interleave.Deadlock, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 0)
		queued(x, s, "first", 1) // in the slot; it keeps the permit
		x.Go("holder", func() { s.release(2) })
		x.Go("second", func() {
			f, k := newFuture(s, 1), newWaker()
			x.Name("second.waker", k)
			x.Name("second", f)
			f.await(k)
		})
		x.Wait()
	})
}

// (e) A poll brings another waker after the release has read the one before.

func TestVoltDefectE(t *testing.T) {
	find(t, finding{interleave.Deadlock, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 0)
		k := newWaker()
		x.Name("newWaker", k)
		f, _ := queued(x, s, "future", 1) // in the slot, with the waker of the first poll
		x.Go("holder", func() { s.release(1) })
		x.Go("task", func() { f.await(k) })
		x.Wait()
	})
}

// (f) Between the swap and the put-back of a waiter that has been given a part, another release sees nobody.

func TestVoltDefectF(t *testing.T) {
	find(t, finding{interleave.Deadlock, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 0)
		f, k := queued(x, s, "future", 2) // in the slot
		x.Go("holder1", func() { s.release(1) })
		x.Go("holder2", func() { s.release(1) })
		x.Go("task", func() { f.await(k) })
		x.Wait()
	})
}

// And the put-back makes the oldest waiter the newest.
func TestVoltDefectFOrder(t *testing.T) {
	find(t, finding{interleave.Assertion, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 0)
		first, _ := queued(x, s, "first", 2) // in the slot
		queued(x, s, "second", 1)            // in the list
		x.Go("holder", func() { s.release(1) })
		x.Go("third", func() {
			f, k := newFuture(s, 1), newWaker()
			x.Name("third.waker", k)
			x.Name("third", f)
			f.poll(k)
		})
		x.Wait()
		w := &first.waiter
		x.Assert(s.fastWaiter.Load() == w || s.waiters.back() == w, "the first stands behind the second")
	})
}

// (g) Three more. First: a cancel that finds the request complete keeps the permits.

func TestVoltDefectGCancelOfGranted(t *testing.T) {
	find(t, finding{interleave.Assertion, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 0)
		f, _ := queued(x, s, "future", 1) // in the slot
		x.Go("holder", func() { s.release(1) })
		x.Go("task", func() { s.cancelAcquire(&f.waiter) }) // the page's returns nothing
		x.Wait()
		x.Assert(s.permits.Load() == 1, "%d of 1 permits are left", s.permits.Load())
	})
}

// Second: a task that sees its request complete may reuse the future, which is still in the list.
func TestVoltDefectGUseAfterResume(t *testing.T) {
	find(t, finding{interleave.Deadlock, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 0)
		first, firstWaker := listed(x, s, "first", 1)
		second, secondWaker := listed(x, s, "second", 1)
		x.Go("holder", func() { s.release(1) })
		x.Go("first", func() {
			first.await(firstWaker)
			first.init(s, 1) // for a request to come
			s.release(1)
		})
		x.Go("second", func() { second.await(secondWaker) })
		x.Wait()
	})
}

// Third: two requests for 2 permits have one each.
func TestVoltDefectGHalves(t *testing.T) {
	find(t, finding{interleave.Deadlock, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 0)
		first, firstWaker := queued(x, s, "first", 2)    // in the slot
		second, secondWaker := queued(x, s, "second", 2) // in the list
		x.Go("holder1", func() { s.release(1) })
		x.Go("holder2", func() { s.release(1) })
		x.Go("first", func() {
			first.await(firstWaker)
			s.release(2)
		})
		x.Go("second", func() {
			second.await(secondWaker)
			s.release(2)
		})
		x.Wait()
	})
}

// (h) A request for more than there is takes what there is, and waits.

func TestVoltDefectH(t *testing.T) {
	find(t, finding{interleave.Deadlock, "", 0, 0}, func(x *interleave.Run) {
		s := named(x, 2)
		queued(x, s, "tooLarge", 3)
		x.Go("task", func() {
			f, k := newFuture(s, 1), newWaker()
			x.Name("waker", k)
			x.Name("future", f)
			f.await(k)
		})
		x.Wait()
	})
}
