//go:build interleave

package twa_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/semtest"
	"github.com/farad-go/farad/twa"
)

const inFlight = "documented: who has taken its tickets, and does not sleep yet, may be granted by a release after the resize"

// Every history that the explorer can bring about is one that the sequential semaphore could have
// given.
func TestModelTicketHistories(t *testing.T) {
	semtest.RunHistories(
		t,
		semtest.Kind{
			New:       func(n int64) semtest.Semaphore { return twa.New(n, twa.WithWaitingArray(twa.NewArray(1))) }, // where sleepers meet
			NewFuture: newFuture,
		},
		semtest.Known{Test: "resize too large", Why: inFlight},
		semtest.Known{Test: "resize twice", Why: inFlight},
	)
}
