package fleet

import (
	"context"
	"sync/atomic"

	"github.com/farad-go/farad/fleet/internal/share"
)

// A tenancy is what a process has of one line while one session lasts. Its permits are lost
// together. The goroutines that still wait then go over to the next tenancy.
type tenancy struct {
	share.Share

	driver  *driver
	session atomic.Pointer[session] // nil until there is one; set before there are permits

	over atomic.Bool     // lost
	ctx  context.Context // ends with the tenancy; its cause is ErrLost
	lose context.CancelCauseFunc
}

func newTenancy(d *driver) *tenancy {
	t := &tenancy{driver: d}
	t.Init(&d.bell, t.valid)
	t.ctx, t.lose = context.WithCancelCause(context.Background())
	return t
}

// end loses the permits.
func (t *tenancy) end() {
	t.over.Store(true)
	t.lose(ErrLost)
	t.Close()
}

// releaseLoose gives back n permits that no Permit holds. If fewer are, or more than most, it
// changes nothing and reports false.
func (t *tenancy) releaseLoose(n, most int64) bool {
	if !t.Tighten(n, most) {
		return false
	}
	t.release(n)
	return true
}

// release gives back n permits that are held, and records that before.
func (t *tenancy) release(n int64) {
	if r := t.driver.record(); r != nil {
		r.Released(t.driver.requested(n))
	}
	t.Release(n)
}

// valid reports whether the permits may be relied on now. If their time has run out it has the
// session end, so that another tenancy follows.
func (t *tenancy) valid() bool {
	if s := t.session.Load(); s != nil && !s.valid() {
		t.driver.fleet.lost(s)
		return false
	}
	return !t.over.Load()
}
