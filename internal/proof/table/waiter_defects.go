package table

// defects plants what a hurried change of the hand-shake might do.
func (t *WaiterTable) defects() {
	for _, d := range []struct {
		name  string
		plant func(t *WaiterTable)
	}{
		{"a claimer that meets registering reads the waker", func(t *WaiterTable) {
			t.Step("complete.registering").Do = []Update{t.At.Set(Num(ClaimRead)), t.to(NodeClaiming)}
		}},
		{"a claimer does not look whether the node was left meanwhile", func(t *WaiterTable) {
			t.Step("complete.publish").Guard = t.claimed(ClaimPublish)
			t.Step("complete.left").Guard = Is(false)
		}},
		{"a refused grant is forgotten", func(t *WaiterTable) { t.drop("complete.refuse", t.Permits) }},
		{"an abandoned node completes", func(t *WaiterTable) { t.change("complete.refuse", t.to(NodeComplete)) }},
		{"a claimer copies the waker before it claims", func(t *WaiterTable) {
			t.change("complete.armed", t.Wake.Set(t.Waker.V()), t.Close.Set(t.Done.V()))
			t.drop("complete.copy", t.Wake, t.Close)
		}},
		{"a claimer forgets the channel", func(t *WaiterTable) { t.change("complete.publish", t.Closing.Set(Is(false))) }},
		{"a claimer forgets the waker", func(t *WaiterTable) { t.change("complete.publish", t.Waking.Set(Is(false))) }},
		{"a poll of a busy node leaves its waker to nobody", func(t *WaiterTable) { t.drop("Poll.wake", t.Woken) }},
		{"a poll that was met says that it waits", func(t *WaiterTable) {
			t.change("Rearm.met", t.PC.Set(Num(OwnerIdle)))
			t.change("Rearm.met", t.Asked.Set(t.With.V()))
		}},
		{"a poll steps back without a comparison", func(t *WaiterTable) { t.Step("Rearm.end").Guard = True }},
		{"who makes a channel and is met does not close it", func(t *WaiterTable) { t.change("Chan.met", t.PC.Set(Num(ChanWake))) }},
		{"who makes a channel and is met wakes nobody", func(t *WaiterTable) {
			t.change("Chan.close", t.PC.Set(Num(OwnerIdle)))
		}},
		{"the owner resets a node that it could not unlink", func(t *WaiterTable) { t.change("end.claimed", t.PC.Set(Num(EndFields))) }},
		{"the owner abandons without a comparison", func(t *WaiterTable) { t.Step("Abandon.leave").Guard = True }},
		{"the owner does not wait for the claimer of the round before", func(t *WaiterTable) {
			t.Step("Bind.await").Guard = Is(false)
			t.Step("Bind.here").Guard = True
			t.Step("Bind.idle").Guard = Or(t.is(NodeIdle), t.busy())
		}},
		{"a poll begins a round while a claimer is at work", func(t *WaiterTable) {
			t.Step("Poll.idle").Guard = Or(t.is(NodeIdle), t.busy())
		}},
		{"a grant that came too late is kept", func(t *WaiterTable) { t.drop("end.give", t.Permits) }},
		{"Release gives back what was taken", func(t *WaiterTable) { t.drop("Take.store", t.State) }},
		{"Take returns the grant, and leaves it with the future", func(t *WaiterTable) {
			t.change("Take.granted", t.PC.Set(Num(OwnerIdle)), t.Permits.Set(Sub(t.Permits.V(), Num(1))))
		}},
		{"Bind forgets what was granted", func(t *WaiterTable) {
			t.Step("Bind.granted").Guard = Is(false)
			t.Step("Bind.refused").Guard = True
		}},
		{"Finish leaves an earlier round's channel", func(t *WaiterTable) { t.drop("Start.outcome", t.Done); t.drop("Start.fields", t.Done) }},
	} {
		t.Defects = append(t.Defects, &Defect{
			Name: d.name, Reaches: true, States: 20_000,
			make: func() *Table {
				t := bareWaiter()
				d.plant(t)
				t.finish()
				return t.Table
			},
			start: func(x *Table) (*Machine, []State) { return NewMachine(x, 1), []State{t.First()} },
			may:   func(*Step) bool { return true },
		})
	}
}

// First is the first state.
func (t *WaiterTable) First() (s State) {
	s.Set(t.At, int(ClaimNone))
	return s
}
