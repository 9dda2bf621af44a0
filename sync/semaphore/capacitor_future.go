package semaphore

import (
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/waiting"
)

// request implements policy.
func (p *capacitor) request(f *waiting.Future) waiting.Request {
	r := waiting.Reuse[capacitorRequest](f)
	r.p = p
	return r
}

// A capacitorRequest is what a future asks of the semaphore. Its place in the line is its own.
type capacitorRequest struct {
	p *capacitor
	s parking.Sleeper
}

func (r *capacitorRequest) Start(w *waiting.Waiter, waker waiting.Waker) waiting.Outcome {
	if w.N == 0 && !r.p.look().isClosed() || r.p.TryAcquire(w.N) {
		return waiting.Granted
	}
	w.Arm(waker)
	return r.p.enqueue(&r.s, w)
}

func (r *capacitorRequest) Unlink(*waiting.Waiter) bool { return r.p.leave(&r.s, false) }

func (r *capacitorRequest) GiveBack(n int64) bool { return r.p.giveBack(n) }
