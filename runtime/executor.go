package rt

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	uber "go.uber.org/atomic"

	"github.com/farad-go/farad/internal/waiting"
	"github.com/farad-go/farad/internal/xsync"
)

// An Executor runs tasks on a few workers, each of which is a goroutine. [New] and [NewOn] start
// one, and [Executor.Shutdown] ends it. The methods of the zero Executor panic.
//
// Goroutines and tasks may call all methods at any time, except that a task must not wait for the
// shutdown of its own executor.
//
// An executor without tasks that nothing refers to ends by itself, some time after the next garbage
// collection. A task refers to its executor, and so does a function of an option that uses it. An
// executor in a bubble of testing/synctest does not end by itself.
type Executor struct {
	*scheduler // nil: New did not make it
}

// A scheduler is an executor without its handle. Workers refer to the scheduler; users and living
// tasks refer to the handle. So the handle becomes garbage when neither a user nor a living task
// has it.
type scheduler struct {
	injection injection
	idle      idle
	stopped   xsync.Bool // the workers end

	workers    []*worker
	shards     []shard
	placed     xsync.Uint32 // counts admissions, to spread them over shards
	coroutines coroutines
	timers     timers
	monitor    *monitor  // nil with a single worker, which none could relieve
	watch      *watchdog // nil without WithWatchdog
	panics     *panics

	spawn func(func()) error // starts a goroutine

	mu      xsync.Mutex
	running int           // goroutines: workers, blocking functions, reports; guarded by mu
	leaving bool          // home closes when running is 0
	home    chan struct{} // closed when all goroutines have ended
	closing bool          // Shutdown has begun; guarded by mu
	drained chan struct{} // closed when the last task has ended after closing
	left    xsync.Int64   // tasks that have not ended; counted from closing on
	cause   uber.Error    // why Shutdown has aborted tasks: the cause of the first context that did
	swaps   atomic.Uint64 // workers replaced after a Goexit

	attended  xsync.Bool // a watchdog or an observer looks at polls
	observing xsync.Bool
	bubbled   bool // it was made in a bubble of testing/synctest
}

// made panics if New did not make the executor.
func (ex *Executor) made() {
	if ex == nil {
		panic("rt: nil Executor")
	}
	if ex.scheduler == nil {
		panic("rt: use of an Executor that New has not made")
	}
}

// A Pool supplies the goroutines of an executor: those of the workers and those of [Blocking].
// Submit has a goroutine of the pool call fn. It does not wait for fn, and it should not wait for a
// free goroutine. *ants.Pool is a Pool; package antspool adds a gate to it.
//
// A task that calls runtime.Goexit ends the goroutine of its worker. The worker then continues on a
// goroutine outside the pool.
type Pool interface {
	Submit(fn func()) error
}

// An Option is an argument of [New].
type Option func(*options)

type options struct {
	workers int
	after   time.Duration
	report  func(Report)

	panicked func(*PanicError)
}

// WithWorkers sets the number of workers. The default is GOMAXPROCS at the time of New. WithWorkers
// panics if n is not between 1 and 1024.
func WithWorkers(n int) Option {
	if n < 1 || n > maxWorkers {
		panic(fmt.Sprintf("rt: %d workers, not 1 to %d", n, maxWorkers))
	}
	return func(o *options) { o.workers = n }
}

const maxWorkers = 1024

// New starts an executor whose workers are goroutines of its own.
func New(opts ...Option) *Executor {
	ex, err := start(nil, opts)
	if err != nil {
		panic(err) // starting goroutines cannot fail
	}
	return ex
}

// NewOn starts an executor whose workers and blocking functions run on goroutines of p. Each worker
// occupies one until the executor ends. If p refuses a worker, NewOn fails with the error of the
// pool.
func NewOn(p Pool, opts ...Option) (*Executor, error) {
	if p == nil {
		panic("rt: nil pool")
	}
	return start(p, opts)
}

