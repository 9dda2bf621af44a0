package rt_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	rt "github.com/farad-go/farad/runtime"
	"github.com/farad-go/farad/sync/semaphore"
	"github.com/farad-go/farad/waiter"
)

// Four tasks share two permits and the executor's workers.
func Example() {
	ex := rt.New()
	sem := semaphore.New(2)
	work := func(cx *rt.Context) (int, error) {
		var permit waiter.Future
		sem.Bind(&permit, 1)
		defer permit.Release() // right on every path
		if err := rt.Await(cx, &permit); err != nil {
			return 0, err
		}
		return 10, rt.Sleep(cx, time.Millisecond)
	}
	var tasks []*rt.JoinHandle[int]
	for range 4 {
		tasks = append(tasks, rt.Go(ex, work))
	}
	sum := 0
	for _, h := range tasks {
		n, err := h.Wait(context.Background())
		if err != nil {
			fmt.Println(err)
		}
		sum += n
	}
	fmt.Println(sum, ex.Shutdown(context.Background()))
	// Output: 40 <nil>
}

// An executor is shut down when it is not needed any more. It lets its tasks finish, or cancels
// them when the context is done.
func ExampleExecutor_Shutdown() {
	ex := rt.New()
	h := rt.Go(ex, func(cx *rt.Context) (int, error) { return 0, rt.Sleep(cx, time.Hour) })

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	fmt.Println(ex.Shutdown(ctx))
	fmt.Println(h.Err())
	fmt.Println(ex.Spawn(&greeter{}))
	// Output:
	// rt: shutdown cancelled 1 tasks: context deadline exceeded
	// farad: cancelled
	// rt: executor shut down
}

// greeter is a poll task: an object that is polled until it has ended. It waits for a permit
// without a stack of its own.
type greeter struct {
	rt.Task
	name   string
	sem    *semaphore.Semaphore
	permit waiter.Future
	begun  bool
}

func (g *greeter) Poll(cx *rt.Context) bool {
	if !g.begun {
		g.begun = true
		g.sem.Bind(&g.permit, 1)
	}
	if !cx.Poll(&g.permit) {
		return false // called again when the permit is there
	}
	if g.permit.Err() != nil {
		return true
	}
	fmt.Println("hello,", g.name)
	g.permit.Release()
	return true
}

func ExamplePoller() {
	ex := rt.New(rt.WithWorkers(1))
	sem := semaphore.New(1)
	tasks := []greeter{{name: "Ada", sem: sem}, {name: "Blaise", sem: sem}}
	for i := range tasks { // the tasks are where they are: spawning allocates nothing
		if err := ex.Spawn(&tasks[i]); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(ex.Shutdown(context.Background()))
	// Output:
	// hello, Ada
	// hello, Blaise
	// <nil>
}

// patientTask is a poll task that waits for a permit and gives it back.
type patientTask struct {
	rt.Task
	permit waiter.Future
}

func (p *patientTask) Poll(cx *rt.Context) bool {
	if !cx.Poll(&p.permit) {
		return false
	}
	p.permit.Release()
	return true
}

// Poll tasks hold no goroutine while they wait. Straight-line tasks hold one each.
func ExamplePoller_goroutines() {
	const n = 1000
	ex := rt.New(rt.WithWorkers(1))
	sem := semaphore.New(1)
	sem.TryAcquire(1)
	before := runtime.NumGoroutine()
	count := func(waiting int) (goroutines int) {
		for int(sem.Waiting()) < waiting {
			runtime.Gosched()
		}
		return (runtime.NumGoroutine() - before + 50) / 100 * 100 // rounded
	}

	tasks := make([]patientTask, n)
	for i := range tasks {
		sem.Bind(&tasks[i].permit, 1)
		_ = ex.Spawn(&tasks[i])
	}
	fmt.Println(n, "poll tasks wait:", count(n), "goroutines")

	for range n {
		rt.Go(ex, func(cx *rt.Context) (int, error) {
			var permit waiter.Future
			sem.Bind(&permit, 1)
			defer permit.Release()
			return 0, rt.Await(cx, &permit)
		})
	}
	fmt.Println(n, "straight-line tasks wait:", count(2*n), "goroutines")
	sem.Release(1)
	_ = ex.Shutdown(context.Background())
	// Output:
	// 1000 poll tasks wait: 0 goroutines
	// 1000 straight-line tasks wait: 1000 goroutines
}

// A task of an object pool: it is spawned again when it has ended.
func ExampleTask() {
	ex := rt.New()
	g := greeter{name: "again", sem: semaphore.New(1)}
	g.SetName("greeter") // for Dump
	var end rt.Completion
	for range 2 {
		g.begun = false
		if err := ex.Spawn(&g); err != nil {
			fmt.Println(err)
		}
		end.Init(&g.Task)
		fmt.Println(rt.BlockOn(context.Background(), &end))
	}
	_ = ex.Shutdown(context.Background())
	// Output:
	// hello, again
	// <nil>
	// hello, again
	// <nil>
}

// ticker is a poll task that yields after each step, so that others have their turns.
type ticker struct {
	rt.Task
	name string
	left int
}

func (t *ticker) Poll(cx *rt.Context) bool {
	fmt.Println(t.name, t.left)
	if t.left--; t.left == 0 {
		return true
	}
	return cx.Yield()
}

func ExampleContext_Yield() {
	ex := rt.New(rt.WithWorkers(1))
	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
		return 0, errors.Join(cx.Spawn(&ticker{name: "tick", left: 2}), cx.Spawn(&ticker{name: "tock", left: 2}))
	})
	_, err := h.Wait(context.Background())
	fmt.Println(ex.Shutdown(context.Background()), err)
	// Output:
	// tick 2
	// tock 2
	// tick 1
	// tock 1
	// <nil> <nil>
}

