package volt

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/interleave"
)

// Each scenario has the minimum that its defect needs. Tasks that are queued at its beginning were
// queued in the body, where nothing is interleaved. Every search is unbounded, and stops at the
// first failure: so no scenario lets another defect happen.

var update = flag.Bool("update", false, "write the traces into "+traces)

const traces = "traces.txt"

// A finding is how the explorer finds a defect. Its searches are deterministic: other figures mean
// that the explorer searches or shortens in another way.
type finding struct {
	kind       interleave.FailureKind
	executions int // until found
	steps      int // of the shortened schedule
	message    string
}

// find has the explorer find the failure, follows the shortened schedule to it again, and compares
// the trace with the one that is kept.
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
	requireTrace(t, fmt.Sprintf("%s: found in execution %d, shortened to %d steps, schedule %s\n%s: %s\n\n%s\n",
		t.Name(), r.Executions, again.Steps, f.Schedule, f.Kind, f.Message, narrow(f.Trace)))
}

// narrow leaves out of a trace in which file and line its source stands.
func narrow(trace string) string {
	var b strings.Builder
	for line := range strings.Lines(trace) {
		step, source, ok := strings.Cut(strings.TrimRight(line, "\n"), "_test.go:")
		if ok {
			step = strings.TrimRight(step[:strings.LastIndexByte(step, ' ')], " ")
			_, source, _ = strings.Cut(source, ": ")
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%-66s  %s", step, source), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// requireTrace fails if the file does not have this trace, in a paragraph that begins with the
// test's name.
func requireTrace(t *testing.T, text string) {
	t.Helper()
	kept, err := os.ReadFile(traces)
	require.NoError(t, err)
	begin := strings.Index(string(kept), t.Name()+": ")
	require.GreaterOrEqual(t, begin, 0, "%s has no trace of %s", traces, t.Name())
	end := len(kept)
	if next := strings.Index(string(kept[begin:]), "\n\nTest"); next >= 0 {
		end = begin + next + 1
	}
	if *update {
		require.NoError(t, os.WriteFile(traces, slices.Concat(kept[:begin], []byte(text), kept[end:]), 0o600))
		return
	}
	require.Equal(t, text, string(kept[begin:end]), "go -C bench test ./papers/volt -update writes it again")
}

// A task is a future and its waiter.
type task struct {
	*AcquireFuture
	waker *Waker
	name  string
}

func newTask(s *Semaphore, name string, num int64) task {
	return task{newFuture(s, num), newWaker(), name}
}

// label names everything for the traces. What is reached from a name is named after it, so the
// wakers come first, and the semaphore last.
func label(x *interleave.Run, s *Semaphore, tasks ...task) {
	for _, t := range tasks {
		x.Name(t.name+"Waker", t.waker)
	}
	for _, t := range tasks {
		x.Name(t.name, &t.waiter)
	}
	x.Name("sem", s)
}

// queued returns a task that has polled once, and waits.
func queued(x *interleave.Run, s *Semaphore, name string, num int64) task {
	t := newTask(s, name, num)
	x.Assert(!t.poll(t.waker), "%s has not to wait", name)
	return t
}

// listed returns a task that waits in the list although the slot is empty.
func listed(x *interleave.Run, s *Semaphore, name string, num int64) task {
	t := newTask(s, name, num)
	t.waiter.waker.Store(t.waker)
	t.waiting = true
	x.Assert(!s.acquireWait(&t.waiter), "%s has not to wait", name)
	return t
}

// run is the task: it polls, and sleeps until it is woken, until the permits are there.
func (t task) run() { t.await(t.waker) }

// (a) A release that has found the slot empty misses a task that has gone there since.

func TestVoltDefectA(t *testing.T) {
	find(t, finding{
		kind: interleave.Deadlock, executions: 3, steps: 16,
		message: "second waits to receive from secondWaker",
	}, twoTasks((*Semaphore).release))
}

// The scenario is not to blame: it cannot fail if the release looks into the slot again once it has
// the mutex.
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
		s := newSemaphore(1)
		first, second := newTask(s, "first", 1), newTask(s, "second", 1)
		label(x, s, first, second)
		for _, t := range []task{first, second} {
			x.Go(t.name, func() {
				t.run()
				release(s, 1)
			})
		}
		x.Wait()
	}
}

// (b) When the slot is empty and the list is not, a newcomer takes the slot, and the slot is served
// first.

func TestVoltDefectB(t *testing.T) {
	find(t, finding{
		kind: interleave.Assertion, executions: 5, steps: 23,
		message: "the third has the permit, and the second waits for it",
	}, func(x *interleave.Run) {
		s := newSemaphore(0)
		first := queued(x, s, "first", 1)   // in the slot
		second := queued(x, s, "second", 1) // in the list
		third := newTask(s, "third", 1)
		enough := x.NewContext()
		label(x, s, first, second, third)
		x.Go("holder", func() { s.release(1) })
		x.Go("first", func() {
			first.run()
			s.release(1)
		})
		x.Go("second", func() {
			second.run()
			enough.Cancel() // and it keeps the permit
		})
		x.Go("third", func() {
			for !third.poll(third.waker) {
				if !third.waker.ReceiveOr(enough.Done()) {
					return
				}
			}
			x.Fail("the third has the permit, and the second waits for it")
		})
		x.Wait()
	})
}

// There is no bound, nor any need for a race: two tasks that give the permit to each other keep a
// third from it for as long as they like.
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
	find(t, finding{
		kind: interleave.Assertion, executions: 2, steps: 17,
		message: "0 of 1 permits are left",
	}, cancelAgainstRelease((*Semaphore).cancelAcquire))
}

