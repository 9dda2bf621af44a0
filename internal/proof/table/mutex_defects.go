package table

import (
	"slices"
	"strings"
)

// A mutexStart is where a bounded run begins: Express, how many requests there may be, and which of
// them are futures.
type mutexStart struct {
	express, nodes, futures int
	without                 []string // how the names begin of steps that the run does not need
}

// First is the first state.
func (t *MutexTable) First(express, nodes, futures int) (s State) {
	s.Set(t.H, int(HoldNone))
	s.Set(t.At, int(AdmNone))
	s.Set(t.E, express)
	s.Set(t.Tail, 1)
	for x := range nodes {
		s.SetAt(t.Fut, x, futures>>x&1)
	}
	return s
}

// defects plants what a hurried change might do.
func (t *MutexTable) defects() {
	unobserved := []string{"observe"}
	two := mutexStart{express: 1, nodes: 2, without: unobserved}
	three := mutexStart{express: 1, nodes: 3, without: []string{"observe", "try", "leave", "gone", "spin", "Unlock", "sleep"}}
	future := mutexStart{express: 1, nodes: 2, futures: 1, without: unobserved}
	seen := mutexStart{express: 1, nodes: 1}
	for _, d := range []struct {
		name    string
		reaches bool
		start   mutexStart
		plant   func(t *MutexTable)
	}{
		{"an arrival says waiting without a comparison", true, two, func(t *MutexTable) {
			t.Step("queue.mark").Guard = True
			t.Step("queue.not").Guard = Is(false)
		}},
		{"who opens the gate does not compare", true, two, func(t *MutexTable) {
			t.Step("open").Guard = t.adm(AdmOpen)
			t.Step("open.not").Guard = Is(false)
		}},
		{"the last in line gives up, and the gate still says waiting", true, two, func(t *MutexTable) {
			t.change("leave.last", t.PC.Set(Num(XEnd)))
		}},
		{"the gate still says waiting when the last is admitted", true, two, func(t *MutexTable) { t.drop("open.last", t.G) }},
		{"the admitted gives up in front of the lock, and does not open the gate", true, two, func(t *MutexTable) {
			t.change("leave.open", t.At.Set(Num(AdmNone)))
		}},
		{"an admission that came too late is not passed on", true, two, func(t *MutexTable) {
			t.change("gone.go", t.At.Set(Num(AdmNone)))
		}},
		{"the admitted does not look again before it sleeps", true, two, func(t *MutexTable) {
			t.change("sleep.not", t.PC.Set(Num(KInsert)))
		}},
		{"an unlock does not wake the admitted", true, two, func(t *MutexTable) {
			t.Step("unlock.express").Guard = And(t.holds(HoldCas), Not(t.TA.V()), t.same())
		}},
		{"an unlock does not compare", true, two, func(t *MutexTable) {
			t.Step("unlock.express").Guard = And(t.holds(HoldCas), Eq(t.Tlk.V(), Num(LockLocked)), Not(t.TA.V()))
			t.Domains[0] = Domain{Var: t.Tlk, Values: []int{LockLocked}} // what was read is not what is there
		}},
		{"who wakes looks only once whether one sleeps", true, two, func(t *MutexTable) {
			t.Step("wake.none").Guard = True
		}},
		{"a waker leaves the admitted in its line", true, two, func(t *MutexTable) { t.drop("wake.take", t.At) }},
		{"the end of the lane does not set full", true, two, func(t *MutexTable) {
			for _, s := range []string{"unlock.express", "wake.free", "wake.free goroutine"} {
				t.change(s, t.F.Set(Is(false)))
			}
		}},
		{"a newcomer takes the lane though it is full", true, two, func(t *MutexTable) {
			t.Step("spin.take").Guard = And(Eq(t.Tlk.V(), Num(LockFree)), Not(t.TA.V()), t.same())
		}},
		{"a newcomer passes the gate while others wait", true, two, func(t *MutexTable) { t.Step("pass").Guard = t.fresh(t.Tw.V()) }},
		{"the admitted's unlock leaves the lane full", true, two, func(t *MutexTable) { t.drop("unlock.admitted", t.F) }},
		{"the admitted does not renew the lane", false, two, func(t *MutexTable) { t.drop("renew", t.Used) }},
		{"the newest is admitted", true, three, func(t *MutexTable) {
			t.Step("open.take").Guard = And(t.In.At(t.Tx.V()), t.each(t.inLine, func(y *Expr) *Expr {
				return LessEq(t.Pos.At(y), t.Pos.At(t.Tx.V()))
			}))
		}},
		{"TryLock that comes too late keeps the admission", true, two, func(t *MutexTable) {
			t.Domains[3] = Domain{Var: t.TO, Values: []int{0, 1}}
			t.change("try.late", t.At.Set(Num(AdmNone)))
		}},
		{"an unlock forgets that the mutex is observed", true, seen, func(t *MutexTable) {
			t.Step("unlock.express").Do = append(slices.Clone(t.Step("unlock.express").Do), t.O.Set(Is(false)))
		}},
		{"a claimer does not ask whether the future was abandoned", true, future, func(t *MutexTable) {
			t.Step("sleep.left").Guard = Is(false)
			t.Step("sleep.here").Guard = True
		}},
		{"a mutex that was taken for an abandoned future is not unlocked", true, future, func(t *MutexTable) {
			t.change("give.refused", t.H.Set(Num(HoldIn)))
		}},
		{"a future is handed a mutex that is free", true, future, func(t *MutexTable) { t.change("wake.hand", t.LK.Set(Num(LockFree))) }},
		{"a future that gives up in front of the lock does not open the gate", true, future, func(t *MutexTable) {
			t.change("leave.front", t.PC.Set(Num(XEnd)))
			t.change("leave.front", t.At.Set(Num(AdmNone)))
		}},
		{"a future that was completed is abandoned", true, future, func(t *MutexTable) {
			s := t.Step("leave.abandon")
			s.Guard = Or(s.Guard, t.Step("leave.complete").Guard)
		}},
	} {
		t.Defects = append(t.Defects, &Defect{
			Name: d.name, Reaches: d.reaches, States: 20_000,
			make: func() *Table {
				t := bareMutex()
				d.plant(t)
				t.finish()
				return t.Table
			},
			start: func(x *Table) (*Machine, []State) {
				return NewMachine(x, d.start.nodes), []State{t.First(d.start.express, d.start.nodes, d.start.futures)}
			},
			may: func(s *Step) bool {
				return !slices.ContainsFunc(d.start.without, func(name string) bool { return strings.HasPrefix(s.Name, name) })
			},
		})
	}
}