// Any number of tasks and goroutines may wait for the end of a poll task.
func ExampleCompletion() {
	ex := rt.New()
	sem := semaphore.New(1)
	g := &greeter{name: "world", sem: sem}
	if err := ex.Spawn(g); err != nil {
		fmt.Println(err)
	}
	h := rt.Go(ex, func(cx *rt.Context) (string, error) {
		var end rt.Completion
		end.Init(&g.Task)
		return "it has ended", rt.Await(cx, &end)
	})
	fmt.Println(h.Wait(context.Background()))
	_ = ex.Shutdown(context.Background())
	// Output:
	// hello, world
	// it has ended <nil>
}

// The handle of a task is waited for in a goroutine, in a task, or in a select.
func ExampleJoinHandle() {
	ex := rt.New()
	half := rt.Go(ex, func(*rt.Context) (int, error) { return 21, nil })
	whole := rt.Go(ex, func(cx *rt.Context) (int, error) {
		n, err := half.Await(cx)
		return 2 * n, err
	})
	select {
	case <-whole.Done():
		fmt.Println(whole.Result())
	case <-time.After(time.Minute):
		fmt.Println("gave up")
	}
	_ = ex.Shutdown(context.Background())
	// Output: 42 <nil>
}

// Abort asks the task to end; what it waits for is given up, what it holds is given back by defer.
func ExampleJoinHandle_Abort() {
	ex := rt.New()
	sem := semaphore.New(1)
	sem.TryAcquire(1)
	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
		var permit waiter.Future
		sem.Bind(&permit, 1)
		defer permit.Release()
		return 0, rt.Await(cx, &permit)
	})
	h.Abort()
	_, err := h.Wait(context.Background())
	fmt.Println(err, sem.Waiting())
	_ = ex.Shutdown(context.Background())
	// Output: farad: cancelled 0
}

// Two locks, whichever is free first; and a limit to the wait.
func ExampleSelect() {
	ex := rt.New()
	small, large := semaphore.New(1), semaphore.New(1)
	small.TryAcquire(1)
	h := rt.Go(ex, func(cx *rt.Context) (string, error) {
		var a, b waiter.Future
		var limit rt.Timer
		small.Bind(&a, 1)
		defer a.Release()
		large.Bind(&b, 1)
		defer b.Release()
		limit.Init(time.Minute)
		i, err := rt.Select(cx, &a, &b, &limit)
		if err != nil {
			return "", err
		}
		switch i {
		case 0:
			return "small", nil
		case 1:
			return "large", nil
		default:
			return "", errors.New("too late")
		}
	})
	fmt.Println(h.Wait(context.Background()))
	_ = ex.Shutdown(context.Background())
	// Output: large <nil>
}

