package overload

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/sync/semaphore"
)

// The server has a resource that serves so many requests at a time, each for so long on average. A
// client gives a request up after ten times that.
const (
	places      = 8
	serviceTime = 20 * time.Millisecond
	patience    = 10 * serviceTime
	capacity    = float64(places) * float64(time.Second) / float64(serviceTime) // requests a second
)

// The loads, as parts of the capacity.
const (
	twice = 2.0
	light = 0.1
)

// A service is how long requests take the resource.
type service struct {
	name       string
	next       func(*rand.Rand) float64 // a random multiple of serviceTime, 1 on average
	everything bool                     // all policies are measured, not only what stands for them
}

var (
	constant    = service{name: "constant", next: func(*rand.Rand) float64 { return 1 }}
	exponential = service{name: "exponential", next: (*rand.Rand).ExpFloat64}
	lognormal   = service{name: "lognormal", everything: true, next: func(r *rand.Rand) float64 {
		const deviation = 0.5
		variance := math.Log1p(deviation * deviation) // of the logarithm
		return math.Exp(r.NormFloat64()*math.Sqrt(variance) - variance/2)
	}}
)

// A request is one of a flood.
type request struct {
	due      time.Duration // since the flood began
	needs    time.Duration // of the resource
	admitted atomic.Bool
	behind   time.Duration // when it was sent, since it was due
	took     time.Duration // since it was due
	end      end
}

// An end is what a client has seen of its request.
type end uint8

const (
	late end = iota // nothing, or not all, before its deadline
	answered
	refused
)

// page is what a request is answered with.
var page = bytes.Repeat([]byte("0123456789abcdef"), 64)

// numberHeader has the number of a request, and timeoutHeader what is left of its time, in
// microseconds: gRPC, too, passes deadlines on in that way.
const (
	numberHeader  = "Request-Number"
	timeoutHeader = "Request-Timeout"
)

// arrivals returns random requests for a time, at a part of the capacity.
func arrivals(rng *rand.Rand, s service, load float64, lasts time.Duration) []*request {
	var rs []*request
	gap := float64(time.Second) / (capacity * load)
	for at := time.Duration(0); at < lasts; at += time.Duration(rng.ExpFloat64() * gap) {
		rs = append(rs, &request{due: at, needs: time.Duration(s.next(rng) * float64(serviceTime))})
	}
	return rs
}

// handler serves the requests behind a limiter. The resource has a plain semaphore of its own, like
// a pool of connections. A request whose context ends while it is served gives its place back.
func handler(rs []*request, by limited) http.Handler {
	resource := semaphore.New(places)
	of := func(r *http.Request) *request {
		n, _ := strconv.Atoi(r.Header.Get(numberHeader))
		return rs[n]
	}
	inner := by(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, ctx := of(r), r.Context()
		request.admitted.Store(true)
		if resource.Acquire(ctx, 1) != nil {
			return
		}
		timer := time.NewTimer(request.needs)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		resource.Release(1)
		if ctx.Err() == nil {
			_, _ = w.Write(page)
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		left, _ := strconv.Atoi(r.Header.Get(timeoutHeader))
		ctx, cancel := context.WithTimeout(r.Context(), time.Duration(left)*time.Microsecond)
		defer cancel()
		inner.ServeHTTP(w, r.WithContext(ctx))
	})
}

// send sends request number n, and returns what its client sees.
func send(ctx context.Context, client *http.Client, url string, n int) end {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return late
	}
	mark(q, n)
	response, err := client.Do(q)
	if err != nil {
		return late
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return late
	}
	return seen(ctx, response.StatusCode, len(body))
}

// mark writes into the header of a request what the server has to know.
func mark(q *http.Request, n int) {
	deadline, _ := q.Context().Deadline()
	q.Header.Set(numberHeader, strconv.Itoa(n))
	q.Header.Set(timeoutHeader, strconv.FormatInt(time.Until(deadline).Microseconds(), 10))
}

// seen is how a request has ended whose response is there.
func seen(ctx context.Context, status, size int) end {
	switch {
	case ctx.Err() != nil, status == http.StatusOK && size < len(page):
		return late
	case status == http.StatusOK:
		return answered
	default:
		return refused
	}
}

// measure measures a server behind a limiter.
func (s service) measure(load float64, by limited, round int, t measure.Timing) (sample Sample, err error) {
	warmup, lasts := slowness*t.Warmup, slowness*t.Window
	rs := arrivals(rand.New(rand.NewPCG(8, uint64(round))), s, load, warmup+lasts)
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true) // a request that is given up does not cost a connection
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Sample{}, err
	}
	server := &http.Server{Handler: handler(rs, by), Protocols: &protocols}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	client := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	defer func() {
		client.CloseIdleConnections()
		err = errors.Join(err, server.Close())
		serving.Wait()
	}()
	url := "http://" + listener.Addr().String()
	runtime.GC()
	if !measure.Within(warmup+lasts+t.Limit, flow(rs, func(ctx context.Context, n int) end {
		return send(ctx, client, url, n)
	})) {
		return Sample{}, measure.ErrStuck
	}
	return summary(rs, warmup, lasts), nil
}

// flow sends each request when it is due, whatever became of those before it, and notes how it
// ends. What it returns is done when all have ended.
func flow(rs []*request, send func(ctx context.Context, n int) end) *sync.WaitGroup {
	clients := new(sync.WaitGroup)
	began := time.Now()
	for n, r := range rs {
		due := began.Add(r.due)
		time.Sleep(time.Until(due))
		clients.Go(func() {
			ctx, cancel := context.WithDeadline(context.Background(), due.Add(patience))
			defer cancel()
			r.behind = time.Since(due)
			r.end = send(ctx, n)
			r.took = min(time.Since(due), patience)
		})
	}
	return clients
}

// summary is what became of the requests after the warm-up.
func summary(rs []*request, warmup, lasts time.Duration) Sample {
	var ends [3]int
	behind := 0
	var took []int64
	for _, r := range rs {
		if r.due < warmup {
			continue
		}
		ends[r.end]++
		if r.behind > serviceTime/2 {
			behind++
		}
		if r.admitted.Load() {
			took = append(took, r.took.Nanoseconds())
		}
	}
	if len(took) == 0 { // a run that is too short for figures, or the machine stood still
		took = []int64{patience.Nanoseconds()}
	}
	slices.Sort(took)
	all := ends[late] + ends[answered] + ends[refused]
	part := func(n int) float64 { return float64(n) / float64(max(1, all)) }
	return Sample{
		Goodput:  float64(ends[answered]) / (capacity * lasts.Seconds()),
		Refused:  part(ends[refused]),
		Late:     part(ends[late]),
		Behind:   part(behind),
		P50Ns:    took[len(took)/2],
		P99Ns:    took[len(took)*99/100],
		Requests: all,
	}
}
