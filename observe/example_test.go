package observe_test

import (
	"log/slog"
	"os"
	"runtime/trace"
	"sync"
	"time"

	"github.com/farad-go/farad/observe"
)

// A flight recorder has the last seconds of the program's execution trace in memory. Here the first
// wait that is too long writes them, so that the trace shows how it came to that.
func ExampleOnSuspicion() {
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 10 * time.Second})
	if err := recorder.Start(); err != nil {
		slog.Error("no flight recorder", "err", err)
	}
	defer recorder.Stop()

	var once sync.Once
	stop := observe.OnSuspicion(func(s observe.Suspicion) {
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
func ExampleOnDeadlock() {
	stop := observe.OnDeadlock(func(d observe.Deadlock) {
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
