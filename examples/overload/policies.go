package main

import (
	"net/http"
	"time"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/sync/semaphore"
)

// A policy is a way to choose between requests.
type policy struct {
	name    string
	gain    string // what it is for
	limiter func() *limit.Limiter
	tenant  func(*http.Request) any // whose a request is; nil: nobody's
}

// policies are all of them. But for vegas each has as many permits as the database has connections.
// The first ones show what an option does alone, the last one how they are used together.
var policies = []policy{
	{"fifo", "one tenant, and enough permits", fixed(), nil},
	{"shares", "tenants that do not starve each other", fixed(semaphore.WithShares(nil)), byName},
	{"cap", "a part that bulk work never takes", fixed(
		semaphore.WithShares(nil), semaphore.WithMaxInUse(most),
	), byName},
	{"time", "tenants whose requests take longer", fixed(
		semaphore.WithShares(nil), semaphore.WithDebit(semaphore.DebitTime),
	), byName},
	{"users", "users of one organisation", fixed(semaphore.WithShares(nil)), byUser},
	{"tree", "organisations, whose users share", fixed(
		semaphore.WithShares(nil), semaphore.WithParent(parent),
	), byUser},
	{"priorities", "the urgent before the rest", fixed(semaphore.WithPriorities(2, 200)), byClass},
	{"maxwaiting", "overload: the first thing to set", queue(semaphore.Queue{MaxWaiting: mayWait}), nil},
	{"refuselate", "doomed requests are refused at once", queue(semaphore.Queue{RefuseLate: true}), nil},
	{"codel", "bursts, and clients that slow down", queue(semaphore.Queue{Shed: semaphore.ShedCoDel}), nil},
	{"lifo", "overload, with no number to find", queue(semaphore.Queue{Shed: semaphore.ShedAdaptiveLIFO}), nil},
	{"vegas", "a limit that nobody knows, with lifo", vegas, nil},
	{"together", "tenants and overload", fixed(
		semaphore.WithShares(nil),
		semaphore.WithQueue(semaphore.Queue{MaxWaitingPerTenant: mayWait, RefuseLate: true}),
	), byName},
}

// mayWait is how many requests may wait. The last of them waits for mayWait ÷ connections times the
// work of one: for 3 of the 10 times that it has.
const mayWait = 3 * connections

// most is how many of the connections a tenant may have at a time: those that have time have one.
func most(tenant any) int64 {
	switch tenant {
	case "bulk", "batch", "reports":
		return 1
	default:
		return -1
	}
}

// A user is one of the users of a tenant.
type user struct{ tenant, name string }

func parent(tenant any) any {
	if u, ok := tenant.(user); ok {
		return u.tenant
	}
	return nil
}

// fixed makes a limiter whose limit is known.
func fixed(opts ...semaphore.Option) func() *limit.Limiter {
	return func() *limit.Limiter {
		return limit.New(semaphore.New(0, opts...), &limit.AIMD{Min: connections, Max: connections})
	}
}

func queue(q semaphore.Queue) func() *limit.Limiter { return fixed(semaphore.WithQueue(q)) }

// vegas makes a limiter that has to find the limit. It begins low: the first latencies that it sees
// are to be those without a queue. Its windows are short, because the show is. Where requests wait
// until their deadlines have nearly passed, these pass during the work, and Vegas lowers the limit,
// which makes the waits longer. So something has to keep the line short.
func vegas() *limit.Limiter {
	sem := semaphore.New(0, semaphore.WithQueue(semaphore.Queue{Shed: semaphore.ShedAdaptiveLIFO}))
	return limit.New(sem, &limit.Vegas{Initial: 4, Max: 100}, limit.WithWindow(20*time.Millisecond, 10))
}

// Clients say here who they are. A real server takes the tenant from what it has authenticated:
// who may invent names has as many shares as it likes.

func byName(r *http.Request) any { return r.Header.Get("Tenant") }

func byUser(r *http.Request) any { return user{r.Header.Get("Tenant"), r.Header.Get("User")} }

func byClass(r *http.Request) any {
	if r.Header.Get("Urgent") != "" {
		return 0
	}
	return 1
}
