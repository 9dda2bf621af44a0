//go:build interleave

package sync

import "github.com/farad-go/farad/waiter"

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

func join(bubbling, int64, func(bool) (*waiter.Waiter, *across)) (o waiter.Outcome, here bool) {
	return waiter.Pending, false
}

func joinFrom(bubbling, *waiter.Waiter) (o waiter.Outcome, here bool) { return waiter.Pending, false }

func unjoin(bubbling, int64) (ok, here bool) { return false, false }

type served struct{}

func drop(bubbling, *waiter.Waiter) (claimed []served, ok bool) { return nil, false }

func deliver(bubbling, []served) {}

func inLine(bubbling) int { return 0 }

func held(bubbling) (readers int64, writing bool) { return 0, false }

func lockBubbled(bubbling, int64, waiter.Limit) (here bool, err error) { return false, nil }

func tryBubbled(bubbling, int64) (ok, here bool) { return false, false }

func (*WaitGroup) tellBubble(int, int32) {}

func (*WaitGroup) isForeign() bool { return false }

func (*WaitGroup) waitAcross(waiter.Limit) error { return nil }
