package contract

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/embedded"
	"github.com/farad-go/farad/fleet/etcd"
	"github.com/farad-go/farad/observe"
	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
)

// open returns an etcd in this process, with a client, and what closes both.
func open() (*clientv3.Client, func()) {
	server, err := embedded.Start("")
	if err != nil {
		log.Fatal(err)
	}
	client, err := server.Client()
	if err != nil {
		log.Fatal(err)
	}
	return client, func() { client.Close(); server.Close() }
}

func Example() {
	client, end := open()
	defer end()
	ctx := context.Background()

	f, err := fleet.New(ctx, etcd.New(client, "billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	sem, err := f.Semaphore(ctx, "exports", 40)
	if err != nil {
		log.Fatal(err)
	}
	p, err := sem.AcquirePermit(ctx, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Release()
	fmt.Println(p.N(), p.Valid(), p.Context().Err())
	// Output: 3 true <nil>
}

// The same code with permits of this process, and of the fleet.
func ExamplePermits() {
	client, end := open()
	defer end()
	ctx := context.Background()
	f, err := fleet.New(ctx, etcd.New(client, "billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	all, err := f.Semaphore(ctx, "imports", 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, permits := range []fleet.Permits{semaphore.New(2), all} {
		err := permits.Acquire(ctx, 2)
		fmt.Println(err, permits.TryAcquire(1))
		permits.Release(2)
	}
	// Output:
	// <nil> false
	// <nil> false
}

func ExampleMutex() {
	client, end := open()
	defer end()
	ctx := context.Background()
	f, err := fleet.New(ctx, etcd.New(client, "billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	leader, err := f.Mutex(ctx, "leader")
	if err != nil {
		log.Fatal(err)
	}
	p, err := leader.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = leader.TryLock(ctx)
	fmt.Println(errors.Is(err, fleet.ErrBusy))
	p.Release()
	// Output: true
}

func ExampleRWMutex() {
	client, end := open()
	defer end()
	ctx := context.Background()
	f, err := fleet.New(ctx, etcd.New(client, "billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	config, err := f.RWMutex(ctx, "config")
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // readers share it
		p, err := config.RLock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		defer p.Release()
	}
	soon, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = config.Lock(soon)
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	// Output: true
}

// One process of all runs the scheduler. Others know which one.
func ExampleElection() {
	client, end := open()
	defer end()
	ctx := context.Background()
	f, err := fleet.New(ctx, etcd.New(client, "billing"), fleet.WithName("10.0.0.1:8080"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	scheduler, err := f.Election(ctx, "scheduler")
	if err != nil {
		log.Fatal(err)
	}
	term, err := scheduler.Campaign(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer term.Release()
	for leader := range scheduler.Observe(ctx) {
		fmt.Println(leader.Process, leader.Own)
		break
	}
	// Work with term.Context(), and show term.Token() to what is written to.
	fmt.Println(term.Context().Err())
	// Output:
	// 10.0.0.1:8080 true
	// <nil>
}

// At most five exports of each tenant, over all processes. One tenant has more.
func ExampleKeyed() {
	client, end := open()
	defer end()
	ctx := context.Background()
	f, err := fleet.New(ctx, etcd.New(client, "billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	exports, err := f.Keyed(ctx, "exports", 5)
	if err != nil {
		log.Fatal(err)
	}
	if err := exports.Resize(ctx, "acme", 20); err != nil {
		log.Fatal(err)
	}
	for _, tenant := range []string{"acme", "other"} {
		p, err := exports.Acquire(ctx, tenant, 5)
		if err != nil {
			log.Fatal(err)
		}
		defer p.Release()
		more, err := exports.TryAcquire(ctx, tenant, 1)
		fmt.Println(tenant, err)
		more.Release() // also if there is none
	}
	// Output:
	// acme <nil>
	// other farad: the fleet's permits are in use
}

// A document is read by many and written by one, over all processes. Its name is the key.
func ExampleKeyed_readersAndWriters() {
	client, end := open()
	defer end()
	ctx := context.Background()
	f, err := fleet.New(ctx, etcd.New(client, "billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	documents, err := f.Keyed(ctx, "documents", 1000) // readers at a time
	if err != nil {
		log.Fatal(err)
	}
	reader, err := documents.Acquire(ctx, "report", 1)
	if err != nil {
		log.Fatal(err)
	}
	another, err := documents.TryAcquire(ctx, "report", 1)
	fmt.Println("another reader:", err)
	another.Release()
	_, err = documents.TryAcquire(ctx, "report", documents.Size())
	fmt.Println("a writer:", err)
	reader.Release()
	writer, err := documents.TryAcquire(ctx, "report", documents.Size())
	fmt.Println("then:", err)
	writer.Release()
	// Output:
	// another reader: <nil>
	// a writer: farad: the fleet's permits are in use
	// then: <nil>
}

func ExampleFuture() {
	client, end := open()
	defer end()
	ctx := context.Background()
	f, err := fleet.New(ctx, etcd.New(client, "billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	sem, err := f.Semaphore(ctx, "exports", 1)
	if err != nil {
		log.Fatal(err)
	}
	var request fleet.Future
	sem.Bind(&request, 1)
	defer request.Release()
	select {
	case <-request.Done():
		fmt.Println(request.Err())
	case <-time.After(time.Minute):
		fmt.Println("given up")
	}
	// Output: <nil>
}

// A task waits for permits of the fleet without a goroutine of its own.
func ExampleFuture_task() {
	client, end := open()
	defer end()
	ctx := context.Background()
	f, err := fleet.New(ctx, etcd.New(client, "billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	sem, err := f.Semaphore(ctx, "exports", 2)
	if err != nil {
		log.Fatal(err)
	}
	executor := rt.New()
	var tasks []*rt.JoinHandle[int64]
	for range 4 {
		tasks = append(tasks, rt.Go(executor, func(cx *rt.Context) (int64, error) {
			var request fleet.Future
			sem.Bind(&request, 1)
			defer request.Release()
			if err := rt.Await(cx, &request); err != nil {
				return 0, err
			}
			p := request.Permit() // reports a loss, and has a token
			defer p.Release()
			return p.N(), rt.Sleep(cx, time.Millisecond)
		}))
	}
	for _, t := range tasks {
		fmt.Println(t.Wait(ctx))
	}
	fmt.Println(executor.Shutdown(ctx))
	// Output:
	// 1 <nil>
	// 1 <nil>
	// 1 <nil>
	// 1 <nil>
	// <nil>
}

// The page of observed locks shows a lock of the fleet with its holders and waiters in this
// process, and with the blocks of all processes.
func Example_observed() {
	client, end := open()
	defer end()
	ctx := context.Background()
	f, err := fleet.New(ctx, etcd.New(client, "billing"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)
	sem, err := f.Semaphore(ctx, "exports", 40)
	if err != nil {
		log.Fatal(err)
	}
	observe.Watch(sem, "exports", observe.LevelHolders)
	defer observe.Watch(sem, "", observe.LevelOff)
	p, err := sem.AcquirePermit(ctx, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Release()
	for _, l := range observe.Read().Locks {
		if l.Name != "exports" {
			continue
		}
		fmt.Printf("%s: %d of %d held here, by %d\n", l.Kind, l.Held, l.Size, len(l.Holders))
		for _, b := range l.Fleet.Blocks {
			fmt.Println("own:", b.Own, "holds:", b.Holds, "permits:", b.Permits)
		}
	}
	// Output:
	// fleet.Semaphore: 3 of 40 held here, by 1
	// own: true holds: true permits: 3
}
