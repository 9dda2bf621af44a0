package grpclimit

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

// pushback is the trailer that has the delay for the retry policy of a client.
const pushback = "grpc-retry-pushback-ms"

// A refusal is the error of a call that gets no permit.
type refusal struct {
	*status.Status
	err   error         // of the semaphore or the context
	again time.Duration // 0: nobody knows
}

func (r *refusal) Error() string { return r.Err().Error() }

func (r *refusal) Unwrap() error { return r.err }

// GRPCStatus is for package status.
func (r *refusal) GRPCStatus() *status.Status { return r.Status }

// refuse gives the error of a wait its code.
func (o *options) refuse(ctx context.Context, err error) *refusal {
	switch {
	case ctx.Err() != nil:
		return &refusal{Status: status.FromContextError(ctx.Err()), err: ctx.Err()}
	case errors.Is(err, semaphore.ErrClosed):
		return &refusal{Status: status.New(codes.Unavailable, "no permit: "+err.Error()), err: err}
	}
	why := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		why = "waited for " + o.longest.String()
	}
	r := &refusal{
		Status: status.New(codes.ResourceExhausted, "no permit: "+why), err: err, again: limit.RetryAfter(err),
	}
	if r.again > 0 {
		info := &errdetails.RetryInfo{RetryDelay: durationpb.New(r.again)}
		if with, err := r.WithDetails(info); err == nil { // it fails for OK alone
			r.Status = with
		}
	}
	return r
}

// trailer returns what a server sends with the error of a wait.
func trailer(err error) metadata.MD {
	var r *refusal
	if !errors.As(err, &r) || r.again == 0 {
		return nil
	}
	ms := (r.again + time.Millisecond - 1) / time.Millisecond
	return metadata.Pairs(pushback, strconv.FormatInt(int64(ms), 10))
}
