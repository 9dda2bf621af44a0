package table

import (
	"slices"
	"strings"
)

// defects plants what a hurried change might do.
func (t *KeyedTable) defects() {
	one := t.FirstKeyed(false, 1, []int{1, 1}, []int{0, 0})
	two := t.FirstKeyed(false, 2, []int{2, 1}, []int{0, 0})
	keys := t.FirstKeyed(false, 1, []int{1, 1}, []int{0, 1})
	rw := t.FirstKeyed(true, SmallEveryone, []int{1, SmallEveryone}, []int{0, 0})
	ends := []string{"sleep.over", "sleep.both", "keep.over"} // what a run without contexts does not need
	for _, d := range []struct {
		name    string
		reaches bool
		first   State
		without []string
		plant   func(t *KeyedTable)
	}{
		{"a try does not look into the table", true, keys, ends, func(t *KeyedTable) {
			free := Eq(t.SHeld.V(), Num(0))
			t.Step("try.fast").Guard, t.Step("try.slow").Guard = free, Not(free)
		}},
		{"a release does not compare the key", true, keys, ends, func(t *KeyedTable) {
			own := Eq(t.SHeld.V(), t.Num.V())
			t.Step("release.fast").Guard, t.Step("release.slow").Guard = own, Not(own)
		}},
		{"the shard keeps the key that it has moved into the table", true, keys, ends, func(t *KeyedTable) { t.drop("open.moves", t.SHeld) }},
		{"what has moved keeps its key alive", true, one, ends, func(t *KeyedTable) { t.drop("open.moves", t.SHas) }},
		{"the key moves, and what is held of it does not", true, two, ends, func(t *KeyedTable) {
			t.change("open.moves", t.EHeld.SetAt(t.Tx.V(), Num(1)))
		}},
		{"an entry is used that is in use", true, keys, ends, func(t *KeyedTable) {
			t.Step("take.new").Guard = Not(t.InTab.At(t.K.V()))
		}},
		{"who takes passes by those who wait", true, two, ends, func(t *KeyedTable) {
			fits := LessEq(t.Num.V(), Sub(t.most(t.Num.V()), t.EHeld.At(t.entry())))
			t.Step("take.more").Guard = And(t.InTab.At(t.K.V()), fits)
			t.Step("take.not").Guard = And(t.InTab.At(t.K.V()), Not(fits))
		}},
		{"who queues does not look again", true, one, ends, func(t *KeyedTable) {
			t.change("open.nothing", t.PC.Set(If(t.does(toEnter), Num(KeyQueue), If(t.does(toTry), Num(KeyTake), If(t.does(toLook), Num(KeyEnd), Num(KeyGive))))))
		}},
		{"who queues uses an entry that it has found before", true, keys, ends, func(t *KeyedTable) {
			t.change("queue", t.At.SetAt(t.W.V(), t.Tx.V()))
			t.only("queue", t.Used.At(t.Tx.V()))
		}},
		{"a reader comes in beside a writer", true, rw, ends, func(t *KeyedTable) {
			t.Step("take.more").Guard = And(t.InTab.At(t.K.V()), t.noneIn(t.entry()))
			t.Step("take.not").Guard = And(t.InTab.At(t.K.V()), Not(t.noneIn(t.entry())))
		}},
		{"a reader's unlock ends a writer's lock", true, rw, ends, func(t *KeyedTable) {
			can := And(t.InTab.At(t.K.V()), LessEq(t.Num.V(), t.EHeld.At(t.entry())))
			t.Step("give.take").Guard, t.Step("give.refuse").Guard = can, Not(can)
		}},
		{"nobody asks whether what is released is held", true, two, ends, func(t *KeyedTable) {
			t.Step("give.take").Guard, t.Step("give.refuse").Guard = t.InTab.At(t.K.V()), Not(t.InTab.At(t.K.V()))
		}},
		{"an entry goes while permits are held", true, two, ends, func(t *KeyedTable) {
			t.change("serve.stop", t.PC.Set(If(t.does(toUnlink), Num(KeyEnd), Num(KeyRemove))))
		}},
		{"an entry goes before those who wait are served", true, one, ends, func(t *KeyedTable) {
			t.change("give.take", t.PC.Set(If(Eq(t.EHeld.At(t.entry()), t.Num.V()), Num(KeyRemove), Num(KeyServe))))
		}},
		{"an entry stays that nobody holds", true, one, ends, func(t *KeyedTable) { t.change("serve.stop", t.PC.Set(Num(KeyEnd))) }},
		{"a free entry keeps its key", true, one, ends, func(t *KeyedTable) { t.drop("remove", t.EHas) }},
		{"a release serves nobody", true, one, ends, func(t *KeyedTable) {
			t.Step("serve.claim").Guard, t.Step("serve.stop").Guard = Is(false), True
		}},
		{"who is served gets more than is free", true, two, ends, func(t *KeyedTable) {
			x := t.Tx.V()
			t.Step("serve.claim").Guard = And(t.lineOf(x, t.entry()), t.first(x))
			t.Step("serve.stop").Guard = t.noneIn(t.entry())
		}},
		{"who is large is passed by", true, two, ends, func(t *KeyedTable) {
			x := t.Tx.V()
			t.Step("serve.claim").Guard = And(t.lineOf(x, t.entry()), LessEq(t.N.At(x), Sub(t.Size.V(), t.EHeld.At(t.entry()))))
		}},
		{"a grant is not counted", true, one, ends, func(t *KeyedTable) { t.drop("serve.claim", t.EHeld) }},
		{"who gives up does not let those in who stand behind", true, two, nil, func(t *KeyedTable) {
			t.change("unlink.out", t.PC.Set(Num(KeyEnd)))
		}},
		{"who gives up stays in line", true, one, nil, func(t *KeyedTable) { t.drop("unlink.out", t.In); t.also("unlink.out", t.Cl.SetAt(t.W.V(), True)) }},
		{"who gives up goes without its token", true, one, nil, func(t *KeyedTable) {
			s := t.Step("withdraw.got")
			s.Guard = t.Cl.At(t.Tw.V())
		}},
		{"who queues for several keys does not look whether they are free", true, two, ends, func(t *KeyedTable) {
			tw := t.Tw.V()
			t.Step("all.queue").Guard = And(t.right(t.N.At(tw)), t.InTab.At(t.Of.At(tw)), Not(t.In.At(tw)), Not(t.Cl.At(tw)))
		}},
		{"an entry of another key is taken out", true, keys, ends, func(t *KeyedTable) {
			x := t.Tx.V()
			t.only("remove", t.Used.At(x))
			t.change("remove", t.Used.SetAt(x, Is(false)), t.Spare.SetAt(x, True), t.EHas.SetAt(x, Is(false)))
		}},
	} {
		t.Defects = append(t.Defects, &Defect{
			Name: d.name, Reaches: d.reaches, States: 20_000,
			make: func() *Table {
				t := bareKeyed()
				d.plant(t)
				t.finish()
				return t.Table
			},
			start: func(x *Table) (*Machine, []State) { return NewMachine(x, 2), []State{d.first} },
			may: func(s *Step) bool {
				return s.Name != "release.wrong" && s.Name != "trim" ||
					strings.Contains(d.name, "unlock") || strings.Contains(d.name, "asks")
			},
		})
		last := t.Defects[len(t.Defects)-1]
		without, may := d.without, last.may
		last.may = func(s *Step) bool { return may(s) && !slices.Contains(without, s.Name) }
	}
}
