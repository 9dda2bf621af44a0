// Package grpclimit puts a [limit.Limiter] around servers and clients of gRPC: a server works on as
// many calls at a time as it can, and a client sends a server as many as that can take.
//
//	limiter := limit.New(semaphore.New(0), &limit.Gradient2{Max: 1000})
//	server := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(grpclimit.UnaryServerInterceptor(limiter)),
//		grpc.ChainStreamInterceptor(grpclimit.StreamServerInterceptor(limiter)),
//	)
//
// It is a module of its own, so that programs without gRPC do not depend on it.
//
// # A call and its permit
//
//	                            begins              ends
//	UnaryServerInterceptor      before the handler  when the handler returns or panics
//	StreamServerInterceptor     before the handler  when the handler returns or panics
//	UnaryClientInterceptor      before the call     with the reply
//	StreamClientInterceptor     before the stream   with the stream
//
// Calls wait in the line of the semaphore, whose policy decides which one is next and which is
// refused: by shares of tenants or by priorities. [WithTenant] names the tenant of a call. A wait
// ends with the context of the call, which on a server has the deadline of the client. It ends
// after the time of [WithMaxWait], too.
//
// A stream of a client ends when RecvMsg has returned an error, io.EOF included, when its context
// ends, or when the connection is closed: the ways in which [grpc.ClientConn.NewStream] lets its
// resources go. A stream that does none of this keeps its permit for ever. A stream of a server
// keeps its permit while it waits for a client that reads slowly: configure
// [google.golang.org/grpc/keepalive.ServerParameters], so that the streams of clients that have
// vanished end.
//
// # What a refused call gets
//
//	ResourceExhausted  if the semaphore refuses it, or after the time of WithMaxWait
//	Unavailable        if the semaphore is closed: another server may answer
//	Canceled           if the context has ended
//	DeadlineExceeded   if its deadline has passed
//
// ResourceExhausted has a detail, google.rpc.RetryInfo: how long the semaphore expects its line to
// last if it knows that, otherwise one second. From a server it has the trailer
// grpc-retry-pushback-ms, too. There are both, because clients honour one of them each. The retry
// policies of gRPC itself know the trailer: where a policy has the code among its retryable ones,
// the next attempt comes after that time (gRFC A6). Others look for the detail: those of
// OpenTelemetry repeat no call that is refused without it. Neither is there if the call is larger
// than the limit.
//
// A refusal does not use Unavailable, because most retry policies repeat that after their own short
// time, and so add to the overload.
//
// From the interceptors of clients the error also wraps that of the semaphore, for [errors.Is].
//
// # What the limiter learns
//
// [End] decides from the code whether a call counts as a success, as dropped because of overload,
// or not at all. The length of a stream says nothing of the load. So streams hold permits and do
// not count, unless [WithEnd] says otherwise.
package grpclimit
