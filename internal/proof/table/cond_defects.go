package table

import (
	"slices"
	"strings"
)

// defects plants what a hurried change might do.
func (t *CondTable) defects() {
	all := []string{"observe", "another locks", "another unlocks"} // steps that a run does not need
	signals := append([]string{"broadcast"}, all...)
	for _, d := range []struct {
		name    string
		reaches bool
		nodes   int
		without []string
		plant   func(t *CondTable)
	}{
		{"who enters sets the flag after it is in line", true, 2, signals, func(t *CondTable) {
			t.Step("enter.push").From = EnterMark
			t.change("enter.push", t.PC.Set(Num(EnterPush)))
			t.Step("enter.mark").From = EnterPush
			t.change("enter.mark", t.PC.Set(Num(EnterEnd)))
			t.change("enter.more", t.PC.Set(Num(EnterMark)))
		}},
		{"who enters the empty line leaves the flag", true, 1, signals, func(t *CondTable) {
			t.change("enter.first", t.PC.Set(Num(EnterPush)))
		}},
		{"the last that leaves does not clear the flag", true, 2, all, func(t *CondTable) {
			t.change("unlink.other", t.PC.Set(Num(UnlinkGone)))
		}},
		{"one that leaves clears the flag beside others", true, 2, signals, func(t *CondTable) {
			t.change("unlink.other", t.PC.Set(Num(UnlinkClear)))
		}},
		{"a signal that one gives up is lost", true, 2, signals, func(t *CondTable) {
			t.Step("give.nobody").Guard = True
			t.Step("give.claim").Guard = Is(false)
		}},
		{"a signal that one gives up wakes one that began to wait after it", true, 2, signals, func(t *CondTable) {
			t.Step("give.claim").Guard = t.first(t.Tx.V())
			t.change("give.claim", t.HasReach.Set(Is(false)))
		}},
		{"a signal does not set reach", true, 2, signals, func(t *CondTable) {
			t.drop("signal.reach", t.HasReach, t.Reach)
		}},
		{"reach leaves the line and stays reach", true, 2, signals, func(t *CondTable) {
			t.drop("unlink.first", t.HasReach)
		}},
		{"when reach leaves nobody is", true, 3, signals, func(t *CondTable) {
			t.change("unlink.reach", t.HasReach.Set(Is(false)))
		}},
		{"a broadcast claims as a signal does", true, 2, all, func(t *CondTable) {
			t.change("broadcast.n", t.By.SetAt(t.W.V(), Is(false)))
		}},
		{"a signal does not say that it was one", true, 1, all, func(t *CondTable) {
			t.drop("signal.n", t.By)
		}},
		{"a signal wakes the newest", true, 2, signals, func(t *CondTable) {
			t.Step("signal.claim").Guard = And(t.HasReach.V(), t.last(t.Tx.V()))
		}},
		{"a signal leaves the claimed in line", true, 1, signals, func(t *CondTable) {
			t.drop("signal.claim", t.In)
		}},
		{"a broadcast wakes one", true, 2, all, func(t *CondTable) {
			t.change("broadcast.n", t.PC.Set(Num(BroadEnd)))
		}},
		{"the end of a broadcast leaves reach", true, 1, all, func(t *CondTable) { t.drop("broadcast.claim", t.HasReach) }},
		{"one that was claimed does not wait for its token before it passes on", true, 2, signals, func(t *CondTable) {
			t.Step("give.lock").Guard = And(t.at(CondFree), t.Cl.At(t.Tw.V()), Not(t.By.At(t.Tw.V())))
		}},
		{"one that was claimed goes without its token", true, 2, signals, func(t *CondTable) {
			t.Step("ask.woken").Guard = And(t.Cl.At(t.Tw.V()), Not(t.owned(t.Tw.V())))
		}},
		{"a claim is passed on, and kept", true, 2, signals, func(t *CondTable) {
			s := t.Step("give.claim")
			s.Do = slices.DeleteFunc(slices.Clone(s.Do), func(u Update) bool { return u.v == t.Cl && u.at != nil && u.at.v == t.Own })
		}},
	} {
		t.Defects = append(t.Defects, &Defect{
			Name: d.name, Reaches: d.reaches, States: 20_000,
			make: func() *Table {
				t := bareCond()
				d.plant(t)
				t.finish()
				return t.Table
			},
			start: func(x *Table) (*Machine, []State) { return NewMachine(x, d.nodes), []State{t.First()} },
			may: func(s *Step) bool {
				return !slices.ContainsFunc(d.without, func(name string) bool { return strings.HasPrefix(s.Name, name) })
			},
		})
	}
}
