package main

import (
	"context"
	"fmt"
	"html/template"
	"math/rand/v2"
	"net/http"
	"runtime/pprof"
	"sync/atomic"
	"time"

	"github.com/farad-go/farad/sync"
	"github.com/farad-go/farad/sync/semaphore"
)

// A shop is what the program serves. Each of its parts has a fault that can be switched on.
type shop struct {
	ctx context.Context //nolint:containedctx // the end of the program

	connections *semaphore.Semaphore // to the database, by searches
	slots       *semaphore.Semaphore // for thumbnails that are drawn at a time
	accounts    [2]account
	prices      prices

	leak, deadlock, saturation, slow atomic.Bool // what is broken

	crowd func() // has many more look at pictures
}

type account struct {
	lock    sync.Mutex
	balance int // guarded by lock
}

type prices struct {
	lock sync.Mutex
	cent int // guarded by lock
}

func newShop(ctx context.Context) *shop {
	return &shop{ctx: ctx, connections: semaphore.New(4), slots: semaphore.New(2)}
}

// mount serves the shop's pages.
func (s *shop) mount(mux *http.ServeMux) {
	for path, handle := range map[string]http.HandlerFunc{
		"/search": s.search, "/pay": s.pay, "/thumbnail": s.thumbnail, "/price": s.price,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			pprof.Do(r.Context(), pprof.Labels("path", path), func(context.Context) { handle(w, r) })
		})
	}
	mux.HandleFunc("GET /{$}", s.front)
	mux.HandleFunc("POST /break/{what}", s.breakOne)
}

// search looks something up, for which it needs a connection to the database.
func (s *shop) search(w http.ResponseWriter, r *http.Request) {
	if s.connections.Acquire(r.Context(), 1) != nil {
		return // the customer has gone
	}
	work(r.Context(), 5*time.Millisecond)
	if s.leak.Load() && r.FormValue("for") == "nothing" {
		http.NotFound(w, r)
		return // the fault: the connection is not given back
	}
	s.connections.Release(1)
	fmt.Fprintln(w, "found")
}

// pay moves money from one account to the other.
func (s *shop) pay(w http.ResponseWriter, r *http.Request) {
	from, to := 0, 1
	if r.FormValue("from") == "ben" {
		from, to = 1, 0
	}
	first, second := from, to
	if !s.deadlock.Load() { // All lock Ada's account first. The fault is not to.
		first, second = 0, 1
	}
	s.accounts[first].lock.Lock()
	defer s.accounts[first].lock.Unlock()
	work(r.Context(), time.Millisecond)
	s.accounts[second].lock.Lock()
	defer s.accounts[second].lock.Unlock()
	s.accounts[from].balance--
	s.accounts[to].balance++
	fmt.Fprintln(w, "paid")
}

// thumbnail draws a picture, which takes a while. The fault is not here: too many want one.
func (s *shop) thumbnail(w http.ResponseWriter, r *http.Request) {
	if s.slots.Acquire(r.Context(), 1) != nil {
		return
	}
	defer s.slots.Release(1)
	work(r.Context(), 50*time.Millisecond)
	fmt.Fprintln(w, "drawn")
}

// price returns what an item costs.
func (s *shop) price(w http.ResponseWriter, _ *http.Request) {
	s.prices.lock.Lock()
	defer s.prices.lock.Unlock()
	fmt.Fprintln(w, s.prices.cent)
}

// updatePrices asks elsewhere for the prices, again and again.
func (s *shop) updatePrices() {
	for s.ctx.Err() == nil {
		if s.slow.Load() {
			s.updateLocked() // the fault: nobody needs the lock to ask
		} else {
			cent := s.askElsewhere()
			s.prices.lock.Lock()
			s.prices.cent = cent
			s.prices.lock.Unlock()
		}
		work(s.ctx, 200*time.Millisecond)
	}
}

func (s *shop) updateLocked() {
	s.prices.lock.Lock()
	defer s.prices.lock.Unlock()
	s.prices.cent = s.askElsewhere()
}

// askElsewhere takes long while the other side is slow.
func (s *shop) askElsewhere() int {
	if s.slow.Load() {
		work(s.ctx, 5*time.Second)
	}
	return rand.IntN(100)
}

// work takes a time, unless ctx is done before.
func work(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// breakOne switches a fault on.
func (s *shop) breakOne(w http.ResponseWriter, r *http.Request) {
	switch r.PathValue("what") {
	case "leak":
		s.leak.Store(true)
	case "deadlock":
		s.deadlock.Store(true)
	case "slow":
		s.slow.Store(true)
	case "saturation":
		if !s.saturation.Swap(true) {
			s.crowd()
		}
	default:
		http.NotFound(w, r)
		return
	}
	http.Redirect(w, r, "/debug/locks", http.StatusSeeOther)
}

// front is the page with the buttons.
func (s *shop) front(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = frontPage.Execute(w, []struct {
		Name, Text string
		Broken     bool
	}{
		{"leak", "Searches that find nothing fail.", s.leak.Load()},
		{"deadlock", "Payments take turns in another order.", s.deadlock.Load()},
		{"saturation", "The shop is in the news.", s.saturation.Load()},
		{"slow", "The supplier of prices has a bad day.", s.slow.Load()},
	})
}

var frontPage = template.Must(template.New("front").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>The shop</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 36rem; margin: 3rem auto; padding: 0 1rem }
form { display: flex; gap: 1rem; align-items: baseline; margin: .5rem 0 }
button { font: inherit; min-width: 8rem; padding: .3rem .8rem }
</style></head><body>
<h1>The shop</h1>
<p>Break something, and find out from <a href="/debug/locks">what its locks do</a> why it hangs.</p>
{{range .}}<form method="post" action="/break/{{.Name}}">
<button{{if .Broken}} disabled{{end}}>{{.Name}}</button><span>{{.Text}}{{if .Broken}} It is broken.{{end}}</span></form>
{{end}}</body></html>
`))
