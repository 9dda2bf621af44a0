// Package httplimit puts a [limit.Limiter] around handlers and transports of HTTP: a server works
// on as many requests at a time as it can, and a client sends a server as many as that can take.
//
//	limiter := limit.New(semaphore.New(0), &limit.Gradient2{Max: 1000})
//	http.ListenAndServe(addr, httplimit.Handler(limiter, mux, httplimit.WithMaxWait(time.Second)))
//
//	client := &http.Client{Transport: httplimit.Transport(limiter, nil)}
//
// # A request and its permit
//
//	                 begins                 ends
//	Handler          before the handler     when the handler returns or panics
//	Transport        before the round trip  with the response body: read to its end or closed
//
// Requests wait in the line of the semaphore, whose policy decides which one is next and which is
// refused: by shares of tenants or by priorities. [WithTenant] names the tenant of a request. A
// wait ends with the context of the request, so a client that has gone leaves the line. It ends
// after the time of [WithMaxWait], too.
//
// A handler holds its permit while it writes to a client that reads slowly, and while a stream
// lasts. A server that sets no timeouts lets clients hold permits for ever: set ReadTimeout and
// WriteTimeout of [http.Server], or deadlines by [http.ResponseController]. A handler that takes
// the connection over holds the permit until it returns, not until the connection is closed.
//
// # What a refused request gets
//
// From Handler, 503 Service Unavailable, one line of text and a Retry-After: how long the semaphore
// expects its line to last if it knows that, otherwise one second, in whole seconds, rounded up.
// There is none if the request is larger than the limit or the semaphore is closed.
//
// From Transport, the error of the semaphore. There is never a response that the server has not
// sent.
//
// # What the limiter learns
//
// [End] decides from the response whether a request counts as a success, as dropped because of
// overload, or not at all. The latency of a stream says nothing of the load, so streams do not
// count. End cannot see that a response is a stream unless it is one of events
// (text/event-stream) or has taken the connection over: give others a limiter of their own, whose
// limits are fixed, or use [WithEnd].
//
// # Limits of HTTP/1
//
// Package net/http notices that a client has gone only when the body of its request has been read.
// A request with a large body that waits in line stays there until its turn or the end of
// WithMaxWait. HTTP/2 has no such gap.
package httplimit
