//go:build interleave

package sync

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/internal/waiting"
)

// The tie between an RWMutex and its table: conform_model_test.go says how it works.

type rwMutexTie struct{ *proof.RWMutexTable }

func rwMutexOf(c *conformance) *RWMutex { return c.lock.(*RWMutex) }

// holdOf returns what the request of a reader wants, or of a writer.
func holdOf(reads bool) int64 {
	if reads {
		return rwReader
	}
	return rwWriter
}

// calls returns what is called in the state s.
func (k rwMutexTie) calls(s *proof.State) (calls []call) {
	add := func(c call) { c.tells = -1; calls = append(calls, c) }
	done := func(f func(l *RWMutex)) func(c *conformance) bool {
		return func(c *conformance) bool { f(rwMutexOf(c)); return true }
	}
	observed, adm := s.Is(k.O), s.Get(k.Adm)
	if !observed {
		add(call{name: "Lock", place: proof.MutexLock, own: mine, run: done((*RWMutex).Lock)})
		add(call{name: "RLock", place: proof.ReadLock, own: mine, reads: true, run: done((*RWMutex).RLock)})
	}
	for _, reads := range []bool{false, true} {
		hold := holdOf(reads)
		add(call{
			name: "acquire", place: proof.SpinLook, own: mine, reads: reads, result: true, seen: true, ends: true,
			run: func(c *conformance) bool { return rwMutexOf(c).acquire(c.limit(), hold) == nil },
		})
		add(call{
			name: "try", place: proof.TryLook, own: mine, reads: reads, result: true, seen: true,
			run: func(c *conformance) bool { return rwMutexOf(c).try(hold, false) },
		})
		add(call{name: "start", place: proof.SpinLook, own: mine, reads: reads, result: true, seen: true, run: (*conformance).start})
	}
	if s.Get(k.H) == int(proof.HoldIn) {
		if !observed {
			add(call{name: "Unlock", place: proof.HoldFast, own: -1, run: done((*RWMutex).Unlock)})
		}
		add(call{
			name: "unlock", place: proof.HoldSlow, own: -1, result: true, seen: true,
			run: func(c *conformance) bool { return rwMutexOf(c).unlock() },
		})
	}
	if !s.Is(k.X) {
		add(call{
			name: "unlock of nothing", place: proof.NotLocked, own: -1, result: true, alone: true,
			run: func(c *conformance) bool { return rwMutexOf(c).unlock() },
		})
	}
	if s.Get(k.Reading) > 0 {
		if !observed {
			add(call{name: "RUnlock", place: proof.ReadUnlock, own: -1, run: done((*RWMutex).RUnlock)})
		}
		add(call{
			name: "rUnlock", place: proof.ReadUnlock, own: -1, result: true, seen: true,
			run: func(c *conformance) bool { return rwMutexOf(c).rUnlock() },
		})
	}
	if s.Get(k.Rousing) > 0 {
		add(call{name: "wakeAdmitted", place: proof.RouseLook, own: -1, seen: true, run: done((*RWMutex).wakeAdmitted)})
	}
	calls = append(calls, k.admittedCalls(s, adm)...)
	for x := range others {
		if s.GetAt(k.Fut, x) == 1 && s.GetAt(k.Left, x) == 0 && !k.starts(s, x) {
			add(call{
				name: "Release", place: proof.CancelLook, own: x, result: true, seen: true,
				run: func(c *conformance) bool {
					c.nodes[x].f.Release()
					return true
				},
			})
		}
	}
	return calls
}

// admittedCalls returns what is called for the admitted.
func (k rwMutexTie) admittedCalls(s *proof.State, adm int) []call {
	future := s.GetAt(k.Fut, adm) == 1
	hold := holdOf(s.GetAt(k.Reader, adm) == 1)
	one := func(c call) []call { c.seen = true; return []call{c} }
	switch at := int64(s.Get(k.At)); {
	case at == proof.AdmLoad && !future:
		return one(call{name: "compete", place: at, own: adm, tells: -1, result: true, ends: true, run: func(c *conformance) bool {
			return rwMutexOf(c).compete(c.limit(), hold, true) == nil
		}})
	case at == proof.AdmClaimed && future:
		return one(call{name: "Wake", place: proof.TellNext, own: -1, tells: -1, run: func(c *conformance) bool {
			return c.nodes[adm].queues().Deliver(waiting.Granted)
		}})
	case at == proof.AdmOpen && s.Get(k.Op) != proof.OpActs:
		return one(call{name: "open", place: at, own: -1, tells: -1, run: func(c *conformance) bool {
			c.lock.gateOf().open(c.lock)
			return true
		}})
	case at == proof.AdmOpen:
		return one(call{name: "reopenAll", place: at, own: -1, tells: -1, run: func(c *conformance) bool {
			rwMutexOf(c).reopenAll()
			return true
		}})
	case at == proof.AdmClear && future:
		return one(call{name: "leave", place: at, own: -1, tells: -1, run: func(c *conformance) bool { c.lock.leave(); return true }})
	case at == proof.AdmEntered && s.Is(k.By):
		return one(call{name: "entered", place: at, own: -1, tells: adm, run: func(c *conformance) bool {
			c.lock.entered(rwReader, c.nodes[adm].waits())
			return true
		}})
	}
	return nil
}

