// Incident is a small shop that goes wrong on demand, and a page that shows why:
//
//	go run ./examples/incident [flags]
//
// The shop serves HTTP, and is its own customer. Its first page has four buttons, and each breaks
// one thing as it happens in real services:
//
//	leak        a search that finds nothing does not give its database connection back
//	deadlock    payments lock two accounts in the order of the payment
//	saturation  there are more thumbnails to draw than there is room for
//	slow        prices stay locked during a request to elsewhere
//
// Then find the cause on /debug/locks, without a look at the source. The same is there for curl
// and for pprof:
//
//	curl 'http://localhost:8080/debug/locks?format=text'
//	go tool pprof -top 'http://localhost:8080/debug/locks?profile=farad_held'
//	go tool pprof -top -sample_index=blame 'http://localhost:8080/debug/locks?profile=farad_wait'
//
// What is broken stays so until Ctrl-C ends the program.
//
// The exit code is one of:
//
//	0    success
//	1    the port could not be used
//	2    wrong usage
//	130  stopped by Ctrl-C (128 + SIGINT)
//	143  stopped by SIGTERM (128 + SIGTERM)
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/observe"
)

func main() {
	os.Exit(run(cli.WithSignals(context.Background()), os.Args[1:], os.Stdout, os.Stderr))
}

// run serves the shop until ctx is done.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	port := 8080
	cmd := cli.Command{
		Name:    "incident",
		About:   "Incident is a small shop that goes wrong on demand, and a page that shows why.",
		Example: "-port 9090",
	}
	cmd.Int(&port, "port", 0, 65535, "where it serves on localhost; 0: on any free port")
	if _, err := cmd.Parse(args, stdout, stderr); err != nil {
		return cli.UsageCode(err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("localhost", strconv.Itoa(port)))
	if err != nil {
		fmt.Fprintln(stderr, "incident:", err)
		return cli.ExitFailed
	}

	s := newShop(ctx)
	observe.Configure(observe.Config{
		Period: 500 * time.Millisecond, LongWait: 3 * time.Second, LongHold: 2 * time.Second,
	})
	for lock, name := range map[any]string{
		s.connections: "database connections", s.slots: "thumbnail slots", &s.prices.lock: "prices",
		&s.accounts[0].lock: "Ada's account", &s.accounts[1].lock: "Ben's account",
	} {
		observe.Watch(lock, name, observe.LevelHolders)
	}

	mux := http.NewServeMux()
	mux.Handle("/debug/locks", observe.Handler())
	s.mount(mux)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return ctx },
	}
	url := "http://" + listener.Addr().String()
	fmt.Fprintf(stdout, "The shop is open: %s\nWhat its locks do: %s/debug/locks\n", url, url)
	s.openTo(url)

	go func() {
		<-ctx.Done()
		_ = server.Close() // requests that are stuck would hold up Shutdown
	}()
	_ = server.Serve(listener)
	stopped := context.Cause(ctx)
	cli.Stopped(stderr, stopped)
	return cli.ExitCode(stopped, stopped == nil)
}
