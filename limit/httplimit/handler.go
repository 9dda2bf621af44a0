package httplimit

import (
	"net/http"
	"strconv"
	"time"

	"github.com/farad-go/farad/limit"
)

// Handler returns a handler that waits for a permit of l, calls next and ends the permit. It
// refuses requests that get none with 503: see the package documentation. It panics if l, next or
// an option is nil.
//
// Order: that of the semaphore.
//
// Cancellation: a request whose context ends while it waits leaves the line, and next is not
// called.
//
// Panics: one of next goes on after the permit has been returned, including
// [http.ErrAbortHandler].
//
// Responses: the writer that next gets has the methods of [http.Flusher], [http.Hijacker] and
// [http.Pusher] if that of the server has them, and [io.ReaderFrom]. [http.ResponseController]
// works as without Handler.
//
// Memory model: what a handler does synchronizes before the handlers that its permit serves next.
//
// Cost: that of an acquire, and two objects for the writer. The wait allocates nothing unless
// WithMaxWait is used.
func Handler(l *limit.Limiter, next http.Handler, opts ...Option) http.Handler {
	if next == nil {
		panic("httplimit: nil handler")
	}
	return &handler{next, newOptions(l, opts)}
}

type handler struct {
	next http.Handler
	options
}

// Invariants, and the tests that fail without them:
//
//  1. A permit is back when its handler is over, however that ends (TestAPanicReturnsThePermit,
//     TestAClientThatGoesWhileItIsServedReturnsItsPermit).
//  2. A handler runs only with its permits (TestAsManyRunAsThereArePermits).
//  3. A request that was refused has not reached the handler (TestARefusedRequestGets503).
//  4. The status is the one that the client gets (TestTheStatusIsTheOneThatWasSent).

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := h.cost(r)
	if n == 0 {
		h.next.ServeHTTP(w, r)
		return
	}
	p, err := h.wait(r, n)
	if err != nil {
		refuse(w, err)
		return
	}
	defer p.Ignore() // invariant 1: nothing is left to do unless next has panicked
	seen := &response{ResponseWriter: w}
	h.next.ServeHTTP(seen.complete(), r)
	seen.begin(http.StatusOK) // what net/http sends if the handler has sent nothing
	h.end(p, Result{Request: r, Status: seen.status, Header: w.Header(), Err: r.Context().Err()})
}

// refuse answers also where the client has gone: whatever logs the response must not see a 200.
func refuse(w http.ResponseWriter, err error) {
	if d := limit.RetryAfter(err); d > 0 {
		seconds := (d + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	http.Error(w, "the server is overloaded: try again later", http.StatusServiceUnavailable)
}
