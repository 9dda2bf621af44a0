package overload

import (
	"context"
	"net/http"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/httplimit"
	"github.com/farad-go/farad/sync/semaphore"
)

// The names of what stands before the resource. Those of farad know how many requests it serves at
// a time, except with Vegas.
const (
	nameLight       = "farad, light load" // of measure.NameFarad
	namePlain       = "farad, plain"      // a line in strict order, which contexts end
	nameMaxWaiting  = "farad, MaxWaiting"
	nameMaxWait     = "farad, WithMaxWait" // a line in strict order, and a time limit
	nameLate        = "farad, RefuseLate, WithMaxWait"
	nameLateAlone   = "farad, RefuseLate"
	nameCoDel       = "farad, CoDel"
	nameVegas       = "farad, Vegas"
	nameFailsafe    = "failsafe-go, queueing"
	nameFailsafeOwn = "failsafe-go" // without a queue, as its defaults are
)

// limited puts a limiter before a handler.
type limited func(http.Handler) http.Handler

// shedding is farad's policy: it serves the newest request first, and sheds requests that have
// waited for longer than a service takes.
var shedding = semaphore.Queue{
	Shed: semaphore.ShedAdaptiveLIFO, Target: serviceTime / 2, Interval: serviceTime,
}

// flood is a server whose requests take so long, with what may stand before its resource.
func flood(s service) Bench { return floodBy(service.measure, s) }

// floodBy is flood with another way to measure.
func floodBy(
	measured func(s service, load float64, by limited, round int, t measure.Timing) (Sample, error), s service,
) Bench {
	b := Bench{Name: httpPrefix + s.name}
	add := func(name string, load float64, by limited) {
		b.Impls = append(b.Impls, Impl{name, func(round int, t measure.Timing) (Sample, error) {
			return measured(s, load, by, round, t)
		}})
	}
	add(measure.NameFarad, twice, queued(fixed, shedding))
	add(nameLight, light, queued(fixed, shedding))
	add(namePlain, twice, func(h http.Handler) http.Handler { return h })
	add(nameVegas, twice, queued(func() limit.Controller { return new(limit.Vegas) }, shedding))
	add(nameFailsafe, twice, failsafe(failsafeBuilder().WithQueueing(2, 3), true))
	add(nameFailsafeOwn, twice, failsafe(failsafeBuilder(), false))
	if !s.everything {
		return b
	}
	maxWait, codel := httplimit.WithMaxWait(serviceTime), shedding
	codel.Shed = semaphore.ShedCoDel
	add(nameMaxWaiting, twice, queued(fixed, semaphore.Queue{MaxWaiting: places}))
	add(nameMaxWait, twice, queued(fixed, semaphore.Queue{}, maxWait))
	add(nameLate, twice, queued(fixed, semaphore.Queue{RefuseLate: true}, maxWait))
	add(nameLateAlone, twice, queued(fixed, semaphore.Queue{RefuseLate: true}))
	add(nameCoDel, twice, queued(fixed, codel))
	return b
}

// fixed keeps the limit where the resource has it.
func fixed() limit.Controller { return &limit.AIMD{Min: places, Max: places} }

// queued is our limiter of HTTP.
func queued(c func() limit.Controller, q semaphore.Queue, opts ...httplimit.Option) limited {
	return func(h http.Handler) http.Handler {
		return httplimit.Handler(limit.New(semaphore.New(0, semaphore.WithQueue(q)), c()), h, opts...)
	}
}

// failsafeBuilder has failsafe-go's adaptive limiter with its defaults, but for the length of its
// windows: they are as long as those of our limiters, so that it finds its limit during the
// warm-up. 2 and 3 are its factors for queueing where it chooses them itself.
func failsafeBuilder() adaptivelimiter.Builder[*http.Response] {
	return adaptivelimiter.NewBuilder[*http.Response]().WithRecentWindow(100*time.Millisecond, 30*time.Second, 50)
}

// failsafe passes the context of the request on to the limiter, which failsafehttp.NewHandler does
// not: there a request goes on waiting when its client has gone.
func failsafe(b adaptivelimiter.Builder[*http.Response], queues bool) limited {
	return func(h http.Handler) http.Handler {
		l := b.Build()
		acquire := l.AcquirePermit
		if !queues {
			acquire = func(ctx context.Context) (adaptivelimiter.Permit, error) {
				return l.AcquirePermitWithMaxWait(ctx, 0)
			}
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			permit, err := acquire(r.Context())
			if err != nil {
				http.Error(w, err.Error(), http.StatusTooManyRequests)
				return
			}
			h.ServeHTTP(w, r)
			if r.Context().Err() != nil {
				permit.Drop()
			} else {
				permit.Record()
			}
		})
	}
}
