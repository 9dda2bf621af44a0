package capacitor

import (
	"context"
	"time"

	"github.com/farad-go/farad/internal/engine"
	"github.com/farad-go/farad/internal/parking"
	"github.com/farad-go/farad/internal/xsync"
)

// Mutex and RWLock have in front of them a gate of one permit, which admits one at a time, and
// where the admitted one sleeps when the lock is taken.

const one = 1 // the permits of the gate count from one

// openGate admits the next.
func openGate(gate *engine.Engine) {
	if !gate.Release(one, 1) {
		panic("capacitor: permit lost")
	}
}

// sleepAdmitted waits until an unlock wakes the admitted one, or ctx is done, or it is until, if
// that is not 0. It does not wait if still, which is asked under the lock that a wake takes, too,
// says no: then that has already been.
func sleepAdmitted(ctx context.Context, until int64, k parking.Key, still func() bool) (err error) {
	if until != 0 {
		_, err = parking.Default().SleepFor(time.Duration(until-xsync.Now()), k, 0, still)
	} else {
		_, err = parking.Default().Sleep(ctx, k, 0, still)
	}
	return err
}
