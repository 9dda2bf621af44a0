// Package limit compares limits that find themselves: the controllers of farad/limit, and the
// adaptive limiter of failsafe-go, in the worlds of internal/limitsim. Nothing of it depends on the
// machine: time is the clock of a testing/synctest bubble, which both limiters read. A bubble needs
// a test. So this is no part of the program of the other families:
//
//	go -C bench test ./limit -run Compare -write
//
// writes the tables and the plot of docs/design/limit.md. Read this file first, then tables.go.
package limit

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/failsafe-go/failsafe-go/adaptivelimiter"

	"github.com/farad-go/farad/internal/limitsim"
	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

// What all contestants begin with and never exceed: failsafe-go's defaults.
const (
	Initial = 20
	Max     = 200
)

// A Contestant makes a limiter for a service with a number of servers, which only the fixed limit
// may know.
type Contestant struct {
	Name string
	New  func(servers int) limitsim.Limiter
}

// Contestants are the controllers with their defaults, failsafe-go's limiter with its defaults and
// with windows as long as ours, and two limits that do not adapt.
var Contestants = []Contestant{
	{"AIMD", func(int) limitsim.Limiter { return driven(&limit.AIMD{Max: Max, Initial: Initial}) }},
	{"Gradient2", func(int) limitsim.Limiter { return driven(&limit.Gradient2{Max: Max, Initial: Initial}) }},
	{"Vegas", func(int) limitsim.Limiter { return driven(&limit.Vegas{Max: Max, Initial: Initial}) }},
	{"failsafe-go", func(int) limitsim.Limiter { return failsafe(time.Second) }},
	{"failsafe-go, 100 ms", func(int) limitsim.Limiter { return failsafe(100 * time.Millisecond) }},
	{"fixed at 1.2 × servers", func(n int) limitsim.Limiter { return fixed(int64(n) * 6 / 5) }},
	{"fixed at the maximum", func(int) limitsim.Limiter { return fixed(Max) }},
}

func fixed(n int64) limitsim.Limiter { return driven(&limit.AIMD{Min: n, Max: n}) }

// own is a limiter of this module.
type own struct{ *limit.Limiter }

func driven(c limit.Controller) limitsim.Limiter { return own{limit.New(semaphore.New(0), c)} }

func (l own) TryAcquire() (limitsim.Permit, bool) { return l.Limiter.TryAcquire(1) }

// theirs is failsafe-go's, whose words for the ends of a permit are others.
type (
	theirs struct {
		adaptivelimiter.AdaptiveLimiter[any]
	}
	theirsPermit struct{ adaptivelimiter.Permit }
)

// failsafe returns failsafe-go's limiter with windows of at least window; all else is its default.
func failsafe(window time.Duration) limitsim.Limiter {
	return theirs{adaptivelimiter.NewBuilder[any]().
		WithLimits(1, Max, Initial).
		WithRecentWindow(window, 30*time.Second, 50).
		Build()}
}

func (l theirs) Limit() int64 { return int64(l.AdaptiveLimiter.Limit()) }

func (l theirs) TryAcquire() (limitsim.Permit, bool) {
	p, ok := l.TryAcquirePermit()
	return theirsPermit{p}, ok
}

func (p theirsPermit) Success() { p.Record() }
func (p theirsPermit) Dropped() { p.Drop() }

// A Match is what one contestant made of one world, with each seed.
type Match []*limitsim.Result

// firstSeed is not one of those by which constants were chosen.
const firstSeed = 1000

// Play runs a world with a contestant, once for each seed.
func Play(t *testing.T, c Contestant, w *limitsim.World, seeds int) (m Match) {
	t.Helper()
	for seed := range seeds {
		synctest.Test(t, func(*testing.T) {
			m = append(m, w.Run(c.Name, c.New(w.Servers(0)), uint64(firstSeed+seed)))
		})
	}
	return m
}

// median returns the median of a figure over the seeds.
func (m Match) median(of func(*limitsim.Result) float64) float64 {
	all := make([]float64, len(m))
	for i, r := range m {
		all[i] = of(r)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
