//go:build interleave

package sync

import "github.com/farad-go/farad/internal/waiting"

// Scenarios have no bubbles.
const (
	canBubble = false

	rwArrival = rwReader
	rwTooFar  = uint32(rwCrowded)
)

type (
	bubbling = admitting
	across   struct{}
)

func join(bubbling, int64, func(bool) (*waiting.Waiter, *across)) (o waiting.Outcome, here bool) {
	return waiting.Pending, false
}

func joinFrom(bubbling, *waiting.Waiter) (o waiting.Outcome, here bool) {
	return waiting.Pending, false
}

func unjoin(bubbling, int64) (ok, here bool) { return false, false }

type served struct{}

func drop(bubbling, *waiting.Waiter) (claimed []served, ok bool) { return nil, false }

func deliver(bubbling, []served) {}

func inLine(bubbling) int { return 0 }

func held(bubbling) (readers int64, writing bool) { return 0, false }

func lockBubbled(bubbling, int64, waiting.Limit) (here bool, err error) { return false, nil }

func tryBubbled(bubbling, int64) (ok, here bool) { return false, false }

func (*WaitGroup) tellBubble(int, int32) {}

func (*WaitGroup) isForeign() bool { return false }

func (*WaitGroup) waitAcross(waiting.Limit) error { return nil }
