package sim

import (
	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/internal/line"
)

// An engine is the Local of an agent: permits that come and go, given in strict order.
type engine struct {
	size, held, bound int64
	queue             []*request

	rev     int64 // of the newest grant
	seq     int64
	holders []int64

	valid  func() bool
	served func(r *request)
	failed func(r *request) // it is too large
}

// A request is a goroutine's.
type request struct {
	by     *worker
	n      int64
	since  int64
	engine *engine // that serves it
	token  fence.Token
	inside bool // it has begun an operation
	turns  int  // blocks that its process got while it was the oldest
}

func (e *engine) Granted(rev int64, holders []int64) {
	e.rev, e.holders = rev, holders
	if len(e.queue) > 0 {
		e.queue[0].turns++
	}
}

func (e *engine) Resize(n int64) {
	e.size = n
	e.serve()
}

func (e *engine) Held() int64 { return e.held }

func (e *engine) Demand(enough int64) (oldest, all int64) {
	for _, r := range e.queue {
		if all >= enough {
			break
		}
		if all == 0 {
			oldest = r.n
		}
		all += r.n
	}
	return oldest, all
}

func (e *engine) Bound(n int64) {
	e.bound = n
	for i := 0; i < len(e.queue); {
		r := e.queue[i]
		if r.n <= n {
			i++
			continue
		}
		e.queue = append(e.queue[:i:i], e.queue[i+1:]...)
		e.failed(r)
	}
	e.serve()
}

// acquire reports whether the request waits.
func (e *engine) acquire(r *request) bool {
	r.engine = e
	if r.n > e.bound {
		e.failed(r)
		return false
	}
	e.queue = append(e.queue, r)
	e.serve()
	return len(e.queue) > 0 && e.queue[len(e.queue)-1] == r
}

func (e *engine) release(n int64) {
	e.held -= n
	e.serve()
}

// cancel reports whether the request waited.
func (e *engine) cancel(r *request) bool {
	for i := range e.queue {
		if e.queue[i] == r {
			e.queue = append(e.queue[:i:i], e.queue[i+1:]...)
			e.serve()
			return true
		}
	}
	return false
}

func (e *engine) serve() {
	for len(e.queue) > 0 && e.size-e.held >= e.queue[0].n && e.valid() {
		r := e.queue[0]
		e.queue = e.queue[1:]
		e.held += r.n
		e.seq++
		e.served(r)
	}
}

// weight is what permits of an engine weigh in the line.
func (c *Config) weight(permits int64) int64 {
	if c.rw() && 0 < permits && permits < line.Everyone {
		return 1
	}
	return permits
}
