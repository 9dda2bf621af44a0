package httplimit

import (
	"fmt"
	"io"
	"net/http"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/limit"
)

// Transport returns a transport that waits for a permit of l, sends the request by next and ends
// the permit with the response. A nil next is [http.DefaultTransport]. Transport panics if l or an
// option is nil.
//
// Order: that of the semaphore.
//
// Permit: it ends when the body of the response has been read to its end, has failed or is closed.
// Without a body it ends with the headers. A body that is neither read nor closed keeps its permit
// for ever, as it keeps its connection.
//
// Errors: a request that gets no permit is not sent. The error is that of the semaphore: the error
// of the context if that has ended, a [*semaphore.Refusal] and others. It is
// [context.DeadlineExceeded] after WithMaxWait. [http.Client] wraps errors in a *[url.Error].
//
// Memory model: what happens with a request until its permit ends synchronizes before the requests
// that the permit serves next.
//
// Cost: that of an acquire, and one object for the body. The wait allocates nothing unless
// WithMaxWait is used.
func Transport(l *limit.Limiter, next http.RoundTripper, opts ...Option) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{next, newOptions(l, opts)}
}

type transport struct {
	next http.RoundTripper
	options
}

// Invariants, and the tests that fail without them:
//
//  1. A permit ends once, whatever readers and closers of the body do at the same time
//     (TestABodyEndsItsPermitOnce).
//  2. A request that gets no permit is not sent, and its body is closed
//     (TestARefusedRequestIsNotSent).

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	n := t.cost(r)
	if n == 0 {
		return t.next.RoundTrip(r)
	}
	p, err := t.wait(r, n)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // the contract of RoundTrip
		}
		return nil, err
	}
	over := p // not any more once the body is responsible
	defer func() { over.Ignore() }()
	response, err := t.next.RoundTrip(r)
	if err != nil {
		t.finish(p, Result{Request: r, Err: err})
		return response, err
	}
	if response == nil {
		return nil, nil //nolint:nilnil // against the contract: the client names the transport
	}
	result := Result{Request: r, Status: response.StatusCode, Header: response.Header}
	if isEmpty(r.Method, response) {
		t.finish(p, result)
		return response, nil
	}
	over = nil
	b := &body{ReadCloser: response.Body, t: t, p: p, result: result}
	response.Body = b
	if w, ok := b.ReadCloser.(io.Writer); ok { // the connection, after 101 Switching Protocols
		response.Body = connection{b, w}
	}
	return response, nil
}

// isEmpty reports whether nothing follows the headers. The empty body of HTTP/2 is not http.NoBody.
func isEmpty(method string, r *http.Response) bool {
	if r.StatusCode == http.StatusSwitchingProtocols {
		return false // the body is the connection
	}
	return r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 || method == http.MethodHead
}

// finish ends the permit.
func (t *transport) finish(p *limit.Permit, result Result) {
	defer p.Ignore()
	// The error of a transport may be the cause of a context's end, which can be anything.
	if err := result.Request.Context().Err(); result.Err != nil && err != nil {
		result.Err = err
	}
	t.end(p, result)
}

// CloseIdleConnections is for [http.Client].
func (t *transport) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// A body is the body of a response. Its first error or its Close ends the permit.
type body struct {
	io.ReadCloser
	t      *transport
	p      *limit.Permit
	over   xsync.Uint32 // 1, once somebody ends the permit
	result Result       // its Err is written by the goroutine that has set over
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		b.finish(nil)
	case err != nil:
		b.finish(err)
	}
	return n, err
}

// Close closes the body first, so that the permit serves nobody while it still takes something.
func (b *body) Close() error {
	defer b.finish(nil)
	return b.ReadCloser.Close()
}

func (b *body) finish(err error) {
	if b.over.CompareAndSwap(0, 1) { // invariant 1
		b.result.Err = err
		b.t.finish(b.p, b.result)
	}
}

// A connection is the body of a response that hands it over.
type connection struct {
	*body
	io.Writer
}

// CloseWrite shuts the half that is written to, if it can be shut alone. It ends no permit.
func (c connection) CloseWrite() error {
	if w, ok := c.Writer.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return fmt.Errorf("CloseWrite: %w", http.ErrNotSupported)
}
