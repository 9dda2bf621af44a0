//go:build interleave

package twa_test

import (
	"testing"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/twa"
)

const inFlight = "documented: who has taken its tickets, and does not sleep yet, may be granted by a release after the resize"

// modelKind makes each semaphore with an array of its own, in which all sleepers meet.
func modelKind() semtest.Kind {
	return semtest.Kind{
		New:  func(n int64) semtest.Semaphore { return twa.New(n, twa.WithWaitingArray(twa.NewArray(1))) },
		Bind: bind,
	}
}

// Every history that the explorer can bring about is one that the sequential semaphore could have
// given.
func TestModelTicketHistories(t *testing.T) {
	semtest.RunHistories(t, modelKind(),
		semtest.Known{Test: "resize too large", Why: inFlight},
		semtest.Known{Test: "resize twice", Why: inFlight},
	)
}

// No future is reported complete before its permit was free.
func TestModelFutureIsNotCompleteTooEarly(t *testing.T) {
	semtest.RunCompleteIsNotEarly(t, modelKind(), interleave.Options{Mode: interleave.Bounded, Bound: 2})
}