func start(p Pool, opts []Option) (*Executor, error) {
	o := options{workers: min(runtime.GOMAXPROCS(0), maxWorkers), panicked: printPanic}
	for i, opt := range opts {
		if opt == nil {
			panic(fmt.Sprintf("rt: option %d of %d is nil", i+1, len(opts)))
		}
		opt(&o)
	}
	ex := newExecutor(o.workers)
	ex.spawn = func(fn func()) error { go fn(); return nil }
	if p != nil {
		ex.spawn = p.Submit
	}
	ex.panics.handle = o.panicked
	ex.timers.init()
	if o.workers > 1 {
		m := &monitor{ex: ex.scheduler}
		m.clock, ex.monitor = stoppedAlarm(m.tick), m
	}
	if o.report != nil {
		ex.watch = newWatchdog(ex.scheduler, o.after, o.report)
		ex.attend(true)
	}
	for _, w := range ex.workers {
		if err := ex.spawnCounted(w.work); err != nil {
			err = fmt.Errorf("rt: the pool has no goroutine for worker %d of %d: %w", w.id+1, o.workers, err)
			_ = ex.Shutdown(context.Background())
			return nil, err
		}
		ex.rouse()
	}
	kind.Made(ex)
	// Cleanups run outside all bubbles, and must not touch the channels of a bubble.
	if endsByItself && !ex.bubbled {
		runtime.AddCleanup(ex, (*scheduler).end, ex.scheduler)
	}
	return ex, nil
}

// newExecutor makes an executor without starting its workers.
func newExecutor(workers int) *Executor {
	s := &scheduler{
		workers: make([]*worker, workers),
		shards:  make([]shard, shardsFor(workers)),
		home:    make(chan struct{}),
		drained: make(chan struct{}),
		panics:  new(panics),
	}
	s.bubbled = waiting.InBubble()
	for i := range s.workers {
		w := &worker{id: uint32(i), ex: s, solo: workers == 1}
		w.sleeper.Init(s.bubbled)
		w.cx.w = w
		s.workers[i] = w
	}
	return &Executor{s}
}

// Spawn starts p as a task. If the executor has been shut down, Spawn returns [ErrShutdown] and
// p.Poll is never called. It panics if p is nil or a live task. It allocates nothing.
//
// A call of Spawn synchronizes before the first Poll. Tasks mostly begin in the order of their
// spawns, but no order is promised.
func (ex *Executor) Spawn(p Poller) error {
	ex.made()
	t, err := ex.admit(p)
	if err != nil {
		return err
	}
	ex.injection.push(t)
	if w := ex.workers[0]; w.solo {
		if w.inbox.wake() {
			w.sleeper.Wake(xsync.Token)
		}
		return nil
	}
	ex.notify()
	return nil
}

// admit makes p a task.
func (ex *Executor) admit(p Poller) (*Task, error) {
	if p == nil {
		panic("rt: spawn of a nil task")
	}
	t := p.base()
	if t == nil {
		panic("rt: spawn of a task without a Task")
	}
	if !t.state.CompareAndSwap(0, taskAlive|1) {
		panic("rt: spawn of a task that has not ended")
	}
	t.poller, t.ex, t.shard = p, ex, 0
	if len(ex.shards) > 1 {
		t.shard = ex.placed.Add(1) % uint32(len(ex.shards))
	}
	if t.flags.Load() != 0 {
		t.flags.Store(0)
	}
	var r *row
	if ex.observing.Load() {
		r = t.spawning()
	}
	if !ex.shards[t.shard].add(t) {
		if r != nil {
			t.row.Store(nil)
		}
		t.state.Store(0)
		return nil, ErrShutdown
	}
	if r != nil {
		t.letGo(r)
	}
	return t, nil
}

// Shutdown ends the executor. From its call on, the executor accepts no tasks. Shutdown waits for
// the tasks to end. If ctx is done first, Shutdown aborts the remaining tasks, and waits for one
// more second in all. It panics, and changes nothing, if ctx is nil.
//
// Shutdown returns nil if all tasks have ended by themselves, and an error with the cause of ctx if
// it has aborted some. In both cases no goroutine of the executor remains, nor one of [Blocking].
// The error is [ErrStuck] if tasks, functions of [Blocking] or reports of the watchdog have not
// ended in time. Shutdown may then be called again to wait longer, and returns nil when they have
// ended.
//
// The error also counts the tasks that have panicked while no goroutine waited for them, unless one
// has asked for their errors since. errors.As finds one [*PanicError] of them.
//
// A task must not wait for the shutdown of its own executor. A function of [Blocking] or a report
// of the watchdog may do so only with a ctx that ends, because Shutdown waits for its caller.
func (ex *Executor) Shutdown(ctx context.Context) error {
	ex.made()
	if ctx == nil {
		panic("rt: Shutdown with a nil context")
	}
	err := ex.shutdown(ctx)
	if !errors.Is(err, ErrStuck) {
		kind.Ended(ex)
	}
	return ex.panics.join(err)
}