// A poll task selects with a First.
func ExampleFirst() {
	sem := semaphore.New(1)
	sem.TryAcquire(1)
	var permit waiter.Future
	var limit rt.Timer
	sem.Bind(&permit, 1)
	limit.Init(time.Millisecond)
	f := rt.FirstOf(&permit, &limit)
	fmt.Println(rt.BlockOn(context.Background(), f), f.Index(), sem.Waiting())
	// Output: <nil> 1 0
}

// All of several locks.
func ExampleAllOf() {
	ex := rt.New()
	left, right := semaphore.New(1), semaphore.New(1)
	h := rt.Go(ex, func(cx *rt.Context) (string, error) {
		var a, b waiter.Future
		left.Bind(&a, 1)
		defer a.Release()
		right.Bind(&b, 1)
		defer b.Release()
		if err := rt.Await(cx, rt.AllOf(&a, &b)); err != nil { // the same as rt.Join(cx, &a, &b)
			return "", err
		}
		return "eats", nil
	})
	fmt.Println(h.Wait(context.Background()))
	_ = ex.Shutdown(context.Background())
	// Output: eats <nil>
}

func ExampleJoin() {
	ex := rt.New()
	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
		square := func(n int) *rt.JoinHandle[int] {
			return rt.Go(cx.Executor(), func(*rt.Context) (int, error) { return n * n, nil })
		}
		a, b := square(3), square(4)
		if err := rt.Join(cx, a, b); err != nil {
			return 0, err
		}
		x, _ := a.Result()
		y, _ := b.Result()
		return x + y, nil
	})
	fmt.Println(h.Wait(context.Background()))
	_ = ex.Shutdown(context.Background())
	// Output: 25 <nil>
}

// A Timer is a future like others, in tasks and outside.
func ExampleTimer() {
	var timer rt.Timer
	timer.Init(time.Millisecond)
	fmt.Println(timer.Err())
	fmt.Println(rt.BlockOn(context.Background(), &timer))
	// Output:
	// farad: request is pending
	// <nil>
}

func ExampleTimeout() {
	sem := semaphore.New(1)
	var permit, another waiter.Future
	sem.Bind(&permit, 1)
	fmt.Println(rt.BlockOn(context.Background(), rt.Timeout(&permit, time.Millisecond)))
	sem.Bind(&another, 1)
	fmt.Println(rt.BlockOn(context.Background(), rt.Timeout(&another, time.Millisecond)))
	// Output:
	// <nil>
	// context deadline exceeded
}

func ExampleWithContext() {
	ex := rt.New()
	sem := semaphore.New(1)
	sem.TryAcquire(1)
	ctx, cancel := context.WithCancel(context.Background())
	h := rt.Go(ex, func(cx *rt.Context) (int, error) {
		var permit waiter.Future
		sem.Bind(&permit, 1)
		return 0, rt.Await(cx, rt.WithContext(ctx, &permit))
	})
	cancel()
	_, err := h.Wait(context.Background())
	fmt.Println(err)
	_ = ex.Shutdown(context.Background())
	// Output: context canceled
}

// What blocks goes to a goroutine of its own; the worker is free meanwhile.
func ExampleBlocking() {
	ex := rt.New(rt.WithWorkers(1))
	results := make(chan string)
	h := rt.Go(ex, func(cx *rt.Context) (string, error) {
		return rt.Blocking(cx, func() (string, error) { return <-results, nil })
	})
	results <- "from a channel"
	fmt.Println(h.Wait(context.Background()))
	_ = ex.Shutdown(context.Background())
	// Output: from a channel <nil>
}

// A panic ends its task, and is the error of every wait for it.
func ExamplePanicError() {
	ex := rt.New(rt.WithPanicHandler(func(*rt.PanicError) {})) // Nothing is printed.
	h := rt.Go(ex, func(*rt.Context) (int, error) { panic(context.Canceled) })
	_, err := h.Wait(context.Background())
	if panicked, ok := errors.AsType[*rt.PanicError](err); ok {
		fmt.Println(panicked.Value, strings.Contains(string(panicked.Stack), "ExamplePanicError"))
	}
	fmt.Println(errors.Is(err, context.Canceled))
	_ = ex.Shutdown(context.Background())
	// Output:
	// context canceled true
	// true
}

