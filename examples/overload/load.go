package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A tenant sends requests at random times, whatever becomes of them.
type tenant struct {
	name   string
	load   float64 // of what the database can do
	urgent bool    // the one that the scenario is about
	slow   bool
	users  int // how many of its users send requests
}

// work returns how many times the work of others a request of the tenant is.
func (t *tenant) work() float64 {
	if t.slow {
		return slowness
	}
	return 1
}

// A scenario is who sends how much.
type scenario struct {
	name    string
	tenants []tenant
}

var scenarios = []scenario{
	{"flood", []tenant{{"bulk", 1.8, false, false, 50}, {"modest", 0.2, true, false, 1}}},
	{"2x load", []tenant{{"batch", 1.2, false, false, 1}, {"web", 0.8, true, false, 10}}},
	{"slow", []tenant{{"reports", 1.6, false, true, 10}, {"quick", 0.4, true, false, 1}}},
}

// late is why a request fails whose deadline has passed.
const late = "late"

// A trial is a scenario with a policy.
type trial struct {
	scenario
	server  *server
	lasts   time.Duration
	tallies []tally // of the tenants

	// dial connects to the server; nil: by the network.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func newTrial(s scenario, p policy, lasts time.Duration) *trial {
	return &trial{scenario: s, server: newServer(p), lasts: lasts, tallies: make([]tally, len(s.tenants))}
}

// run serves on l, and sends requests there until the time is over or ctx is done. The first
// quarter does not count: the lines begin empty.
func (t *trial) run(ctx context.Context, l net.Listener) {
	server := &http.Server{Handler: t.server, ReadHeaderTimeout: time.Minute}
	var serves, sends sync.WaitGroup
	serves.Go(func() { _ = server.Serve(l) }) // returns when it is closed
	transport := &http.Transport{DialContext: t.dial, MaxIdleConnsPerHost: 1000}

	for i, who := range t.tenants {
		t.tallies[i].begin()
		counts := time.AfterFunc(t.lasts/4, t.tallies[i].begin)
		sends.Go(func() {
			defer counts.Stop()
			t.send(ctx, &http.Client{Transport: transport}, "http://"+l.Addr().String(), who, &t.tallies[i])
		})
	}
	sends.Wait()
	transport.CloseIdleConnections()
	_ = server.Shutdown(context.WithoutCancel(ctx)) // queries go on without their clients
	serves.Wait()
}

// send sends the requests of a tenant, and waits for the answers.
func (t *trial) send(ctx context.Context, c *http.Client, url string, who tenant, counts *tally) {
	var requests sync.WaitGroup
	defer requests.Wait()
	defer counts.end()
	rate := who.load * capacity / who.work()
	end := time.Now().Add(t.lasts)
	for next := time.Now(); next.Before(end); {
		next = next.Add(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
		select {
		case <-time.After(time.Until(next)):
		case <-ctx.Done():
			return
		}
		requests.Go(func() {
			begun := time.Now()
			if why := ask(ctx, c, url, who); ctx.Err() == nil {
				counts.add(begun, why)
			}
		})
	}
}

// ask sends a request, and returns why it has failed, or nothing.
func ask(ctx context.Context, c *http.Client, url string, who tenant) (why string) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Tenant", who.name)
	r.Header.Set("User", strconv.Itoa(rand.IntN(who.users)))
	if who.urgent {
		r.Header.Set("Urgent", "yes")
	}
	if who.slow {
		r.Header.Set("Slow", "yes")
	}
	answer, err := c.Do(r)
	if err != nil {
		return failure(ctx, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return failure(ctx, err)
	case answer.StatusCode != http.StatusOK:
		return strings.TrimSpace(string(text))
	}
	return ""
}

func failure(ctx context.Context, err error) (why string) {
	if ctx.Err() != nil {
		return late
	}
	return err.Error()
}

// A tally is what has become of a tenant's requests.
type tally struct {
	mu           sync.Mutex
	begun, ended time.Time
	done         []time.Duration // how long those took that were answered in time
	failed       map[string]int  // the others, by why
}

// begin forgets all requests until now.
func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.begun, t.done, t.failed = time.Now(), nil, map[string]int{}
}

func (t *tally) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = time.Now()
}

// add counts a request that began some time ago, and has failed if why is not empty.
func (t *tally) add(begun time.Time, why string) {
	took := time.Since(begun)
	if took > deadline {
		why = late
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case begun.Before(t.begun):
	case why == "":
		t.done = append(t.done, took)
	default:
		t.failed[why]++
	}
}

// A result is a tally in figures.
type result struct {
	sent   int
	took   []time.Duration // by those that were answered in time, in order
	rate   float64         // of those, per second
	failed string          // how many of the others, and why
}

func (t *tally) result() result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := result{sent: len(t.done), took: slices.Sorted(slices.Values(t.done))}
	lasted := time.Since(t.begun)
	if !t.ended.IsZero() {
		lasted = t.ended.Sub(t.begun)
	}
	r.rate = float64(len(r.took)) / max(lasted.Seconds(), work.Seconds())
	var failed []string
	for _, why := range slices.SortedFunc(maps.Keys(t.failed), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.failed[b], t.failed[a]), cmp.Compare(a, b))
	}) {
		r.sent += t.failed[why]
		failed = append(failed, fmt.Sprint(t.failed[why], " ", why))
	}
	r.failed = strings.Join(failed, ", ")
	return r
}

// quantile returns how long a part of the requests have taken at most.
func (r result) quantile(part float64) time.Duration {
	if len(r.took) == 0 {
		return 0
	}
	return r.took[int(part*float64(len(r.took)-1))].Round(time.Millisecond)
}

// inTime returns which part of the requests were answered in time.
func (r result) inTime() float64 { return float64(len(r.took)) / float64(max(r.sent, 1)) }

// String says what has become of the requests: how many a second were answered in time, half of
// them and 99 % of them within what time, and how many of the others failed why.
func (r result) String() string {
	return fmt.Sprintf("%4.0f/s %6v %6v  %s", r.rate, r.quantile(0.5), r.quantile(0.99), r.failed)
}
