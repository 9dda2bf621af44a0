// Package httpfence carries tokens in a header of HTTP, and checks them before handlers.
package httpfence

import (
	"context"
	"errors"
	"net/http"

	"github.com/farad-go/farad/fleet/fence"
)

// Header is the header that carries the text form of a token: up to 17 kB with the most survivors.
// A server in Go accepts that. Proxies often limit a header to 8 kB, which is 470 survivors.
const Header = "Fencing-Token"

// Transport returns a transport that adds the token that the context of a request carries. Requests
// without one pass as they are. A nil next is http.DefaultTransport.
func Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return transport{next}
}

type transport struct{ next http.RoundTripper }

// RoundTrip sends a copy of r, because a transport must not change requests.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, ok := fence.FromContext(r.Context())
	if !ok {
		return t.next.RoundTrip(r)
	}
	text, err := token.MarshalText()
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // the contract of RoundTrip
		}
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set(Header, string(text))
	return t.next.RoundTrip(r)
}

// FromRequest returns the token of the header. The error wraps [fence.ErrMalformed] if there is
// none, or several, or none that can be read.
func FromRequest(r *http.Request) (fence.Token, error) {
	values := r.Header.Values(Header)
	if len(values) != 1 {
		return fence.Token{}, fence.ErrMalformed
	}
	return fence.Parse(values[0])
}

// Handler runs next inside gate, as an operation of weight 1: see [fence.Gate.Do]. The context of
// the request then carries the token, and ends at an eviction. It does not end a read of the body:
// set http.Server.ReadTimeout, or a client that has stopped keeps its handler and all that wait for
// it. Requests that are refused get
//
//	400 Bad Request          without a token that can be read
//	412 Precondition Failed  with a stale token: the client has lost its permits
//	429 Too Many Requests    if there is no room
//
// A server with several resources has a gate for each. Where the path does not distinguish them,
// the handler calls FromRequest and the gate itself.
func Handler(gate *fence.Gate, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := FromRequest(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		err = gate.Do(r.Context(), token, 1, func(ctx context.Context) error {
			next.ServeHTTP(w, r.WithContext(ctx))
			return nil
		})
		switch {
		case err == nil:
		case errors.Is(err, fence.ErrStale):
			http.Error(w, err.Error(), http.StatusPreconditionFailed)
		case errors.Is(err, fence.ErrFull):
			http.Error(w, err.Error(), http.StatusTooManyRequests)
		default: // the client has gone while the handler waited for room
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
}
