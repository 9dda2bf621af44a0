//go:build interleave

package engine

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

// The defects of the published algorithm (docs/design/volt-defects.md), written into ours one at a
// time: the scenarios of tier one must find each, those in plain memory under the race detector.
var planted = []struct {
	name, file, from, to string
	race                 bool   // in plain memory: found by the race tier
	in, test             string // the package and the test whose scenarios find it, if not this one and TestModel
}{
	{
		name: "a: a release looks only at the list", file: "internal/engine/engine.go",
		from: "\te.serveLocked(&wake) // serves none if nothing was added\n",
		to: `	if e.list.Front() != nil {
		e.serveLocked(&wake)
	}
`,
	},
	{
		name: "b: a newcomer takes the empty slot", file: "internal/engine/engine.go",
		from: `	} else {
		e.list.PushBack(w)
	}
`,
		to: `	} else if w.N == 1 && e.slot.Load() == nil {
		e.slot.Store(w)
		return waiting.Pending
	} else {
		e.list.PushBack(w)
	}
`,
	},
	{
		name: "c: a canceller leaves a waiter that a release owns", file: "internal/engine/engine.go",
		from: "\tok := e.slot.CompareAndSwap(w, nil) || e.list.Remove(w)\n",
		to: `	_ = e.slot.CompareAndSwap(w, nil) || e.list.Remove(w)
	ok := true
`,
	},
	{
		name: "d: surplus passes the slot by", file: "internal/engine/engine.go",
		from: `			w := e.takeSlotLocked()
			if w == nil {
				if w = e.list.Front()`,
		to: `			var w *waiting.Waiter
			if w == nil {
				if w = e.list.Front()`,
	},
	{
		name: "e: a poll replaces the waker at any time", file: "internal/waiting/waiter.go",
		from: `	if !w.state.CompareAndSwap(stateArmed, stateRegistering) {
		return w.Status()
	}
	w.waker = waker
	return w.endRegistering()`,
		to: `	s := w.Status()
	w.waker = waker
	return s`,
		race: true,
	},
	{
		name: "f: a waiter that is put back becomes the newest", file: "internal/engine/engine.go",
		from: "if w := e.takeSlotLocked(); w != nil {\n\t\te.list.PushFront(w)",
		to:   "if w := e.takeSlotLocked(); w != nil {\n\t\te.list.PushBack(w)",
	},
	{
		name: "g: a canceller forgets what it was granted", file: "internal/waiting/wait.go",
		from: "== Granted {\n\t\tGiveBack(line, n)\n",
		to:   "== Granted {\n\t\t_ = n\n",
	},
	{
		name: "g: a future forgets what it was granted", file: "internal/waiting/future.go",
		from: "\treturn !mine || n == 0 || f.r.GiveBack(n)\n",
		to:   "\t_ = n\n\treturn !mine || true\n",
	},
	{
		name: "a wait that its context has ended stays in the line", file: "internal/waiting/wait.go",
		in: "../../sync", test: "TestModelMutex",
		from: "\t\tif !woken { // or the context has panicked\n",
		to:   "\t\tif false {\n",
	},
	{
		name: "what was granted after the end of the context is kept", file: "internal/waiting/wait.go",
		in: "../../sync", test: "TestModelRWMutex",
		from: "\tkept = err == nil\n",
		to:   "\tkept = true\n",
	},
	{
		name: "a limit is not asked once more", file: "internal/waiting/wait.go", in: "../../sync/rwlock", test: "TestModelHistories",
		from: "\treturn Keep(l.ctx, line, n)\n",
		to:   "\treturn nil\n",
	},
	{
		name: "the channel of one round is closed in the next", file: "internal/waiting/waiter.go",
		race: true,
		from: "\t\t\t\tdone.Close()\n",
		to:   "\t\t\t\t_ = done\n\t\t\t\tw.done.Close()\n",
	},
	{
		name: "g: completion before unlinking", file: "internal/waiting/queue.go",
		from: `		l.head, w.next = w.next, nil
		if !w.Deliver(o) && o == Granted && n > 0 {
			return n
		}
`,
		to: `		refused := !w.Deliver(o) && o == Granted && n > 0
		l.head, w.next = w.next, nil
		if refused {
			return n
		}
`,
		race: true,
	},
	{
		name: "g: partial grants", file: "internal/engine/engine.go",
		from: `w == nil || w.N > e.free(o) {
					break`,
		to: `w == nil || w.N > e.free(o) {
				if w != nil {
					f := e.free(o)
					w.N -= f
					o -= State(f << permitShift)
				}
				break`,
	},
	{
		name: "a sleeper sleeps beside a wake-up", file: "internal/xsync/sleep/sleeper.go", in: "../xsync/sleep",
		from: "} else if s.word.CompareAndSwap(0, asleep) {",
		to:   "} else if s.word.Swap(asleep) != asleep {",
	},
	{
		name: "a second wake-up takes the place of the first", file: "internal/xsync/sleep/sleeper.go", in: "../xsync/sleep",
		from: "s.word.CompareAndSwap(v, v|uintptr(w))",
		to:   "s.word.CompareAndSwap(v, uintptr(w))",
	},
	{
		name: "a sleeper that gives up forgets the waker", file: "internal/xsync/sleep/sleeper.go", in: "../xsync/sleep",
		from: "\t\ts.room.Receive() // A waker",
		to:   "\t\t// A waker",
	},
	{
		name: "a nudge comes after the wait", file: "internal/xsync/sleep/sleeper.go", in: "../xsync/sleep",
		from: "\tif !s.timer.Stop() {\n",
		to:   "\tif !s.timer.Stop() && false {\n",
	},
	{
		name: "a waiter unlocks before it is in the line", file: "sync/cond.go", in: "../../sync", test: "TestModelCond",
		from: "\tp := waiting.GetParker(waiting.Limit{})\n\tc.enter(p)\n\tc.unlock(p)\n",
		to:   "\tp := waiting.GetParker(waiting.Limit{})\n\tc.unlock(p)\n\tc.enter(p)\n",
	},
	{
		name: "a waiter that gives up forgets the signal", file: "sync/cond.go", in: "../../sync", test: "TestModelCond",
		from: "\tif by == bySignal {\n",
		to:   "\tif false {\n",
	},
	{
		name: "a broadcast is passed on", file: "sync/cond.go", in: "../../sync", test: "TestModelCond",
		from: "\tif by == bySignal {\n",
		to:   "\tif true {\n",
	},
	{
		name: "a signal is passed on to one who came later", file: "sync/cond.go", in: "../../sync", test: "TestModelCond",
		from: "\tif c.reach == nil {\n",
		to:   "\tif c.line.Front() == nil {\n",
	},
	{
		name: "who gives up takes the reach of a signal with it", file: "sync/cond.go", in: "../../sync", test: "TestModelCond",
		from: "\t\tc.reach = before\n",
		to:   "\t\t_, c.reach = before, nil\n",
	},
	{
		name: "a signal wakes the newest", file: "sync/cond.go", in: "../../sync", test: "TestModelCondHistories",
		from: "\tc.line.PushBack(&p.Waiter)\n",
		to:   "\tc.line.PushFront(&p.Waiter)\n",
	},
	{
		name: "a wait group wakes those who wait for the next round", file: "sync/waitgroup.go",
		in: "../../sync", test: "TestModelWaitGroup",
		from: "\tif wg.state.Load()>>counterShift == 0 { // invariant 3\n",
		to:   "\tif true {\n",
	},
	{
		name: "a waiter that gives up stays counted", file: "sync/waitgroup.go", in: "../../sync", test: "TestModelWaitGroup",
		from: "\t\tl.wg.state.Add(-1)\n",
		to:   "",
	},
	{
		name: "a waiter enters beside a counter of zero", file: "sync/waitgroup.go",
		in: "../../sync", test: "TestModelWaitGroup",
		from: "\t\tif state>>counterShift == 0 {\n",
		to:   "\t\tif false {\n",
	},
	{
		name: "a wait does not wait for the last task", file: "sync/waitgroup.go",
		in: "../../sync", test: "TestModelWaitGroupHistories",
		from: "\t\tif state>>counterShift == 0 {\n",
		to:   "\t\tif state>>counterShift <= 1 {\n",
	},
	{
		name: "an arrival at the gate does not say that it waits", file: "sync/gate.go", in: "../../sync", test: "TestModelGate",
		from: "!g.state.CompareAndSwap(gateClosed, gateWaiting) {\n",
		to:   "g.state.Load() != gateClosed {\n",
	},
	{
		name: "the first of the line is admitted beside another", file: "sync/gate.go", in: "../../sync", test: "TestModelGate",
		from: "\tcase l.Next(s) == nil:\n\t\tg.state.Store(gateClosed)\n",
		to:   "\tcase l.Next(s) == nil:\n\t\tg.state.Store(gateOpen)\n",
	},
	{
		name: "one that gives up leaves the gate as it was", file: "sync/gate.go", in: "../../sync", test: "TestModelGate",
		from: "\tif l.First() == nil {\n",
		to:   "\tif false {\n",
	},
	{
		name: "an admission that comes too late is kept", file: "sync/gate.go", in: "../../sync", test: "TestModelGate",
		from: "\tp.lock.gateOf().open(p.lock)\n",
		to:   "",
	},
	{
		name: "the last place of the lane is not the last", file: "sync/mutex.go", in: "../../sync", test: "TestModelBypass",
		from: "if uint16(m.used) >= Express ||",
		to:   "if",
	},
	{
		name: "a future that gives up mistakes the line", file: "sync/gate.go", in: "../../sync", test: "TestModelFuturesOfMutex",
		from: "\tif !l.Holds(s) {\n\t\treturn false\n\t}\n\tl.Remove(s)\n",
		to:   "\tif !l.Remove(s) {\n\t\treturn false\n\t}\n",
	},
	{
		name: "a reader that has come in vain wakes nobody", file: "sync/rwmutex.go", in: "../../sync", test: "TestModelRWMutex",
		from: "\tif w&rwSleeping != 0 {\n\t\tl.wakeAdmitted()\n",
		to:   "\tif w&rwSleeping != 0 && w&rwLane == 0 {\n\t\tl.wakeAdmitted()\n",
	},
	{
		name: "a reader that has come in vain returns its place", file: "sync/rwmutex.go",
		in: "../../sync", test: "TestModelRWBypass",
		from: "\t\tl.drop(rwReader) // it has come in vain\n",
		to:   "\t\tl.word.Add(-rwPlace)\n\t\tl.drop(rwReader)\n",
	},
	{
		name: "each reader that comes in vain uses a place", file: "sync/rwmutex.go",
		in: "../../sync", test: "TestModelRWPlacesInVainAreFew",
		from: "\t\thadPlace := seen < 2*rwTooFar && int64(seen)&rwLane < rwFull",
		to:   "\t\thadPlace := seen < 2*rwTooFar",
	},
	{
		name: "a last place ends the observation", file: "sync/mutex.go", in: "../../sync", test: "TestModelObservedMutex",
		from: "\t\treturn w&observing | full\n",
		to:   "\t\treturn full\n",
	},
	{
		name: "a mutex that is handed over is observed no more", file: "sync/mutex.go",
		in: "../../sync", test: "TestModelObservedMutex",
		from: "m.word.CompareAndSwap(w, w&observing|parking.Locked|admitted)",
		to:   "m.word.CompareAndSwap(w, parking.Locked|admitted)",
	},
	{
		name: "a renewed lane is observed no more", file: "sync/rwmutex.go", in: "../../sync", test: "TestModelObservedRWMutex",
		from: "free&^(rwButReaders-rwObserved-rwCrowded)",
		to:   "free&^(rwButReaders-rwCrowded)",
	},
	{
		name: "a lane that is renewed does not count any more", file: "sync/rwmutex.go", in: "../../sync", test: "TestModelRWBypass",
		from: "free&^(rwButReaders-rwObserved-rwCrowded)",
		to:   "free&^(rwButReaders-rwObserved)",
	},
	{
		name: "the admitted one sleeps and the lane does not count", file: "sync/rwmutex.go", in: "../../sync", test: "TestModelRWBypass",
		from: "w|rwSleeping|rwCrowded)",
		to:   "w|rwSleeping)",
	},
	{
		name: "one who joins the line does not make the lane count", file: "sync/gate.go", in: "../../sync", test: "TestModelRWBypass",
		from: "\tlock.setCrowded(true)\n",
		to:   "",
	},
	{
		name: "one who joins and gives up beside an opening leaves the lock crowded", file: "sync/gate.go",
		in: "../../sync", test: "TestModelRWMutex",
		from: "if !lock.isCrowded() || !g.tryPass() {",
		to:   "if true {",
	},
	{
		name: "a reader in line is let in beside a writer", file: "sync/rwmutex.go", in: "../../sync", test: "TestModelRWMutex",
		from: "if !isAvailable(w, rwReader) || w&rwBubbled != 0 {",
		to:   "if w&rwBubbled != 0 {",
	},
	{
		name: "one who was let in and gives up keeps the lock", file: "sync/gate.go", in: "../../sync", test: "TestModelRWMutex",
		from: "\t\treturn p.lock.giveBack(rwReader)\n",
		to:   "\t\treturn true\n",
	},
	{
		name: "a bit that changes is taken for an arrival", file: "sync/rwmutex.go",
		in: "../../sync", test: "TestModelObservedRWMutex",
		from: "|| l.unlockAndWake(w, 0) {\n",
		to:   "|| l.unlockAndWake(w, 0) || true {\n",
	},
	{
		name: "h: a request that is larger than the size waits", file: "internal/engine/engine.go",
		from: "if w.N > e.Size() {",
		to:   "if false {",
	},
	{
		name: "a grant under the lock drops O", file: "internal/engine/engine.go", test: "TestModelObserve",
		from: "\te.word.Store(int64(o))\n",
		to:   "\te.word.Store(int64(o &^ flagObserved))\n",
	},
	{
		name: "a request that queues drops O", file: "internal/engine/engine.go", test: "TestModelObserve",
		from: "int64(o|flagWaiters)) {",
		to:   "int64(o&^flagObserved|flagWaiters)) {",
	},
	{
		name: "O is set beside a grant under the lock", file: "internal/engine/engine.go", test: "TestModelObserve",
		from: "\te.mu.Lock()\n\tdefer e.mu.Unlock()\n\tif on {\n",
		to:   "\tif on {\n",
	},
	{
		name: "O is set by a store", file: "internal/engine/engine.go", test: "TestModelObserve",
		from: "\t\te.word.Or(flagObserved)\n",
		to:   "\t\te.word.Store(int64(e.Look() | flagObserved))\n",
	},
	{
		name: "a try trusts that it is not observed", file: "internal/engine/engine.go", test: "TestModelObserve",
		from: "\t\tif o&(flagWaiters|flagClosed) != 0 || e.free(o) < n {\n",
		to:   "\t\tif o&flags != 0 || e.free(o) < n {\n",
	},
	{
		name: "the bias comes back beside O", file: "internal/engine/bias.go", test: "TestModelObserveRW",
		from: "\tif o&flags == 0 && !o.isBiased() &&",
		to:   "\tif o&(flagWaiters|flagClosed) == 0 && !o.isBiased() &&",
	},
	{
		name: "an arrival that let readers run keeps what it got after its context had ended",
		file: "internal/engine/rw.go", in: "../../sync/rwlock", test: "TestModelHistories",
		from: "\t\tif l.letReadersRun(n) {\n\t\t\treturn waiting.KeepUntil(until, l, n)\n",
		to:   "\t\tif l.letReadersRun(n) {\n\t\t\treturn nil\n",
	},
	{
		name: "an observed lock stays biased", file: "internal/engine/rw.go", test: "TestModelObserveRW",
		from: "\tif on && l.MayHide() {",
		to:   "\tif false {",
	},
	{
		name: "a key is freed although another waits for it", file: "sync/keyed/lines.go",
		in: "../../sync/keyed", test: "TestModelKeyIsFreedAsTheNextComes",
		from: "\te.serve(size, wake)\n\tif e.held == 0 {",
		to:   "\tif e.held > 0 {\n\t\te.serve(size, wake)\n\t}\n\tif e.held == 0 {",
	},
	{
		name: "a waiter enters the line of a key that was freed meanwhile", file: "sync/keyed/lines.go",
		in: "../../sync/keyed", test: "TestModelKeyIsFreedAsTheNextComes",
		from: "\tok := s.take(r.hash, r.key, r.n, r.most)\n",
		to: `	ok := false
	if at := s.find(r.hash, r.key); *at == nil {
		s.insert(at, r.hash, r.key, 0)
	}
`,
	},
	{
		name: "the keys are locked in the order in which they are named", file: "sync/keyed/all.go",
		in: "../../sync/keyed", test: "TestModelAll",
		from: "\tslices.SortFunc(b.requests, func(x, y member[K]) int { return cmp.Compare(x.hash, y.hash) })\n",
		to:   "\t_ = cmp.Compare[uint64]\n",
	},
	{
		name: "who gives up keeps the keys that it has got", file: "sync/keyed/all.go",
		in: "../../sync/keyed", test: "TestModelAll",
		from: "\t\t\twaiting.GiveBack(m.request, m.n)\n",
		to:   "",
	},
	{
		name: "a permit that two end at once is released twice", file: "limit/permit.go",
		in: "../../limit", test: "TestModelPermitsEndOnce",
		from: "\tif p == nil || !p.ended.CompareAndSwap(0, 1) {",
		to:   "\tended := p.ended.Load() == 1\n\tp.ended.Store(1)\n\tif ended {",
	},
	{
		name: "permits come back before their request is out of flight", file: "limit/permit.go",
		in: "../../limit", test: "TestModelInFlightIsHeld",
		from: "\tp.l.inFlight.Add(-p.n) // first: invariant 6\n\tp.giveBack()\n",
		to:   "\tp.giveBack()\n\tp.l.inFlight.Add(-p.n)\n",
	},
	{
		name: "two goroutines update a limit at a time", file: "limit/limiter.go",
		in: "../../limit", test: "TestModelTheSizeIsTheLastLimit",
		from: "\tif l.updating || !l.w.full(now) {",
		to:   "\tif !l.w.full(now) {",
	},
	{
		name: "a row is made beside the end of the observation, and stays", file: "runtime/observe.go",
		in: "../../runtime", test: "TestModelObserved",
		from: "\t\t\tt.letGo(r)\n",
		to:   "",
	},
	{
		name: "a task that is refused keeps its row", file: "runtime/executor.go",
		in: "../../runtime", test: "TestModelObserved",
		from: "\t\tif r != nil {\n\t\t\tt.row.Store(nil)\n\t\t}\n",
		to:   "",
	},
	{
		name: "a task is listed beside the end of the observation, and keeps its row", file: "runtime/executor.go",
		in: "../../runtime", test: "TestModelObserved",
		from: "\tif r != nil {\n\t\tt.letGo(r)\n\t}\n",
		to:   "",
	},
	{
		name: "a worker is taken for the task that has panicked", file: "runtime/worker.go",
		in: "../../runtime", test: "TestModelObserved",
		from: "\tif w.attendance.row != nil || ex.watch != nil {",
		to:   "\tif ex.attended.Load() {",
	},
	{
		name: "a coroutine has the number of a row that is gone", file: "runtime/observe.go",
		in: "../../runtime", test: "TestModelObserved",
		from: "\t\tc.seat = takeSeat()\n\t}\n\tc.seat.task",
		to:   "\t\tc.seat = takeSeat()\n\t} else {\n\t\treturn\n\t}\n\tc.seat.task",
	},
	{
		name: "a look loses a wake", file: "runtime/dump.go", in: "../../runtime", test: "TestModelObserved",
		from: "\t\twoken := !t.state.CompareAndSwap(taskAlive|1, taskAlive)\n",
		to:   "\t\tt.state.Store(taskAlive)\n\t\twoken := false\n",
	},
	{
		name: "o: a newcomer asks twice whether one is staged", file: "internal/engine/ordered.go", test: anyOrdered,
		from: "\tif staged := e.stagedLocked() || e.stageLocked(e.Look(), wake); !staged {\n",
		to:   "\te.stageLocked(e.Look(), wake)\n\tif !e.stagedLocked() {\n",
	},
	{
		name: "o: two are staged", file: "internal/engine/ordered.go", test: anyOrdered,
		from: "\tif !e.ordered() || e.stagedLocked() {\n",
		to:   "\tif !e.ordered() {\n",
	},
	{
		name: "o: one is staged in the slot beside a debt", file: "internal/engine/ordered.go", test: anyOrdered,
		from: "\tcase w.N == 1 && e.free(o) == 0:\n",
		to:   "\tcase w.N == 1:\n",
	},
	{
		name: "o: one that is staged while permits are free is left there", file: "internal/engine/engine.go",
		test: anyOrdered,
		from: "\t\tif !e.stageLocked(o, wake) {\n",
		to:   "\t\tif !e.stageLocked(o, wake) || e.free(o) > 0 {\n",
	},
	{
		name: "o: W is cleared beside those in the order", file: "internal/engine/engine.go", test: anyOrdered,
		from: "\tif !e.waitsLocked() {\n",
		to:   "\tif !e.stagedLocked() {\n",
	},
	{
		name: "o: who gives up stays in the order", file: "internal/engine/ordered.go", test: anyOrdered,
		from: "l.ticket != nil && l.Opts.Order.Remove(l.ticket, w) || l.unlinkLocked(w, &wake)",
		to:   "l.unlinkLocked(w, &wake)",
	},
	{
		name: "o: what has become too large stays in the order", file: "internal/engine/engine.go", test: anyOrdered,
		from: "\t\te.Opts.Order.Reject(size, wake)\n",
		to:   "",
	},
	{
		name: "o: who is in the order does not learn of Close", file: "internal/engine/engine.go", test: anyOrdered,
		from: "\t\te.Opts.Order.Drain(waiting.Closed, &wake)\n",
		to:   "\t\t_ = wake\n",
	},
	{
		name: "o: first-in-first-out", file: "internal/order/order.go", test: anyOrdered,
		from: "\tif o.Divided() {\n\t\treturn tenant\n",
		to:   "\tif o.Divided() && o.config.Classes > 0 {\n\t\treturn tenant\n",
	},
	{
		name: "o: classes do not age", file: "internal/order/priorities.go", test: anyOrdered,
		from: "aged := (c.served - h.served) / c.aging; aged",
		to:   "aged := (c.served - h.served) / c.aging * 0; aged",
	},
}