func (ex *scheduler) shutdown(ctx context.Context) error {
	ex.close()
	p := patience{ctx: ctx}
	defer p.stop()
	cancelled := 0
	if !p.wait(ex.drained) {
		cancelled = ex.cancelAll(p.cause())
		if !p.waitOn(ex.drained) {
			return fmt.Errorf("%w: %d of them, %w", ErrStuck, ex.left.Load(), p.cause())
		}
	}
	ex.end()
	if !p.wait(ex.home) && !p.waitOn(ex.home) {
		return fmt.Errorf("%w: blocking functions or reports still run, %w", ErrStuck, p.cause())
	}
	if cancelled > 0 {
		return fmt.Errorf("rt: shutdown cancelled %d tasks: %w", cancelled, p.cause())
	}
	return nil
}

// patience is how long a Shutdown waits: until its context is done, and then for the time of grace.
type patience struct {
	ctx   context.Context
	grace *time.Timer // started when the context was found done; nil until then
}

// wait waits for c until the context is done, and reports whether c was closed. If both are, c
// counts.
func (p *patience) wait(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	case <-p.ctx.Done():
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// waitOn waits for c for the rest of the time of grace, which begins with the first call. It must
// not be called again after it has returned false.
func (p *patience) waitOn(c <-chan struct{}) bool {
	if p.grace == nil {
		p.grace = time.NewTimer(gracePeriod)
	}
	select {
	case <-c:
		return true
	case <-p.grace.C:
		return false
	}
}

// cause returns why the context is done. A foreign context may be done without an error; then it is
// context.Canceled.
func (p *patience) cause() error {
	if err := context.Cause(p.ctx); err != nil {
		return err
	}
	return context.Canceled
}

func (p *patience) stop() {
	if p.grace != nil {
		p.grace.Stop()
	}
}

// end stops the executor when there are no tasks, without waiting. It is also the cleanup of the
// handle. It may run several times, and concurrently.
func (ex *scheduler) end() {
	ex.close()
	if ex.watch != nil {
		ex.watch.stop() // before leave: no report begins after that
	}
	ex.leave()
	if ex.monitor != nil {
		ex.monitor.stop()
	}
	ex.timers.stop()
	ex.coroutines.close()
}

// leave stops the workers, once.
func (ex *scheduler) leave() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.stopped.Load() {
		return
	}
	ex.leaving = true
	ex.stop()
	ex.goneLocked()
}

// gracePeriod is how long Shutdown waits after its context is done.
const gracePeriod = time.Second

// close makes Spawn refuse tasks, and counts those that are left.
func (ex *scheduler) close() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.closing {
		return
	}
	ex.closing = true
	ex.left.Store(1) // this function, while it closes the shards one by one
	for i := range ex.shards {
		ex.shards[i].close(&ex.left)
	}
	ex.taskEnded()
}

// taskEnded counts the end of a task in a closed shard.
func (ex *scheduler) taskEnded() {
	if ex.left.Add(-1) == 0 {
		close(ex.drained)
	}
}

// spawnCounted runs fn on a goroutine that Shutdown waits for.
func (ex *scheduler) spawnCounted(fn func()) error {
	ex.count()
	err := ex.spawn(fn)
	if err != nil {
		ex.workerEnded()
	}
	return err
}

// count counts a goroutine that is about to begin. The goroutine calls workerEnded at its end.
func (ex *scheduler) count() {
	ex.mu.Lock()
	ex.running++
	ex.mu.Unlock()
}

// workerEnded is the last call of every goroutine of the executor.
func (ex *scheduler) workerEnded() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.running--
	ex.goneLocked()
}

// goneLocked is called when a goroutine has ended, and when no more of them will begin.
func (ex *scheduler) goneLocked() {
	if ex.running == 0 && ex.leaving {
		ex.leaving = false // once
		close(ex.home)
	}
}

// replace continues a worker on another goroutine, because its own is ending. The goroutine does
// not come from the pool: the pool might be full, or its Submit might wait for the goroutine that
// is ending, and tasks depend on the worker.
func (ex *scheduler) replace(w *worker) {
	ex.swaps.Add(1)
	go w.work()
}
