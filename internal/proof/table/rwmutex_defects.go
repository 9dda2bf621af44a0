package table

import (
	"slices"
	"strings"
)

// A rwMutexStart is where a bounded run begins.
type rwMutexStart struct {
	express, most           int
	nodes, futures, readers int
	without                 []string // how the names begin of steps that the run does not need
}

// First is the first state: there may be so many goroutines, and some nodes are futures', or
// readers'.
func (t *RWMutexTable) First(express, most, nodes, futures, readers int) (s State) {
	s.Set(t.H, int(HoldNone))
	s.Set(t.At, int(AdmNone))
	s.Set(t.E, express)
	s.Set(t.Most, most)
	s.Set(t.Tail, 1)
	for x := range nodes {
		s.SetAt(t.Fut, x, futures>>x&1)
		s.SetAt(t.Reader, x, readers>>x&1)
	}
	return s
}

// defects plants what a hurried change might do.
func (t *RWMutexTable) defects() {
	unobserved := []string{"observe"}
	few := []string{"observe", "try", "leave", "gone", "cancel", "Lock", "Unlock", "unlock.express"}
	// Nodes are numbered by bits: a reader's is the first, if there is one.
	writer := rwMutexStart{express: 1, most: 2, nodes: 1, without: unobserved}
	reader := rwMutexStart{express: 1, most: 2, nodes: 1, readers: 1, without: unobserved}
	both := rwMutexStart{express: 1, most: 1, nodes: 2, readers: 1, without: unobserved}
	writers := rwMutexStart{express: 1, most: 1, nodes: 2, without: unobserved}
	three := rwMutexStart{express: 1, most: 1, nodes: 3, without: append([]string{"spin", "RLock"}, few...)}
	future := rwMutexStart{express: 1, most: 2, nodes: 1, futures: 1, readers: 1, without: unobserved}
	futures := rwMutexStart{express: 1, most: 2, nodes: 2, futures: 3, readers: 3, without: []string{"observe", "try"}}
	beside := rwMutexStart{express: 1, most: 1, nodes: 2, futures: 1, readers: 1, without: unobserved}
	writing := rwMutexStart{express: 1, most: 1, nodes: 1, futures: 1, without: unobserved}
	seen := rwMutexStart{express: 1, most: 1, nodes: 1}
	for _, d := range []struct {
		name    string
		reaches bool
		start   rwMutexStart
		plant   func(t *RWMutexTable)
	}{
		{"a writer looks at the lower half only", true, writer, func(t *RWMutexTable) {
			t.Step("Lock.look").Guard = And(Not(t.X.V()), Not(t.C.V()), Not(t.O.V()))
			t.Step("Lock.fast").Guard = And(Not(t.TX.V()), t.same(), Not(t.Reader.At(t.Tw.V())), Not(t.Fut.At(t.Tw.V())))
		}},
		{"a reader does not look for a writer", true, both, func(t *RWMutexTable) {
			t.Step("RLock.in").Guard = And(t.room(), Not(t.C.V()))
		}},
		{"a reader in line is let in beside a writer", true, both, func(t *RWMutexTable) {
			t.Step("let.look").Guard = True
			t.Step("let.in").Guard = And(t.same(), t.room())
		}},
		{"who lets a reader in does not compare", true, both, func(t *RWMutexTable) {
			t.Step("let.in").Guard = And(Not(t.TX.V()), t.room())
			t.Domains[0] = Domain{Var: t.TX, Values: []int{0}} // what was read is not what is there
		}},
		{"who lets readers in stops at the second", true, rwMutexStart{
			express: 1, most: 2, nodes: 2, readers: 3, without: few,
		}, func(t *RWMutexTable) { t.goes("let.take", Num(OSome)) }},
		{"the last reader that leaves wakes nobody", true, writer, func(t *RWMutexTable) { t.drop("RUnlock", t.Rousing) }},
		{"a reader that has come in vain wakes nobody", true, writer, func(t *RWMutexTable) { t.drop("RLock.back", t.Rousing) }},
		{"who has left gives up when it loses to another", true, writer, func(t *RWMutexTable) {
			t.also("wake.again", t.Rousing.Set(If(t.Wh.V(), t.Rousing.V(), Sub(t.Rousing.V(), Num(1)))))
			t.Domains[1] = Domain{Var: t.TA, Values: []int{0, 1}} // what was read is not what is there
		}},
		{"a writer that unlocks wakes nobody", true, writer, func(t *RWMutexTable) {
			t.Step("unlock.express").Guard = And(t.holds(HoldCas), t.TX.V(), Not(t.TA.V()), t.same())
		}},
		{"a reader sleeps beside readers", true, reader, func(t *RWMutexTable) {
			t.Step("attempt.sleep").Guard = And(t.adm(AdmCas), t.same(), Or(t.TX.V(), Less(Num(0), t.TReaders.V())))
		}},
		{"the admitted sleeps, and the lane does not count", true, writer, func(t *RWMutexTable) { t.drop("attempt.sleep", t.C) }},
		{"the line is joined, and the lane does not count", true, writers, func(t *RWMutexTable) { t.drop("queue.crowd", t.C) }},
		{"the lane counts no more when the gate is open already", true, writers, func(t *RWMutexTable) {
			t.goes("open.peek none", Num(OStore))
			t.goes("let.all", Num(OStore))
			t.goes("open.store", Num(OUncrowd))
			t.goes("open.uncrowd", Num(OEnd))
		}},
		{"who gives up leaves behind that it sleeps", true, writer, func(t *RWMutexTable) { t.drop("leave.clear", t.Z) }},
		{"a reader that has come in vain returns its place", true, writer, func(t *RWMutexTable) {
			t.also("RLock.back", t.Used.Set(Sub(t.Used.V(), Num(1))))
		}},
		{"each reader that comes in vain uses a place", true, writer, func(t *RWMutexTable) {
			t.Step("RLock.crowded").Guard = And(t.room(), Not(t.X.V()), t.C.V())
		}},
		{"a reader takes a place that there is not", true, writer, func(t *RWMutexTable) {
			t.Step("RLock.place").Guard = t.some(t.Placing)
			t.Step("RLock.crowded").Guard = And(t.room(), Not(t.X.V()), t.C.V())
		}},
		{"a newcomer takes the lane though it is full", true, both, func(t *RWMutexTable) {
			t.Step("spin.write").Guard = And(t.free(), t.same(), Not(t.Reader.At(t.Tw.V())), Not(t.Fut.At(t.Tw.V())))
		}},
		{"the newest is admitted", true, three, func(t *RWMutexTable) {
			t.Step("open.take").Guard = And(t.In.At(t.Tx.V()), t.each(t.inLine, func(y *Expr) *Expr {
				return LessEq(t.Pos.At(y), t.Pos.At(t.Tx.V()))
			}))
		}},
		{"the admitted's unlock does not clear its bit", true, writer, func(t *RWMutexTable) { t.drop("unlock.admitted", t.A) }},
		{"the lock is handed to a writer, and remains free", true, writing, func(t *RWMutexTable) {
			t.change("wake.hand", t.X.Set(Is(false)))
		}},
		{"the lock is handed to a reader, and a writer holds it still", true, beside, func(t *RWMutexTable) { t.drop("wake.read", t.X) }},
		{"who opens the gate does not look whether it is to do so again", true, futures, func(t *RWMutexTable) {
			t.Step("opened.all").Guard = t.opener(OpAway)
			t.Step("opened.again").Guard = Is(false)
		}},
		{"the gate is opened beside the opener", true, futures, func(t *RWMutexTable) {
			t.change("entered.later", t.At.Set(Num(AdmOpen)))
		}},
		{"a read lock that was taken for an abandoned future is kept", true, future, func(t *RWMutexTable) {
			t.change("give.read refused", t.At.Set(Num(AdmOpen)))
		}},
		{"a claimer does not ask whether the future was abandoned", true, writing, func(t *RWMutexTable) {
			t.Step("sleep.left").Guard = Is(false)
			t.Step("sleep.here").Guard = True
		}},
		{"an unlock forgets that the lock is observed", true, seen, func(t *RWMutexTable) {
			t.also("unlock.express", t.O.Set(Is(false)))
		}},
	} {
		t.Defects = append(t.Defects, &Defect{
			Name: d.name, Reaches: d.reaches, States: 20_000,
			make: func() *Table {
				t := bareRWMutex()
				d.plant(t)
				t.finish()
				return t.Table
			},
			start: func(x *Table) (*Machine, []State) {
				s := d.start
				return NewMachine(x, s.nodes), []State{t.First(s.express, s.most, s.nodes, s.futures, s.readers)}
			},
			may: func(s *Step) bool {
				return !slices.ContainsFunc(d.start.without, func(name string) bool { return strings.HasPrefix(s.Name, name) })
			},
		})
	}
}
