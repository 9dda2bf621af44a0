//go:build interleave

package sync

import (
	"fmt"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/parking"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/internal/waiting"
)

// The tie between a Mutex and its table: conform_model_test.go says how it works.

type mutexTie struct{ *proof.MutexTable }

func mutexOf(c *conformance) *Mutex { return c.lock.(*Mutex) }

// calls returns what is called in the state s.
func (k mutexTie) calls(s *proof.State) (calls []call) {
	add := func(c call) { c.tells = -1; calls = append(calls, c) }
	observed := s.Is(k.O)
	if !observed {
		add(call{name: "Lock", place: proof.MutexLock, own: mine, run: func(c *conformance) bool { mutexOf(c).Lock(); return true }})
	}
	add(call{name: "acquire", place: proof.SpinLook, own: mine, result: true, seen: true, ends: true, run: func(c *conformance) bool {
		return mutexOf(c).acquire(c.limit(), rwWriter) == nil
	}})
	add(call{name: "try", place: proof.TryLook, own: mine, result: true, seen: true, run: func(c *conformance) bool {
		return mutexOf(c).try(rwWriter, false)
	}})
	add(call{name: "start", place: proof.SpinLook, own: mine, result: true, seen: true, run: (*conformance).start})
	if s.Get(k.H) == int(proof.HoldIn) {
		if !observed {
			add(call{name: "Unlock", place: proof.HoldFast, own: -1, run: func(c *conformance) bool { mutexOf(c).Unlock(); return true }})
		}
		add(call{name: "unlock", place: proof.HoldSlow, own: -1, result: true, seen: true, run: func(c *conformance) bool {
			return mutexOf(c).unlock()
		}})
	}
	adm := s.Get(k.Adm)
	future := s.GetAt(k.Fut, adm) == 1
	switch int64(s.Get(k.At)) {
	case proof.AdmLoad:
		if !future {
			add(call{name: "compete", place: proof.AdmLoad, own: adm, result: true, seen: true, ends: true, run: func(c *conformance) bool {
				return mutexOf(c).compete(c.limit(), true) == nil
			}})
		}
	case proof.AdmClaimed:
		if future {
			add(call{name: "Wake", place: proof.TellNext, own: -1, seen: true, run: func(c *conformance) bool {
				return c.nodes[adm].queues().Deliver(waiting.Granted)
			}})
		}
	case proof.AdmOpen:
		add(call{name: "open", place: proof.AdmOpen, own: -1, seen: true, run: func(c *conformance) bool {
			c.lock.gateOf().open(c.lock)
			return true
		}})
	}
	for x := range others {
		if s.GetAt(k.Fut, x) == 1 && s.GetAt(k.Left, x) == 0 && !k.starts(s, x) {
			add(call{name: "Release", place: proof.CancelLook, own: x, result: true, seen: true, run: func(c *conformance) bool {
				c.nodes[x].f.Release()
				return true
			}})
		}
	}
	return calls
}

// starts reports whether the owner of future x is starting it.
func (k mutexTie) starts(s *proof.State, x int) bool {
	at, got := int64(s.Get(k.At)), s.Get(k.H) == int(proof.HoldGot)
	if got && s.Is(k.HF) && s.Get(k.Hn) == x {
		return true
	}
	if s.Get(k.Adm) != x || s.Is(k.By) {
		return false
	}
	return at == proof.AdmLoad || at == proof.AdmCas || at == proof.AdmPark || at == proof.AdmHeld && got
}

func (k mutexTie) want(s *proof.State, x int) want {
	at := int64(s.Get(k.At))
	admitted := s.Get(k.Adm) == x && (at >= proof.AdmLoad && at <= proof.AdmPass ||
		at == proof.AdmHeld && (s.Get(k.H) == int(proof.HoldHand) || s.Get(k.H) == int(proof.HoldGive) ||
			s.Get(k.H) == int(proof.HoldGot)))
	switch {
	case s.GetAt(k.Left, x) == 1:
		return abandoned
	case s.Is(k.HF) && s.Get(k.Hn) == x:
		return complete
	case s.GetAt(k.In, x) == 1, admitted:
		return armed
	}
	return idle
}

