package table

import "strings"

// An rwStart is where a bounded run of the read-write lock begins, and what may happen there.
type rwStart struct {
	biasable, biased bool
	wants            []int
	calls            string // the calls, by what their steps begin with: two or more letters each
}

// plants plants what a hurried change of the read-write lock might do.
func (t *RWTable) plants() {
	hidden := rwStart{true, true, []int{smallAll}, "Hide Leave E. F. V. J. UL UO U. X."}
	tries := rwStart{true, true, nil, "Hide Leave G. J. U. All Back"}
	leaves := rwStart{true, true, nil, "Hide RR ReleaseRead S. V. F. U. UL UO J. RT. D."}
	plain := rwStart{false, false, []int{smallAll, 1}, "First Last All Back E. F. V. U. S. RL RR RT. X. T."}
	ups := rwStart{false, false, []int{smallAll - smallUp, smallAll}, "First Last T. E. F. V. U. S. RL RR X. G."}
	reads := rwStart{true, false, []int{smallAll}, "RT. L. E. F. V. U. J. RR RB"}
	for _, d := range []struct {
		name  string
		start rwStart
		plant func(t *RWTable)
	}{
		{"a try looks through the table before W is set", tries, func(t *RWTable) { t.drop("G.mark", t.W) }},
		{"a hidden reader does not look again", hidden, func(t *RWTable) {
			t.Step("Hide.in").Guard = And(t.TOwns.V(), t.some(t.Owned))
		}},
		{"a hidden reader looks again, but not at W", hidden, func(t *RWTable) {
			t.Step("Hide.in").Guard = And(Eq(t.Avail.V(), t.Tb.V()), t.biasedOf(t.Avail.V()), t.TOwns.V(), t.some(t.Owned))
		}},
		{"a reader whose row was emptied goes away", hidden, func(t *RWTable) { t.drop("Hide.found", t.Reading) }},
		{"a row is not looked at", hidden, func(t *RWTable) {
			t.drop("J.look", t.Left)
			t.also("J.look", t.Left.Set(Sub(t.Rows.V(), Num(1))))
		}},
		{"a reader that is found is not counted", hidden, func(t *RWTable) { t.drop("J.reader", t.Hidden) }},
		{"a reader that is found stays in its row", hidden, func(t *RWTable) { t.drop("J.reader", t.Pinned) }},
		{"the bias comes back while a request waits", reads, func(t *RWTable) {
			same := And(Eq(t.Avail.V(), t.Ta.V()), Not(t.biasedOf(t.Avail.V())))
			t.Step("RB.take").Guard = And(t.Biasable.V(), same, t.some(t.Reading))
		}},
		{"who queues leaves the bias", hidden, func(t *RWTable) {
			for _, name := range []string{"F.none", "F.full", "F.store"} {
				t.redirect(name, U)
			}
		}},
		{"an upgrade waits at the back", ups, func(t *RWTable) {
			tw := t.Tw.V()
			t.Step("E.lock").Guard = And(t.at(Free), t.is(tw, Fresh), t.wants(t.N.At(tw)), Not(t.TFront.V()))
		}},
		{"an upgrade does not wait for readers", ups, func(t *RWTable) {
			t.Step("E.take").Guard = And(Or(t.Front.V(), LessEq(t.N.At(t.Own.V()), t.Oa.V())), t.same(), t.room())
		}},
		{"a release asks only whether as many permits are held", ups, func(t *RWTable) {
			s := t.Step("RL.give")
			s.Guard = And(Less(Num(0), t.Tn.V()), LessEq(t.Tn.V(), t.heldOf(t.Avail.V())), t.tsame(), Not(t.W.V()), t.has(t.Tn.V()))
		}},
		{"a reader that finds no row gives a permit of the bias", leaves, func(t *RWTable) {
			t.Step("RR.exact").Guard = Is(false)
			t.Step("RR.counted").Guard = True
			t.Step("RR.give").Guard = And(t.tsame(), Not(t.W.V()), t.has(Num(1)))
		}},
		{"a try to read does not ask whether a request waits", reads, func(t *RWTable) {
			t.Step("L.waits").Guard = Is(false)
			t.Step("L.nobody").Guard = True
		}},
		{"a reader does not look at W", plain, func(t *RWTable) {
			t.Step("RT.plain").Guard = And(Not(t.writerOf(t.Avail.V())), Not(t.biasedOf(t.Avail.V())))
			for _, name := range []string{"RT.first", "RT.take"} {
				t.Step(name).Guard = And(t.tsame(), Less(Num(0), t.Avail.V()), t.room())
			}
		}},
		{"a release does not look at W", plain, func(t *RWTable) {
			t.Step("RL.look").Guard = True
			t.Step("RL.give").Guard = And(t.tsame(), t.legal(t.Avail.V(), t.Tn.V()), t.has(t.Tn.V()))
		}},
		{"the end of the bias leaves W", leaves, func(t *RWTable) { t.drop("V.last", t.OW) }},
		{"a hidden reader is refused under mu", leaves, func(t *RWTable) {
			t.Step("S.biased").Guard = Is(false)
			t.Step("S.refuse").Guard = Not(t.legal(t.Avail.V(), t.Num.V()))
		}},
		{"a try clears a W that it has not set", ups, func(t *RWTable) {
			t.Step("G.done").Guard = Is(false)
			t.Step("G.word").Guard = True
		}},
		{"a downgrade lets nobody in", plain, func(t *RWTable) { t.redirect("S.add", U) }},
	} {
		t.Defects = append(t.Defects, &Defect{
			Name: d.name, Reaches: true, States: 15_000,
			make: func() *Table {
				t := bareRW()
				d.plant(t)
				t.finish()
				return t.Table
			},
			start: func(x *Table) (*Machine, []State) {
				return NewMachine(x, 3), []State{t.FirstRW(d.start.biasable, d.start.biased, d.start.wants...)}
			},
			may: func(s *Step) bool {
				for prefix := range strings.FieldsSeq(d.start.calls) {
					if strings.HasPrefix(s.Name, prefix) {
						return true
					}
				}
				return false
			},
		})
	}
}
