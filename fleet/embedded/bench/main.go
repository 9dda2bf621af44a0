// Command bench measures what permits of a fleet cost, beside locks that users of etcd have today:
// ratios in one run, on three members in processes of their own. It prints a table in Markdown.
//
//	go -C fleet/embedded run ./bench
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/embedded/internal/child"
	"github.com/farad-go/farad/fleet/embedded/internal/cluster"
	"github.com/farad-go/farad/fleet/etcd"
)

func main() {
	cluster.Main()
	child.Main("holder", hold)
	rounds := flag.Int("rounds", 5, "how often each pair is measured; the medians are shown")
	only := flag.String(
		"only",
		"",
		"measure one group of rows only: "+strings.Join(slices.Sorted(maps.Keys(measures)), ", "),
	)
	slice := flag.Duration("time", 2*time.Second, "how long each measurement lasts")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *only, *rounds, *slice); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// A bench has what all rows need.
type bench struct {
	ctx     context.Context
	cluster *cluster.Cluster
	rounds  int
	slice   time.Duration
	names   int // of semaphores, so that each measurement has its own
	trip    time.Duration
	dial    []grpc.DialOption // of the clients of members
}

// The measures, and their order.
var (
	order    = []string{"nohold", "one", "held", "fairness", "waits", "closing", "kills", "rest", "crowd", "keys"}
	measures = map[string]func(*bench) ([]row, error){
		"nohold": (*bench).noHold, "one": (*bench).oneProcess, "held": (*bench).held, "fairness": (*bench).fairness,
		"waits": (*bench).waits, "closing": (*bench).closing, "kills": (*bench).kills, "rest": (*bench).rest,
		"crowd": (*bench).crowd, "keys": (*bench).keys,
	}
)

func run(ctx context.Context, only string, rounds int, slice time.Duration) (err error) {
	c, err := cluster.Start(ctx, 3)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	b := &bench{ctx: ctx, cluster: c, rounds: rounds, slice: slice}
	if err := b.roundTrip(); err != nil {
		return err
	}
	fmt.Printf("Three members, 3 clients × 8 goroutines unless said otherwise.\n")
	fmt.Printf("Medians of %d rounds of %v. ", rounds, slice)
	fmt.Printf("A transaction takes %v.\n\n", b.trip.Round(10*time.Microsecond))
	fmt.Println("| what | Farad | other | ratio | target | |\n|---|---|---|---|---|---|")
	for _, name := range order {
		if only != "" && name != only {
			continue
		}
		rows, err := measures[name](b)
		if err != nil {
			return err
		}
		for _, r := range rows {
			fmt.Println(r)
		}
	}
	return nil
}

// A row is a figure and its target.
type row struct {
	what, ours, other string
	ratio             float64
	least, most       float64 // the target: one of them, or none
	unit              string  // of ratio, where it is none
}

func (r row) String() string {
	target, verdict := "", ""
	switch {
	case r.least > 0:
		target, verdict = fmt.Sprintf("≥ %g%s", r.least, r.unit), met(r.ratio >= r.least)
	case r.most > 0:
		target, verdict = fmt.Sprintf("≤ %g%s", r.most, r.unit), met(r.ratio <= r.most)
	}
	return fmt.Sprintf("| %s | %s | %s | %.3g%s | %s | %s |", r.what, r.ours, r.other, r.ratio, r.unit, target, verdict)
}

func met(is bool) string {
	if is {
		return "met"
	}
	return "**missed**"
}

// roundTrip measures a transaction.
func (b *bench) roundTrip() error {
	c, err := b.cluster.Client()
	if err != nil {
		return err
	}
	defer c.Close()
	var all []float64
	for range 50 {
		begin := time.Now()
		if _, err := c.Put(b.ctx, "trip", ""); err != nil {
			return err
		}
		all = append(all, float64(time.Since(begin)))
	}
	b.trip = time.Duration(median(all))
	return nil
}

// members joins n processes' worth of fleet, and returns what ends them.
func (b *bench) members(n int, opts ...fleet.Option) (fs []*fleet.Fleet, end func(), err error) {
	var clients []*clientv3.Client
	end = func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for _, f := range fs {
			err = errors.Join(err, f.Close(ctx))
		}
		for _, c := range clients {
			err = errors.Join(err, c.Close())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench: at the end:", err)
		}
	}
	for range n {
		c, err := clientv3.New(clientv3.Config{
			Endpoints: b.cluster.Endpoints(), Logger: zap.NewNop(), DialOptions: b.dial,
		})
		if err != nil {
			return fs, end, err
		}
		clients = append(clients, c)
		f, err := fleet.New(b.ctx, etcd.New(c, "bench"), opts...)
		if err != nil {
			return fs, end, err
		}
		fs = append(fs, f)
	}
	return fs, end, nil
}

func (b *bench) name() string {
	b.names++
	return fmt.Sprint("s", b.names)
}

// revision returns the store's revision: it grows by one with each write.
func (b *bench) revision() (int64, error) {
	c, err := b.cluster.Client()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	r, err := c.Get(b.ctx, "x")
	if err != nil {
		return 0, err
	}
	return r.Header.GetRevision(), nil
}