// anyOrdered are the scenarios of ordered engines.
const anyOrdered = "(TestModelOrdered|TestModelLeaving)"

// It is quick, and its name has every run of the explorer include it.
func TestPlantedDefectsStillFitTheModelledCode(t *testing.T) {
	for _, p := range planted {
		text, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(p.file)))
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), p.from), "the place of %q", p.name)
	}
}

func TestPlantedDefectsAreFound(t *testing.T) {
	if os.Getenv("PLANTED") == "" {
		t.Skip("a nightly step of its own, which reads all packages that have a defect planted")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			original := filepath.Join(root, filepath.FromSlash(p.file))
			text, err := os.ReadFile(original)
			require.NoError(t, err)
			dir := t.TempDir()
			changed := filepath.Join(dir, "changed.go")
			require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(text), p.from, p.to, 1)), 0o600))
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))

			args := []string{
				"test", "-vet=off", "-count=1", "-failfast", "-timeout", "2m", "-tags", "interleave", "-short",
				"-overlay", filepath.Join(dir, "overlay.json"), "-run", "^" + cmp.Or(p.test, "TestModel") + "$",
			}
			if p.race {
				args = append(args, "-run", "^TestModel$/^future$", "-race") // the race tier is slow
			}
			c := exec.Command("go", append(args, cmp.Or(p.in, "."))...)
			c.Env = append(os.Environ(), "INTERLEAVE_TABLE=")
			out, err := c.CombinedOutput()
			require.True(t, err != nil, "not found:\n%s", out)
			found := verdict.FindString(string(out))
			require.NotZero(t, len(found), "it failed otherwise:\n%s", out)
			t.Log(strings.Join(strings.Fields(found), " "))
		})
	}
}

// verdict is what a failed exploration says: the scenario and what was wrong.
var verdict = regexp.MustCompile(`--- FAIL: TestModel\w*/\S+ \(.*\)\n.*(assertion|deadlock|panic|no end|data race): .*`)
