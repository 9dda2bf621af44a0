package report

import (
	"slices"

	"github.com/farad-go/farad/bench/array"
	"github.com/farad-go/farad/bench/capacitor"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/overload"
)

// LockWorkloads are all that goroutines do with locks, in the order of the tables.
var LockWorkloads = slices.Concat(
	locks.Mutexes, locks.Timeouts, array.Benches, capacitor.Benches, locks.Storms, capacitor.Variations,
	locks.Words, locks.Conds, locks.Keyed, locks.Observed, overload.Costs,
)
