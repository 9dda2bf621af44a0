package fleet

import (
	"testing"
	"time"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/internal/share"
	"github.com/farad-go/farad/waiter"
)

// BenchmarkSee measures what a change of a line with 200 entries costs each process that has one of
// them.
func BenchmarkSee(b *testing.B) {
	st := line.State{Rev: 1000, Size: 4}
	for i := range int64(200) {
		st.Entries = append(
			st.Entries,
			line.Entry{Key: line.Key{Lease: i + 1, Seq: 1}, Create: i + 2, Mod: i + 2, Weight: 1},
		)
	}
	f := &membership{ctx: b.Context(), store: memstore.NewServer().Connect(0), patience: newPatience(time.Minute)}
	d := newDriver(f, kindSemaphore, "s", 4, newRemote(f, kindSemaphore, "s"), st)
	d.in.run = func() {}
	l := newLoop(d)
	t := d.current.Load()
	s := &seat{t: t, agent: line.NewAgent(100, f.number, 0, false, &t.Share)}
	s.agent.Learn(st, 0)
	l.seats = append(l.seats, s)
	t.Bound(MaxPermits)
	var waits waiter.Future
	var r share.Request
	r.Of(&t.Share)
	waiter.Bind(&waits, &r, 1)
	waits.Poll(nil)
	defer waits.Release()
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		gone := d.state.Entries[0].Key
		if gone.Lease == 100 {
			gone = d.state.Entries[1].Key
		}
		rev := d.state.Rev + 1
		l.see(revision{rev: rev, changes: []line.Change{
			{Key: gone}, {Key: line.Key{Lease: gone.Lease, Seq: gone.Seq + 1}, Create: rev, Mod: rev, Weight: 1},
		}})
		t.Plan(s.agent, 0)
	}
}
