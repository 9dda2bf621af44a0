package fleet

import (
	"context"
	"sync/atomic"

	"github.com/farad-go/farad/fleet/internal/line"
	"github.com/farad-go/farad/fleet/internal/share"
)

// A tenancy is what a process has of one line while one session lasts. Its permits are lost
// together. The goroutines that still wait then go over to the next tenancy.
type tenancy struct {
	share.Share

	fleet   *membership
	session atomic.Pointer[session] // nil until there is one; set before there are permits

	over atomic.Bool     // lost
	ctx  context.Context // ends with the tenancy; its cause is ErrLost
	lose context.CancelCauseFunc
}

func newTenancy(f *membership, bell *share.Bell) *tenancy {
	t := &tenancy{fleet: f}
	t.Init(bell, t.valid)
	t.ctx, t.lose = context.WithCancelCause(context.Background())
	return t
}

// end loses the permits.
func (t *tenancy) end() {
	t.over.Store(true)
	t.lose(ErrLost)
	t.Close()
}

// valid reports whether the permits may be relied on now. If their time has run out it has the
// session end, so that another tenancy follows.
func (t *tenancy) valid() bool {
	if s := t.session.Load(); s != nil && !s.valid() {
		t.fleet.lost(s)
		return false
	}
	return !t.over.Load()
}

// A seat is an agent, its tenancy and its session.
type seat struct {
	agent   *line.Agent
	t       *tenancy
	session *session
	doubted int64           // the epoch of the last transaction that had no answer
	rounds  []chan struct{} // to be closed with its answer
}
