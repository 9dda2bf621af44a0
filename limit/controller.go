package limit

import (
	"strconv"
	"time"

	"github.com/farad-go/farad/sync/semaphore"
)

// A Sample is what the requests of a window show about the resource.
type Sample struct {
	// RTT is the mean latency of the requests. It is not positive if it is not known, because all
	// were dropped for instance. Such a sample changes no limit, unless Dropped is set.
	RTT time.Duration

	// InFlight is the largest number of permits that were in use at a time. A limit that is hardly
	// used says nothing about a larger one, so controllers raise none of which less than half is in
	// use. A negative number counts as 0.
	InFlight int64

	// Dropped reports whether more requests were dropped because of overload than chance explains.
	// A Limiter sets it above 5 %.
	Dropped bool
}

// A Controller computes a limit from samples: [AIMD], [Gradient2], [Vegas] or one's own. A
// controller knows no clock and no chance. The same samples give the same limits. A [Limiter] makes
// one call at a time; a controller need not be safe for concurrent use.
type Controller interface {
	// Limit returns the limit. It is 1 at least.
	Limit() int64
	// Update takes one more sample into account and returns the limit.
	Update(s Sample) int64
}

// The defaults of all controllers.
const (
	defaultMin     = 1
	defaultMax     = 1000
	defaultInitial = 20
)

// setDefaults replaces zeros by the defaults, and refuses bounds that contradict each other.
func setDefaults(name string, lowest, highest, initial *int64) {
	refuse := func(what string) {
		panic("limit: " + name + ": " + what + " (Min " + strconv.FormatInt(*lowest, 10) + ", Max " +
			strconv.FormatInt(*highest, 10) + ", Initial " + strconv.FormatInt(*initial, 10) + ")")
	}
	if *lowest < 0 || *highest < 0 || *initial < 0 {
		refuse("a bound is negative")
	}
	if *lowest == 0 {
		*lowest = defaultMin
	}
	if *highest == 0 {
		*highest = max(defaultMax, *lowest)
	}
	*lowest, *highest = min(*lowest, semaphore.MaxPermits), min(*highest, semaphore.MaxPermits)
	if *lowest > *highest {
		refuse("Min is above Max")
	}
	if *initial == 0 {
		*initial = max(*lowest, min(*highest, defaultInitial))
	}
	if *initial < *lowest || *initial > *highest {
		refuse("Initial is not between Min and Max")
	}
}

// halfUsed reports whether a sample says something about a higher limit.
func halfUsed(s Sample, limit float64) bool { return float64(s.InFlight) >= limit/2 }