// The watchdog names the task that keeps its worker.
func ExampleWithWatchdog() {
	found := make(chan rt.Report, 10)
	ex := rt.New(rt.WithWatchdog(time.Millisecond, func(r rt.Report) { found <- r }))
	stop := make(chan struct{})
	rt.GoNamed(ex, "blocks", func(*rt.Context) (int, error) {
		<-stop // belongs into Blocking
		return 0, nil
	})
	r := <-found
	close(stop)
	fmt.Println(r.Task, "...", r.Kind, r.For >= time.Millisecond)
	_ = ex.Shutdown(context.Background())
	// Output: blocks ... never yields true
}

// goroutines is the simplest pool. A real one has a limit, as ants.Pool does.
type goroutines struct{ submitted int }

func (g *goroutines) Submit(fn func()) error {
	g.submitted++
	go fn()
	return nil
}

func ExamplePool() {
	pool := new(goroutines)
	ex, err := rt.NewOn(pool, rt.WithWorkers(3))
	if err != nil {
		fmt.Println(err)
		return
	}
	h := rt.Go(ex, func(cx *rt.Context) (string, error) {
		return rt.Blocking(cx, func() (string, error) { return "work", nil })
	})
	fmt.Println(h.Wait(context.Background()))
	fmt.Println(pool.submitted, "goroutines")
	_ = ex.Shutdown(context.Background())
	// Output:
	// work <nil>
	// 4 goroutines
}

// What a task has others do ends with it: the query gets the task's context.
func ExampleContext_Context() {
	ex := rt.New()
	began, ended := make(chan struct{}), make(chan error, 1)
	query := func(ctx context.Context) (string, error) { // as one of package database/sql
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", ctx.Err()
	}
	h := rt.Go(ex, func(cx *rt.Context) (string, error) {
		ctx := cx.Context()
		return rt.Blocking(cx, func() (string, error) { return query(ctx) })
	})
	<-began
	h.Abort()
	_, err := h.Wait(context.Background())
	fmt.Println("task: ", err)
	fmt.Println("query:", <-ended)
	_ = ex.Shutdown(context.Background())
	// Output:
	// task:  farad: cancelled
	// query: farad: cancelled
}

func ExampleStats() {
	ex := rt.New(rt.WithWorkers(2))
	for range 100 {
		rt.Go(ex, func(cx *rt.Context) (int, error) { return 0, rt.Yield(cx) })
	}
	_ = ex.Shutdown(context.Background())
	s := ex.Stats()
	fmt.Println(s.Workers, "workers,", s.Tasks, "tasks,", s.Ended, "ended,", s.Polls, "polls")
	// Output: 2 workers, 0 tasks, 100 ended, 200 polls
}

// What hangs shows in a dump.
func ExampleTaskInfo() {
	ex := rt.New()
	sem := semaphore.New(1)
	sem.TryAcquire(1)
	h := rt.GoNamed(ex, "invoice 4711", func(cx *rt.Context) (int, error) {
		var permit waiter.Future
		sem.Bind(&permit, 1)
		defer permit.Release()
		return 0, rt.Await(cx, &permit)
	})
	for sem.Waiting() == 0 || !ex.Dump()[0].Waiting {
		runtime.Gosched()
	}
	for _, task := range ex.Dump() {
		fmt.Println(task.Name, "waits for", task.WaitsFor)
	}
	h.Abort()
	_ = ex.Shutdown(context.Background())
	// Output: invoice 4711 waits for future of package semaphore
}

// flag is a future of one's own: it is complete when it has been raised.
type flag struct {
	mu     sync.Mutex
	raised bool
	waker  waiter.Waker
}

// Raise completes the future.
func (f *flag) Raise() {
	f.mu.Lock()
	f.raised = true
	waker := f.waker
	f.mu.Unlock()
	if waker != nil {
		waker.Wake()
	}
}

func (f *flag) Poll(w waiter.Waker) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waker = w
	return f.raised
}

func (f *flag) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.raised {
		return waiter.ErrPending
	}
	return nil
}

func (f *flag) Release() {} // there is nothing to give back

func ExampleFuture() {
	ex := rt.New()
	var f flag
	h := rt.Go(ex, func(cx *rt.Context) (string, error) { return "raised", rt.Await(cx, &f) })
	f.Raise()
	fmt.Println(h.Wait(context.Background()))
	_ = ex.Shutdown(context.Background())
	// Output: raised <nil>
}