// starts reports whether the owner of future x is starting it.
func (k rwMutexTie) starts(s *proof.State, x int) bool {
	at := int64(s.Get(k.At))
	return s.Get(k.Adm) == x && !s.Is(k.By) &&
		(at == proof.AdmLoad || at == proof.AdmCas || at == proof.AdmPark || at == proof.AdmEntered)
}

func (k rwMutexTie) want(s *proof.State, x int) want {
	at, let := int64(s.Get(k.At)), s.GetAt(k.Let, x)
	admitted := s.Get(k.Adm) == x && (at >= proof.AdmLoad && at <= proof.AdmPass ||
		at == proof.AdmHeld && (s.Get(k.H) == int(proof.HoldHand) || s.Get(k.H) == int(proof.HoldGive)))
	switch {
	case s.GetAt(k.Left, x) == 1:
		return abandoned
	case s.Is(k.HF) && s.Get(k.Hn) == x, let == proof.LetHas:
		return complete
	case s.GetAt(k.In, x) == 1, admitted, let == proof.LetGiving:
		return armed
	}
	return idle
}

func (k rwMutexTie) letIn(s *proof.State, x int) (in, woken bool) {
	switch s.GetAt(k.Let, x) {
	case proof.LetIn, proof.LetGiving:
		return true, false
	case proof.LetWoken:
		return true, true
	}
	return false, false
}

func (k rwMutexTie) create(c *conformance) admitting { return &RWMutex{lane: c.lane} }

func (k rwMutexTie) hold(s *proof.State, x int) int64 { return holdOf(s.GetAt(k.Reader, x) == 1) }

// begins makes the request of the call a reader's or a writer's. Others may be as many as they
// like.
func (k rwMutexTie) begins(c *conformance, s *proof.State) {
	s.SetAt(k.Reader, mine, 0)
	if c.call.reads {
		s.SetAt(k.Reader, mine, 1)
	}
	if s.Get(k.Op) == proof.OpActs && c.call.place == proof.AdmOpen {
		s.Set(k.TOpen, 1)
	}
	s.Set(k.Most, s.Get(k.Most)+3)
}

// others: the reader that the code is, and what it opens or tells, is the code's.
func (k rwMutexTie) others(c *conformance, v *proof.Move) bool {
	for i := range c.f.Members {
		m := &c.f.Members[i].State
		if m.Is(k.TOpen) && (v.From == proof.OpenedAll || v.Is(k.TOpen, 1)) {
			return false
		}
		counter := k.counts(m)
		if counter != nil && v.To.Get(counter) < 1 || !k.isReal(&v.To, counter == k.Reading) {
			return false
		}
	}
	if strings.HasPrefix(v.Name, "tell.in") || strings.HasPrefix(v.Name, "give.read later") {
		for x := range others {
			if v.Is(k.Tx, x) && c.tells[x] {
				return false
			}
		}
	}
	return true
}

func (k rwMutexTie) real(s *proof.State) bool { return k.isReal(s, false) }

// isReal reports whether there are as many readers in s as requests that read, and the code if it
// is one: the table knows their number, and not which of them leaves.
func (k rwMutexTie) isReal(s *proof.State, code bool) bool {
	readers := 0
	if code {
		readers++
	}
	if s.Get(k.At) == int(proof.AdmUngive) {
		readers++
	}
	for x := range others + 1 {
		if s.GetAt(k.Let, x) != proof.LetNone {
			readers++
		}
	}
	return readers <= s.Get(k.Reading)
}