// The scenario is not to blame: it cannot fail if a cancel that does not find the waiter waits for
// the release that has it.
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
		s := newSemaphore(0)
		task := queued(x, s, "task", 1) // in the slot
		label(x, s, task)
		x.Go("holder", func() { s.release(1) })
		x.Go("task", func() {
			if cancel(s, &task.waiter) { // else it has nothing
				s.release(1)
			}
		})
		x.Wait()
		x.Assert(s.permits.Load() == 1, "%d of 1 permits are left", s.permits.Load())
	}
}

// With a request for 2 the release puts the waiter back after its task has gone.
func TestVoltDefectCPutBack(t *testing.T) {
	find(t, finding{
		kind: interleave.Assertion, executions: 2, steps: 21,
		message: "a waiter that was cancelled stands in the slot",
	}, func(x *interleave.Run) {
		s := newSemaphore(0)
		task := queued(x, s, "task", 2) // in the slot
		label(x, s, task)
		x.Go("holder", func() { s.release(1) })
		x.Go("task", func() { s.cancelAcquire(&task.waiter) })
		x.Wait()
		x.Assert(s.fastWaiter.Load() == nil, "a waiter that was cancelled stands in the slot")
	})
}

// (d) The surplus of a release misses a task that has come to the slot since it was emptied.

func TestVoltDefectD(t *testing.T) {
	find(t, finding{
		kind: interleave.Deadlock, executions: 3, steps: 17,
		message: "second waits to receive from secondWaker",
	}, func(x *interleave.Run) {
		s := newSemaphore(0)
		first := queued(x, s, "first", 1) // in the slot; it keeps the permit
		second := newTask(s, "second", 1)
		label(x, s, first, second)
		x.Go("holder", func() { s.release(2) })
		x.Go("second", second.run)
		x.Wait()
	})
}

// (e) A poll brings another waker after the release has read the one before.

func TestVoltDefectE(t *testing.T) {
	find(t, finding{
		kind: interleave.Deadlock, executions: 2, steps: 11,
		message: "task waits to receive from anotherWaker",
	}, func(x *interleave.Run) {
		s := newSemaphore(0)
		task := queued(x, s, "task", 1) // in the slot
		another := newWaker()
		x.Name("anotherWaker", another)
		label(x, s, task)
		x.Go("holder", func() { s.release(1) })
		x.Go("task", func() { task.await(another) })
		x.Wait()
	})
}

