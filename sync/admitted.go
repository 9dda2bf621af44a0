package sync

import (
	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/waiter"
)

// Mutex and RWMutex have in front of them a gate of one permit, which admits one at a time, and
// where the admitted one sleeps when the lock is taken.

const one = 1 // the permits of the gate count from one

// openGate admits the next.
func openGate(gate engine.Permits) {
	if !gate.Release(1) {
		panic("sync: permit lost")
	}
}

// sleepAdmitted waits until an unlock wakes the admitted one, or until ends the wait. It does not
// wait if still, which is asked under the lock that a wake takes, too, says no: then that has
// already been.
func sleepAdmitted(until waiter.Limit, k parking.Key, still func() bool) error {
	_, err := parking.Default().Sleep(until, k, 0, still)
	return err
}
