package table

import "strings"

// An engineStart is where a bounded run begins.
type engineStart struct {
	size    int
	ordered bool
	nodes   int
	locks   string // the operations that take mu, by the first letters of their steps
}

// defects plants those of the published algorithm (docs/design/volt-defects.md), those that this
// code once had, and what a hurried change might do.
func (t *EngineTable) defects() {
	one := engineStart{size: 1, nodes: 2, locks: "ESXZC"}
	observed := engineStart{size: 1, nodes: 1, locks: "ESO"}
	two := engineStart{size: 2, nodes: 2, locks: "ESX"}
	debt := engineStart{size: 2, nodes: 2, locks: "ESZ"}
	ordered := engineStart{size: 1, ordered: true, nodes: 3, locks: "KS"}
	for _, d := range []struct {
		name    string
		reaches bool
		start   engineStart
		plant   func(t *EngineTable)
	}{
		{"a cancel does not serve who stands behind", true, two, func(t *EngineTable) {
			t.redirect("X.slot", U)
			t.redirect("X.list", U)
		}},
		{"a release looks at the list only", true, two, func(t *EngineTable) { t.redirect("V.slot", V4) }},
		{"the fast path does not look at W", true, one, func(t *EngineTable) {
			t.Step("T.take").Guard = And(Less(Num(0), t.Tn.V()), LessEq(t.Tn.V(), t.Ta.V()), Not(t.TC.V()), t.tsame())
		}},
		{"a newcomer does not ask whether one is staged", true, two, func(t *EngineTable) {
			t.redirect("E.behind", EL)
			t.redirect("E.second", EL)
		}},
		{"W is set without a comparison", true, one, func(t *EngineTable) {
			t.Step("E.mark").Guard = And(Less(t.Oa.V(), t.N.At(t.Own.V())), Not(t.OW.V()))
		}},
		{"a waiter is pushed and W is not set", true, one, func(t *EngineTable) { t.drop("E.mark", t.W) }},
		{"a waiter for more than one goes into the slot", true, two, func(t *EngineTable) {
			t.Step("F.none").Guard = t.listEmpty()
			t.Step("F.full").Guard = And(Not(t.listEmpty()), t.SlotF.V())
			t.Step("F.room").Guard = And(Not(t.listEmpty()), Not(t.SlotF.V()))
		}},
		{"a waiter goes into the slot beside a debt", true, debt, func(t *EngineTable) {
			one := Any(func(x *Expr) *Expr { return And(t.isFront(x), Eq(t.N.At(x), Num(1))) })
			t.Step("F.none").Guard = Not(one)
			t.Step("F.full").Guard = And(one, t.SlotF.V())
			t.Step("F.room").Guard = And(one, Not(t.SlotF.V()))
		}},
		{"a release of several takes the slot's waiter", true, two, func(t *EngineTable) {
			t.Step("R.swap").Guard = And(t.SlotF.V(), Less(Num(0), t.Tn.V()), LessEq(t.Tn.V(), t.Held.V()))
			t.also("R.swap", t.Held.Set(Add(Sub(t.Held.V(), t.Tn.V()), Num(1))))
		}},
		{"who is large is passed by", true, two, func(t *EngineTable) {
			t.Step("V.pop").Guard = And(t.inList(t.Tx.V()), LessEq(t.N.At(t.Tx.V()), t.Oa.V()))
		}},
		{"shrinking leaves the slot full", true, debt, func(t *EngineTable) {
			t.Step("Z.back").Do = []Update{t.PC.Set(Num(Z8))}
		}},
		{"a waiter that is put back becomes the newest", false, debt, func(t *EngineTable) {
			t.drop("Z.back", t.Pos, t.Head)
			t.also("Z.back", t.Pos.SetAt(t.Slot.V(), t.Tail.V()), t.Tail.Set(Add(t.Tail.V(), Num(1))))
		}},
		{"growth does not serve", true, one, func(t *EngineTable) { t.redirect("Z.serve", U) }},
		{"serving does not count down what it grants", true, one, func(t *EngineTable) { t.drop("V.store", t.Avail) }},
		{"W goes although one waits in the order", true, ordered, func(t *EngineTable) {
			t.also("V.orderleft", t.OW.Set(Is(false)))
		}},
		{"W goes although one waits in the slot", true, two, func(t *EngineTable) {
			t.also("V.oneleft", t.OW.Set(Is(false)))
		}},
		{"closing forgets the slot", true, one, func(t *EngineTable) { t.redirect("C.slot", C3) }},
		{"a closed engine takes new waiters", true, one, func(t *EngineTable) {
			t.Step("E.closed").Guard = Is(false)
			t.Step("E.size").Guard = True
		}},
		{"nobody asks whether a request is too large", true, one, func(t *EngineTable) {
			t.Step("E.large").Guard = Is(false)
			t.Step("E.alone").Guard = And(t.listEmpty(), Not(t.SlotF.V()))
		}},
		{"who stops observing clears W, too", true, observed, func(t *EngineTable) { t.also("O.clear", t.W.Set(Is(false))) }},
		{"the observed bit is lost where the queue is served", true, observed, func(t *EngineTable) {
			t.drop("V.store", t.O)
			t.also("V.store", t.O.Set(Is(false)))
		}},
		{"an over-release is counted", true, one, func(t *EngineTable) {
			t.Step("S.refuse").Guard = Is(false)
			t.Step("S.add").Guard = t.same()
		}},
		{"the order gives a second one to the slot", true, ordered, func(t *EngineTable) {
			t.Step("V.unstaged").Guard = t.Ordered.V()
		}},
	} {
		t.Defects = append(t.Defects, &Defect{
			Name: d.name, Reaches: d.reaches, States: 15_000,
			make: func() *Table {
				t := bareEngine()
				d.plant(t)
				t.finish()
				return t.Table
			},
			start: func(x *Table) (*Machine, []State) {
				m := NewMachine(x, d.start.nodes)
				return m, t.firstStates(d.start)
			},
			may: func(s *Step) bool {
				return (s.Name != "S.illegal" || d.name == "an over-release is counted") &&
					(!s.Locks || strings.Contains(d.start.locks, s.Name[:1]))
			},
		})
	}
}

// redirect has a step of the owner lead to another place.
func (t *EngineTable) redirect(name string, place int64) {
	t.drop(name, t.PC)
	t.also(name, t.PC.Set(Num(place)))
}
