package httplimit_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"github.com/farad-go/farad/limit"
	"github.com/farad-go/farad/limit/httplimit"
	"github.com/farad-go/farad/sync/semaphore"
)

// A server works on as many requests at a time as it can. The others wait for a second at most.
func ExampleHandler() {
	limiter := limit.New(semaphore.New(0), &limit.Gradient2{Max: 1000})
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "in flight:", limiter.InFlight())
	})
	server := httptest.NewServer(httplimit.Handler(limiter, hello, httplimit.WithMaxWait(time.Second)))
	defer server.Close()

	show(server.Client().Get(server.URL))
	limiter.Semaphore().Close()
	show(server.Client().Get(server.URL))
	// Output:
	// 200 OK in flight: 1
	// 503 Service Unavailable the server is overloaded: try again later
}

func show(r *http.Response, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	fmt.Print(r.Status, " ", string(text))
}

// A client sends a server no more requests at a time than that answers soon.
func ExampleTransport() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	limiter := limit.New(semaphore.New(0), &limit.Vegas{Max: 100})
	client := &http.Client{Transport: httplimit.Transport(limiter, nil)}

	response, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.StatusCode, "in flight:", limiter.InFlight())
	_ = response.Body.Close()
	fmt.Println("in flight:", limiter.InFlight())
	// Output:
	// 404 in flight: 1
	// in flight: 0
}

// Large requests need more permits, health checks none.
func ExampleOption() {
	limiter := limit.New(semaphore.New(0), &limit.AIMD{Min: 16})
	cost := func(r *http.Request) int64 {
		if r.URL.Path == "/healthz" {
			return 0
		}
		n, _ := strconv.ParseInt(r.URL.Query().Get("items"), 10, 64)
		return min(max(1, n/100), 16) // never more than the smallest limit
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "in flight:", limiter.InFlight())
	})
	server := httptest.NewServer(httplimit.Handler(limiter, handler, httplimit.WithCost(cost)))
	defer server.Close()
	for _, path := range []string{"/healthz", "/list?items=10", "/list?items=500"} {
		show(server.Client().Get(server.URL + path))
	}
	// Output:
	// 200 OK in flight: 0
	// 200 OK in flight: 1
	// 200 OK in flight: 5
}

// A customer who sends very many requests does not take the permits from the others. Those who pay
// have four times the share.
func ExampleWithTenant() {
	pays := map[string]bool{"acme": true}
	weight := func(tenant any) int {
		if name, ok := tenant.(string); ok && pays[name] {
			return 4
		}
		return 1
	}
	sem := semaphore.New(0,
		semaphore.WithShares(weight),
		semaphore.WithQueue(semaphore.Queue{RefuseLate: true, MaxWaitingPerTenant: 100}))
	limiter := limit.New(sem, &limit.Gradient2{Max: 1000})

	customer := func(r *http.Request) any {
		name, _, _ := r.BasicAuth() // an outer handler has checked the password
		return name
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	server := httptest.NewServer(httplimit.Handler(limiter, hello,
		httplimit.WithTenant(customer), httplimit.WithMaxWait(time.Second)))
	defer server.Close()
	show(server.Client().Get(server.URL))
	// Output: 200 OK hello
}

// The length of a download says more of its client than of the server, so it does not count.
func ExampleResult() {
	limiter := limit.New(semaphore.New(0), &limit.Gradient2{Max: 1000})
	end := func(p *limit.Permit, r httplimit.Result) {
		if strings.HasPrefix(r.Request.URL.Path, "/downloads/") {
			p.Ignore()
			return
		}
		httplimit.End(p, r)
	}
	handler := httplimit.Handler(limiter, http.FileServer(http.Dir(".")), httplimit.WithEnd(end))
	server := httptest.NewServer(handler)
	defer server.Close()
	show(server.Client().Get(server.URL + "/downloads/none"))
	// Output: 404 Not Found 404 page not found
}