// (f) Between the swap and the put-back of a waiter that has been given a part, another release
// finds no waiter.

func TestVoltDefectF(t *testing.T) {
	find(t, finding{
		kind: interleave.Deadlock, executions: 3, steps: 14,
		message: "task waits to receive from taskWaker",
	}, func(x *interleave.Run) {
		s := newSemaphore(0)
		task := queued(x, s, "task", 2) // in the slot
		label(x, s, task)
		x.Go("holder1", func() { s.release(1) })
		x.Go("holder2", func() { s.release(1) })
		x.Go("task", task.run)
		x.Wait()
	})
}

// And the put-back makes the oldest waiter the newest.
func TestVoltDefectFOrder(t *testing.T) {
	find(t, finding{
		kind: interleave.Assertion, executions: 2, steps: 19,
		message: "the first stands behind the second",
	}, func(x *interleave.Run) {
		s := newSemaphore(0)
		first := queued(x, s, "first", 2)   // in the slot
		second := queued(x, s, "second", 1) // in the list
		third := newTask(s, "third", 1)
		label(x, s, first, second, third)
		x.Go("holder", func() { s.release(1) })
		x.Go("third", func() { third.poll(third.waker) })
		x.Wait()
		w := &first.waiter
		x.Assert(s.fastWaiter.Load() == w || s.waiters.back() == w, "the first stands behind the second")
	})
}

// (g) Three more. First: a cancel that finds the request complete keeps the permits.

func TestVoltDefectGCancelOfGranted(t *testing.T) {
	find(t, finding{
		kind: interleave.Assertion, executions: 1, steps: 9,
		message: "0 of 1 permits are left",
	}, func(x *interleave.Run) {
		s := newSemaphore(0)
		task := queued(x, s, "task", 1) // in the slot
		label(x, s, task)
		holder := x.Go("holder", func() { s.release(1) })
		x.Go("task", func() {
			holder.Join()
			s.cancelAcquire(&task.waiter) // on the page it returns nothing
		})
		x.Wait()
		x.Assert(s.permits.Load() == 1, "%d of 1 permits are left", s.permits.Load())
	})
}

// Second: a task that sees its request complete may reuse the future, which is still in the list.
func TestVoltDefectGUseAfterResume(t *testing.T) {
	find(t, finding{
		kind: interleave.Deadlock, executions: 5, steps: 21,
		message: "second waits to receive from secondWaker",
	}, func(x *interleave.Run) {
		s := newSemaphore(0)
		first := listed(x, s, "first", 1)
		second := listed(x, s, "second", 1)
		label(x, s, first, second)
		x.Go("holder", func() { s.release(1) })
		x.Go("first", func() {
			first.run()
			first.init(s, 1) // for a request to come
			s.release(1)
		})
		x.Go("second", second.run)
		x.Wait()
	})
}

// Third: two requests for 2 permits have one each.
func TestVoltDefectGHalves(t *testing.T) {
	find(t, finding{
		kind: interleave.Deadlock, executions: 5, steps: 18,
		message: "first waits to receive from firstWaker; second waits to receive from secondWaker",
	}, func(x *interleave.Run) {
		s := newSemaphore(0)
		first := queued(x, s, "first", 2)   // in the slot
		second := queued(x, s, "second", 2) // in the list
		label(x, s, first, second)
		x.Go("holder1", func() { s.release(1) })
		x.Go("holder2", func() { s.release(1) })
		for _, t := range []task{first, second} {
			x.Go(t.name, func() {
				t.run()
				s.release(2)
			})
		}
		x.Wait()
	})
}

// (h) A request for more than there is takes what there is, and waits.

func TestVoltDefectH(t *testing.T) {
	find(t, finding{
		kind: interleave.Deadlock, executions: 1, steps: 10,
		message: "task waits to receive from taskWaker",
	}, func(x *interleave.Run) {
		s := newSemaphore(2)
		tooLarge := queued(x, s, "tooLarge", 3)
		task := newTask(s, "task", 1)
		label(x, s, tooLarge, task)
		x.Go("task", task.run)
		x.Wait()
	})
}