func (k mutexTie) letIn(*proof.State, int) (in, woken bool) { return false, false }

func (k mutexTie) create(c *conformance) admitting { return &Mutex{lane: c.lane} }

func (k mutexTie) hold(*proof.State, int) int64 { return rwWriter }

func (k mutexTie) real(*proof.State) bool { return true }

func (k mutexTie) begins(*conformance, *proof.State) {}

func (k mutexTie) others(*conformance, *proof.Move) bool { return true }

// word is the word of s.
func (k mutexTie) word(s *proof.State) uint32 {
	w := [...]uint32{parking.Unlocked, parking.Locked, sleeping}[s.Get(k.LK)]
	for v, bit := range map[*proof.Var]uint32{k.A: admitted, k.F: full, k.O: observing} {
		if s.Is(v) {
			w |= bit
		}
	}
	return w
}

func (k mutexTie) put(c *conformance, old, s *proof.State) {
	m := mutexOf(c)
	m.word.Store(k.word(s))
	if old.Get(k.Used) != s.Get(k.Used) {
		m.used = uint32(s.Get(k.Used))
	}
}

func (k mutexTie) agrees(c *conformance, s *proof.State) bool {
	m := mutexOf(c)
	return m.word.Load() == k.word(s) && int(uint16(m.used)) == s.Get(k.Used)
}

func (k mutexTie) describe(c *conformance) string {
	m := mutexOf(c)
	return fmt.Sprintf("word %b, used %d", m.word.Load(), m.used)
}

func (k mutexTie) access(c *conformance, on unsafe.Pointer) (read, write proof.Access, ok bool) {
	return proof.WordRead, proof.WordWrite, on == unsafe.Pointer(&mutexOf(c).word)
}

func (k mutexTie) note(c *conformance, s *proof.State) {
	s.Set(k.Tm, min(int(uint16(mutexOf(c).used)), Express-1))
}

// opens says that the gate is about to open. It may be passed again before one that is about to
// queue looks: that takes two moves.
func (k mutexTie) opens(s *proof.State) bool {
	return s.Get(k.At) == int(proof.AdmOpen) && s.Get(k.G) == proof.GateClosed && s.Get(k.H) == int(proof.HoldIn)
}

// late says that a TryLock passes the gate, after which it may come too late.
func (k mutexTie) late(s *proof.State) bool { return s.Is(k.F) && s.Get(k.G) == proof.GateOpen }

// TestModelConforms compares the code with its table, from every state that the table reaches with
// two requests.
func TestModelConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	table := proof.Mutex()
	table.Forget()
	s := mutexTie{table}
	k := newTie(t, table.GateTable, s)
	n, twice := 0, false
	for futures := range 3 {
		reach := proof.NewMachine(table.Table, others)
		first := table.First(Express, others, 1<<futures-1)
		states := reach.Reach([]proof.State{first}, 1_000_000, func(*proof.Step) bool { return true }).Met
		for i := range states {
			if states[i].Get(table.PC) != int(proof.BucketFree) {
				continue
			}
			from := &states[i]
			n++
			for _, call := range s.calls(from) {
				lane := lanesBefore[n%len(lanesBefore)]
				switch {
				case !twice && s.opens(from) && call.name == "acquire" && !testing.Short():
					twice = true
					k.check(from, call, lane, 2)
				case s.late(from) && call.name == "try":
					k.check(from, call, lane, 1)
				case n%stride() != 0, call.name == "acquire" && n%(3*stride()) != 0:
				default:
					k.check(from, call, lane, 1)
				}
			}
		}
	}
	t.Log(n, "states", k.runs, "runs")
	if !testing.Short() {
		require.Empty(require.GoOn(t), table.NotMade(k.taken), "steps that the code never makes")
	}
}
