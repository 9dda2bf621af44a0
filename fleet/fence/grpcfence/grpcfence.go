// Package grpcfence carries tokens in the metadata of gRPC, and checks them before handlers.
package grpcfence

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/farad-go/farad/fleet/fence"
)

// Key is the key in the metadata that carries the text form of a token: up to 17 kB with the most
// survivors. A server in Go accepts that. Others and proxies often limit metadata to 8 kB, which is
// 470 survivors.
const Key = "fencing-token"

// UnaryClientInterceptor adds the token that the context of a call carries. Calls without one
// pass as they are.
func UnaryClientInterceptor(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	ctx, err := outgoing(ctx)
	if err != nil {
		return err
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// StreamClientInterceptor does the same for streams.
func StreamClientInterceptor(
	ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	ctx, err := outgoing(ctx)
	if err != nil {
		return nil, err
	}
	return open(ctx, desc, cc, method, opts...)
}

func outgoing(ctx context.Context) (context.Context, error) {
	t, ok := fence.FromContext(ctx)
	if !ok {
		return ctx, nil
	}
	text, err := t.MarshalText()
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return metadata.AppendToOutgoingContext(ctx, Key, string(text)), nil
}

// FromIncoming returns the token of a call that a server handles. The error wraps
// [fence.ErrMalformed] if there is none, or several, or none that can be read.
func FromIncoming(ctx context.Context) (fence.Token, error) {
	values := metadata.ValueFromIncomingContext(ctx, Key)
	if len(values) != 1 {
		return fence.Token{}, fence.ErrMalformed
	}
	return fence.Parse(values[0])
}

// UnaryServerInterceptor runs handlers inside gate, as operations of weight 1: see [fence.Gate.Do].
// The context of a handler then carries the token, and ends at an eviction. Calls that are refused
// get
//
//	InvalidArgument    without a token that can be read
//	Aborted            with a stale token: the client has lost its permits
//	ResourceExhausted  if there is no room
//
// A server with several resources has a gate for each: its handlers call FromIncoming and the gate
// themselves.
func UnaryServerInterceptor(gate *fence.Gate) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		var reply any
		err := do(ctx, gate, func(ctx context.Context) error {
			var err error
			reply, err = handle(ctx, req)
			return err
		})
		return reply, err
	}
}

// StreamServerInterceptor does the same for streams, which are one operation from their begin to
// their end. RecvMsg of an evicted stream returns its error with the next message only: configure
// keepalive.ServerParameters, so that a stream whose client has vanished ends.
func StreamServerInterceptor(gate *fence.Gate) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
		return do(ss.Context(), gate, func(ctx context.Context) error {
			return handle(srv, stream{ss, ctx})
		})
	}
}

// stream is a stream with the context of its operation.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s stream) Context() context.Context { return s.ctx }

func (s stream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return refused(context.Cause(s.ctx))
}

func (s stream) SendMsg(m any) error {
	if err := refused(context.Cause(s.ctx)); err != nil {
		return err
	}
	return s.ServerStream.SendMsg(m)
}

func do(ctx context.Context, gate *fence.Gate, f func(context.Context) error) error {
	t, err := FromIncoming(ctx)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return refused(gate.Do(ctx, t, 1, f))
}

// refused gives the errors of a gate their codes. The codes of handlers stay. Of Aborted, gRPC says
// "a concurrency issue such as a sequencer check failure": a sequencer is a fencing token.
func refused(err error) error {
	switch {
	case errors.Is(err, fence.ErrStale):
		return status.Error(codes.Aborted, err.Error())
	case errors.Is(err, fence.ErrFull):
		return status.Error(codes.ResourceExhausted, err.Error())
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	}
	return err
}
