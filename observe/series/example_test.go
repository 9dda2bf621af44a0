package series_test

import (
	"encoding/json"
	"expvar"
	"fmt"
	"log"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/observe/series"
	"github.com/farad-go/farad/sync"
)

// Package expvar serves the numbers of all locks.
func ExampleBook() {
	var book series.Book
	expvar.Publish("farad", expvar.Func(func() any { return book.Read(observe.Read()) }))

	var users sync.Mutex
	observe.Watch(&users, "users", observe.LevelCounts)
	defer observe.Watch(&users, "", observe.LevelOff)
	users.Lock()
	users.Unlock()

	var locks []observe.Lock
	if err := json.Unmarshal([]byte(expvar.Get("farad").String()), &locks); err != nil {
		log.Fatal(err)
	}
	for _, l := range locks {
		fmt.Printf("%s: %d acquired, %d waiting\n", l.Name, l.Counts.Acquired, l.Waiting)
	}
	// Output:
	// users: 1 acquired, 0 waiting
}
