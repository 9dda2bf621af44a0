package table

import (
	"slices"
	"strings"
)

// notOfAWatch are how the names begin of steps that a run does not need which is about the watch.
var notOfAWatch = []string{"gets", "a foreign", "calls Notified", "claims without", "other", "is granted", "keep"}

// defects plants what a hurried change of the wait might do.
func (t *ParkerTable) defects() {
	for _, d := range []struct {
		name    string
		without []string // steps that the run does not need
		plant   func(t *ParkerTable)
	}{
		{"who leaves does not wait for the token", nil, func(t *ParkerTable) {
			t.Step("withdraw.enough").Guard = Implies(t.Nudged.V(), t.GotNud.V())
		}},
		{"who leaves does not wait for the nudge", notOfAWatch, func(t *ParkerTable) {
			t.Step("withdraw.enough").Guard = Implies(t.Claimed.V(), t.GotTok.V())
		}},
		{"who leaves reads N before the unlink", nil, func(t *ParkerTable) {
			for _, s := range []string{"calls Wait", "calls Notified", "calls Leave"} {
				t.change(s, t.Ln.Set(t.N.V()))
			}
			t.drop("leave.n", t.Ln)
			t.drop("leave.n watched", t.Ln)
		}},
		{"a wait that took its nudge ends by its outcome", []string{"gets", "a foreign", "calls Wait", "other", "is granted"}, func(t *ParkerTable) {
			t.Step("took.nudge").Guard = Not(t.GotTok.V())
			t.Step("took.token").Guard = And(t.GotTok.V(), Not(t.Asks.V()))
			t.Step("took.ask").Guard = And(t.GotTok.V(), t.Asks.V())
		}},
		{"the watch nudges after its unlock", notOfAWatch, func(t *ParkerTable) {
			t.change("fire.mark", t.Mu.Set(Num(MuFree)))
		}},
		{"a farewell does not look whether the watch has fired", notOfAWatch, func(t *ParkerTable) {
			t.drop("leave.fired", t.Nudged)
		}},
		{"a parker that is too late for its watch is linked", notOfAWatch, func(t *ParkerTable) {
			t.Step("get.link").Guard = True
			t.Step("get.fired").Guard = Is(false)
		}},
		{"a watch that parts from a parker leaves the nudge in it", notOfAWatch, func(t *ParkerTable) {
			t.Step("part.sleep").Guard = Is(false)
			t.Step("part.pool").Guard = True
			t.change("part.pool", t.Nudged.Set(Is(false)))
		}},
		{"a grant that came too late is kept", nil, func(t *ParkerTable) { t.drop("withdraw.put", t.Owed) }},
		{"who gives up gives back what it was not granted", []string{"another", "a foreign", "pool"}, func(t *ParkerTable) {
			t.change("withdraw.put", t.Owed.Set(Add(t.Owed.V(), If(t.Claimed.V(), t.Ln.V(), Num(0)))))
		}},
		{"the context is not asked after the wake-up", nil, func(t *ParkerTable) { t.Step("ask.no").Guard = True }},
		{"the claimer wakes before it writes the outcome", nil, func(t *ParkerTable) {
			t.Step("deliver.wake").Guard = oneOf(t.At, ClaimedOutcome, ClaimedWake)
		}},
		{"who leaves stays in line", nil, func(t *ParkerTable) { t.drop("leave.unlink", t.Line) }},
		{"what a wait has taken is left for the next", nil, func(t *ParkerTable) { t.drop("withdraw.put", t.GotTok, t.GotNud) }},
		{"a wait that has its outcome leaves what it has taken", nil, func(t *ParkerTable) { t.drop("took.token", t.GotTok) }},
		{"another parker becomes idle without a comparison", nil, func(t *ParkerTable) { t.Step("other.put").Guard = True }},
		{"a wait whose context panics stays in line", nil, func(t *ParkerTable) {
			t.change("ask.panics", t.PC.Set(Num(ParkerHeld)))
		}},
		{"a time that is over ends the wait without an unlink", nil, func(t *ParkerTable) {
			t.change("sleep.timed out", t.PC.Set(Num(LeaveN)))
		}},
		{"a parker that has left stays in the list", nil, func(t *ParkerTable) { t.drop("part.remove", t.Linked) }},
		{"what the context refuses is given to the next, and kept", nil, func(t *ParkerTable) {
			t.change("keep.over", t.Owed.Set(Sub(t.Owed.V(), t.Tn.V())))
		}},
	} {
		t.Defects = append(t.Defects, &Defect{
			Name: d.name, Reaches: true, States: 20_000,
			make: func() *Table {
				t := bareParker()
				d.plant(t)
				t.finish()
				return t.Table
			},
			start: func(x *Table) (*Machine, []State) { return NewMachine(x, 1), []State{t.First()} },
			may: func(s *Step) bool {
				return !slices.ContainsFunc(d.without, func(name string) bool { return strings.HasPrefix(s.Name, name) })
			},
		})
	}
}
