package observe_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"runtime/trace"
	"sync"
	"time"

	"github.com/farad-go/farad/observe"
	"github.com/farad-go/farad/sync/semaphore"
)

// A connection that is not returned is a suspicion, long before all of them are out.
func ExampleOn() {
	observe.Configure(observe.Config{
		Period:   10 * time.Millisecond, // for the example
		LongHold: 100 * time.Millisecond,
	})
	defer observe.Configure(observe.Config{})
	connections := semaphore.New(10)
	observe.Watch(connections, "connections", observe.LevelHolders)
	defer observe.Watch(connections, "", observe.LevelOff)

	reports := make(chan observe.Suspicion, 1)
	stop := observe.On(func(s observe.Suspicion) {
		if s.Lock == "connections" {
			reports <- s
		}
	})
	defer stop()

	if err := connections.Acquire(context.Background(), 1); err != nil {
		log.Fatal(err)
	}
	s := <-reports
	connections.Release(1)
	fmt.Printf("%s: %s\n", s.Lock, s.Why)
	slog.Debug("held", "since", s.Stacks[0])
	// Output:
	// connections: long hold
}

// A flight recorder has the last seconds of the program's execution trace in memory. Here the first
// wait that is too long writes them, so that the trace shows how it came to that.
func ExampleOn_flightRecorder() {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 10 * time.Second})
	if err := recorder.Start(); err != nil {
		slog.Error("no flight recorder", "err", err)
	}
	defer recorder.Stop()

	var once sync.Once
	stop := observe.On(func(s observe.Suspicion) {
		if s.Why == observe.LongWait {
			once.Do(func() { write(recorder) })
		}
	})
	defer stop()

	serve()
	// Output:
}

func write(recorder *trace.FlightRecorder) {
	f, err := os.CreateTemp("", "long-wait-*.trace")
	if err != nil {
		slog.Error("no trace", "err", err)
		return
	}
	defer f.Close()
	if _, err := recorder.WriteTo(f); err != nil {
		slog.Error("no trace", "err", err)
		return
	}
	slog.Warn("a wait was too long", "look at it with", "go tool trace "+f.Name())
}

func serve() {}

// A service that hangs had better end, and be started again.
func ExampleOn_deadlock() {
	stop := observe.On(func(d observe.Deadlock) {
		slog.Error("the service hangs", "deadlock", d)
		os.Exit(1)
	})
	defer stop()

	serve()
	// Output:
}

func ExampleConfigure() {
	observe.Configure(observe.Config{
		LongWait: 500 * time.Millisecond, // waits for more than that are suspicious
		LongHold: -1,                     // connections may be held for ever
		Logger:   slog.New(slog.DiscardHandler),
	})
	observe.Configure(observe.Config{}) // the defaults
	// Output:
}
