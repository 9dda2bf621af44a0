package fleet

import (
	"testing"
	"time"

	"github.com/farad-go/farad/fleet/internal/clock"
	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/internal/memstore"
)

// ownLease is that of the process under test, whose line nobody drives.
const ownLease = 7

// alone returns the driver of a line of this process, which has a block of the size's permits but
// one, and another process has that one. Nothing can be asked for: there is no server.
func alone(t *testing.T, kind string, size int64) *driver {
	t.Helper()
	f := &membership{ttl: time.Minute, patience: newPatience(time.Minute), tenure: time.Hour, ctx: t.Context()}
	f.store = memstore.NewServer().Connect(0)
	d := newDriver(f, kind, "exports", size, newRemote(f, kind, "exports"), line.State{Rev: 9, Size: size, Entries: []line.Entry{
		{Key: line.Key{Lease: ownLease}, Create: 2, Mod: 2, Weight: size - 1},
		{Key: line.Key{Lease: 8}, Create: 3, Mod: 3, Weight: 1},
		{Key: line.Key{Lease: 9}, Create: 4, Mod: 4, Weight: 2},
	}})
	d.observable = kinds[kind]
	d.in.run = func() {}
	t.Cleanup(d.close)
	d.seat(size - 1)
	return d
}

// seat gives the current tenancy a session and permits.
func (d *driver) seat(n int64) {
	t := d.current.Load()
	t.session.Store(newSession(ownLease, clock.Now(), d.fleet.ttl))
	t.Bound(MaxPermits)
	t.Granted(9, []int64{ownLease})
	t.Resize(n)
}

// loseAll ends the current tenancy of d, and gives the next tenancy as many permits.
func (d *driver) loseAll() {
	t := d.current.Load()
	n := t.Given()
	d.turn(func(o *tenancy) bool { return o == t })
	d.seat(n)
}