// counts returns what counts the code where it is.
func (k rwMutexTie) counts(s *proof.State) *proof.Var {
	switch int64(s.Get(k.TPC)) {
	case proof.ReadUnlock:
		return k.Reading
	case proof.ReadBack:
		return k.Vain
	case proof.ReadPlace:
		return k.Placing
	case proof.RouseLook, proof.RouseLock:
		return k.Rousing
	case proof.MutexIn:
		switch int64(s.Get(k.PC)) {
		case proof.WLook, proof.WNone, proof.WGoroutine, proof.WFuture, proof.WLost:
			if !s.Is(k.Wh) {
				return k.Rousing
			}
		}
	}
	return nil
}

// word is the word of s.
func (k rwMutexTie) word(s *proof.State) int64 {
	w := int64(s.Get(k.Readers))*rwReader + int64(s.Get(k.Used))*rwPlace
	for v, bit := range map[*proof.Var]int64{
		k.X: rwWriter, k.A: rwAdmitted, k.Z: rwSleeping, k.C: rwCrowded, k.O: rwObserved,
	} {
		if s.Is(v) {
			w |= bit
		}
	}
	return w
}

func (k rwMutexTie) put(c *conformance, _, s *proof.State) {
	l := rwMutexOf(c)
	l.word.Store(k.word(s))
	l.opening.Store(uint32(s.Get(k.Opening)))
}

func (k rwMutexTie) agrees(c *conformance, s *proof.State) bool {
	l := rwMutexOf(c)
	return l.word.Load() == k.word(s) && int(l.opening.Load()) == s.Get(k.Opening)
}

func (k rwMutexTie) describe(c *conformance) string {
	l := rwMutexOf(c)
	return fmt.Sprintf("word %x, openings %d", l.word.Load(), l.opening.Load())
}

func (k rwMutexTie) access(c *conformance, on unsafe.Pointer) (read, write proof.Access, ok bool) {
	switch l := rwMutexOf(c); on {
	case unsafe.Pointer(&l.word):
		return proof.WordRead, proof.WordWrite, true
	case unsafe.Pointer(&l.opening):
		return proof.OpenRead, proof.OpenWrite, true
	}
	return 0, 0, false
}

func (k rwMutexTie) note(c *conformance, s *proof.State) {
	s.Set(k.Tm, min(int(rwMutexOf(c).word.Load()&rwLane/rwPlace), Express-1))
}

// shape is what of s may matter to a call of request own: the word, the lines, and what has become
// of the requests, but not where others are that do not tell.
func (k rwMutexTie) shape(s *proof.State, own int) string {
	var b strings.Builder
	for _, v := range []*proof.Var{k.X, k.A, k.Z, k.C, k.O, k.G, k.Opening, k.Op, k.Woken} {
		fmt.Fprintf(&b, "%d ", s.Get(v))
	}
	fmt.Fprint(&b, s.Get(k.Readers) > 0, s.Get(k.Used) >= Express, s.Get(k.Tail), " ")
	for x := range others {
		at := 0
		if s.Get(k.Adm) == x && (x == own || s.Get(k.At) == int(proof.AdmAsleep)) {
			at = s.Get(k.At)
		}
		fmt.Fprint(&b, s.GetAt(k.Let, x), s.GetAt(k.Pos, x), s.GetAt(k.Left, x), s.GetAt(k.Fut, x), s.GetAt(k.Reader, x), at, ";")
	}
	return b.String()
}

// A few are requests of others: which are futures, which are readers', and how many goroutines
// there may be.
type few struct{ most, futures, readers int }

// scope says how many states of each kind are looked for, of how many calls one is made beside
// others, and of how many one alone.
func scope() (states, beside, alone int) {
	switch {
	case os.Getenv("FARAD_STRESS") == "1":
		return 400_000, 1, 1
	case testing.Short():
		return 3_000, 67, 3
	default:
		return 40_000, 13, 1
	}
}

