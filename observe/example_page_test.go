package observe_test

import (
	"encoding/json"
	"expvar"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/sync"
)

// The page stands beside those of net/http/pprof. For curl there is ?format=text, for programs
// ?format=json.
func ExampleHandler() {
	http.Handle("/debug/locks", observe.Handler())
	server := httptest.NewServer(nil) // in a program: http.ListenAndServe("localhost:6060", nil)
	defer server.Close()

	var users sync.Mutex
	observe.Watch(&users, "users", observe.LevelHolders)
	defer observe.Watch(&users, "", observe.LevelOff)
	users.Lock()
	defer users.Unlock()

	answer, err := http.Get(server.URL + "/debug/locks?format=json")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	var s observe.Snapshot
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
		log.Fatal(err)
	}
	for _, l := range s.Locks {
		if l.Name == "users" {
			fmt.Printf("%s, a %s: %d held\n", l.Name, l.Kind, l.Held)
		}
	}
	// Output:
	// users, a sync.Mutex: 1 held
}

// Package expvar serves the snapshot of each moment, with the stacks of all who hold and wait. That
// may be large: the example of observe/series serves the numbers alone.
func ExampleRead_expvar() {
	expvar.Publish("farad", expvar.Func(func() any { return observe.Read() }))

	var s observe.Snapshot
	if err := json.Unmarshal([]byte(expvar.Get("farad").String()), &s); err != nil {
		log.Fatal(err)
	}
	slog.Debug("locks", "now", &s) // how much is wrong, and where
	// Output:
}

// A test that hangs can say why: the text of a snapshot has who waits, for what, and who holds it
// since where.
func ExampleRead() {
	var orders sync.Mutex
	observe.Watch(&orders, "orders", observe.LevelHolders)
	defer observe.Watch(&orders, "", observe.LevelOff)
	orders.Lock()
	defer orders.Unlock()

	s := observe.Read()
	if len(s.Deadlocks) > 0 {
		slog.Error("deadlock", "locks", s.String())
	}
	for _, l := range s.Locks {
		if l.Name == "orders" {
			slog.Debug("held", "by", l.Holders[0].Agent, "since", l.Holders[0].Stack)
			fmt.Printf("%s: %d held, %d waiting\n", l.Name, l.Held, l.Waiting)
		}
	}
	// Output:
	// orders: 1 held, 0 waiting
}