// rwScripts lead to what needs several moves of others. Each begins in the first state that is met
// of its kind.
var rwScripts = []struct {
	call   string
	reads  bool
	in     func(k rwMutexTie, s *proof.State) bool
	script []scene
}{
	// The last place is taken between the two additions of RLock.
	{"RLock", true, func(k rwMutexTie, s *proof.State) bool {
		return s.Is(k.C) && !s.Is(k.X) && s.Get(k.Used) == Express-1
	}, []scene{{"rlock-place", "RLock.crowded, RLock.place"}}},
	// The gate opens before one has joined the line, and is passed again.
	{"acquire", false, rwMutexTie.opensBesideAWriter, []scene{{"queue-swap", "open.look, open"}}},
	{"acquire", false, rwMutexTie.opensBesideAWriter, []scene{{"queue-swap", "open.look, open"}, {"queue-pass", "pass"}}},
	// An unlock finds the admitted one that is about to sleep, and has not joined the line.
	{"acquire", false, rwMutexTie.writes, []scene{{
		"park", "gives back, unlock.look, unlock.sleeping, wake.lock, wake.none, wake.free, wake.end",
	}}},
	// It wakes one that gives up.
	{"acquire", false, rwMutexTie.writes, []scene{{"waits", "end"}, {
		"give-up", "gives back, unlock.look, unlock.sleeping, wake.lock, wake.goroutine, wake.free goroutine, wake.take, wake.deliver, wake.tell",
	}}},
	// One joins the line as the gate is to be opened, and gives up or not.
	{"open", false, rwMutexTie.opens, []scene{{"opens-swap", joins}}},
	{"open", false, rwMutexTie.opens, []scene{{"opens-swap", joins + ", " + gives}}},
	{"open", false, rwMutexTie.opens, []scene{{"opens-swap", joins + ", " + gives}, {"opened-pass", "pass"}}},
}

const (
	joins = "queue.lock, queue.look, queue.mark, queue.crowd, queue.insert, queue.end"
	gives = "leave.lock, leave.last, leave.close, leave.end"
)

// writes says that a writer holds the lock, for which nobody waits.
func (k rwMutexTie) writes(s *proof.State) bool {
	return s.Get(k.H) == int(proof.HoldIn) && s.Get(k.G) == proof.GateOpen && !s.Is(k.A)
}

// opens says that the gate is about to be opened, and nobody waits.
func (k rwMutexTie) opens(s *proof.State) bool {
	closed := s.Get(k.At) == int(proof.AdmOpen) && s.Get(k.G) == proof.GateClosed
	return closed && !s.Is(k.C) && s.Get(k.Op) != proof.OpActs
}

func (k rwMutexTie) opensBesideAWriter(s *proof.State) bool { return k.opens(s) && s.Is(k.X) }

// play runs the scripts.
func (k rwMutexTie) play(t *tie, states []proof.State) {
	for _, p := range rwScripts {
		i := slices.IndexFunc(states, func(s proof.State) bool {
			return s.Get(k.PC) == int(proof.BucketFree) && k.real(&s) && p.in(k, &s)
		})
		require.GreaterOrEqual(t, i, 0, "no state for %v", p.script)
		calls := k.calls(&states[i])
		c := calls[slices.IndexFunc(calls, func(c call) bool { return c.name == p.call && c.reads == p.reads })]
		c.script = p.script
		t.check(&states[i], c, 0, 0)
	}
}

// TestModelRWMutexConforms compares the code with its table, from states of each shape that the
// table reaches with two requests.
func TestModelRWMutexConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	table := proof.RWMutex()
	table.Forget()
	s := rwMutexTie{table}
	k := newTie(t, table.GateTable, s)
	most, beside, alone := scope()
	met, n := 0, 0
	for _, w := range []few{
		{1, 0, 0}, {1, 0, 1}, {1, 0, 3}, {1, 1, 1}, {1, 2, 1}, {1, 1, 0}, {1, 3, 1}, {1, 3, 3}, {2, 0, 1}, {2, 3, 3},
	} {
		reach := proof.NewMachine(table.Table, others)
		first := table.First(Express, w.most, others, w.futures, w.readers)
		states := reach.Reach([]proof.State{first}, most, func(s *proof.Step) bool { return s.Name != "observe" }).Met
		met += len(states)
		if w == (few{2, 0, 1}) {
			s.play(k, states)
		}
		seen := map[string]bool{}
		for i := range states {
			from := &states[i]
			if from.Get(table.PC) != int(proof.BucketFree) || !s.real(from) {
				continue
			}
			for _, call := range s.calls(from) {
				shape := fmt.Sprint(call.name, call.reads, call.place, s.shape(from, call.own))
				if seen[shape] {
					continue
				}
				seen[shape] = true
				switch n++; {
				case n%beside == 0 && !call.alone:
					k.check(from, call, lanesBefore[n%len(lanesBefore)], 1)
				case n%alone == 0:
					k.check(from, call, lanesBefore[n%len(lanesBefore)], 0)
				}
			}
		}
	}
	t.Log(met, "states", n, "calls", k.runs, "runs")
	if !testing.Short() {
		require.Empty(require.GoOn(t), table.NotMade(k.taken), "steps that the code never makes")
	}
}
