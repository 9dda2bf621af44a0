package rt

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	uber "go.uber.org/atomic"

	"github.com/farad-go/farad/internal/xsync"
	"github.com/farad-go/farad/waiter"
)

// An Executor runs tasks on a few workers. [New] makes one; [Executor.Shutdown] ends it. The zero
// Executor is of no use: its methods panic.
//
// All methods may be called from any goroutine, and from tasks, except that a task must not wait
// for the shutdown of its own executor.
//
// An executor that nobody refers to any more and that has no tasks ends by itself, some time after
// the next garbage collection: its goroutines do, and those of a pool go back. A task refers to its
// executor. So does a function of an option that uses it. Inside a bubble of testing/synctest it
// does not end by itself.
type Executor struct {
	*scheduler // nil: not made by New
}

// A scheduler is an executor without its handle, which is what users have. The workers have the
// scheduler. Only tasks have the handle, so that it is garbage when neither a user nor a task that
// lives has it.
type scheduler struct {
	injection injection
	idle      idle
	stopped   xsync.Bool // the workers go home

	workers    []*worker
	shards     []shard
	placed     xsync.Uint32 // counts admissions, to spread them over shards
	coroutines coroutines
	timers     timers
	monitor    *monitor  // nil: a single worker, which cannot help itself
	watch      *watchdog // nil: not asked for
	panics     *panics

	spawn func(func()) error // how goroutines come about

	mu      xsync.Mutex
	running int  // goroutines of ours: workers, blocking functions, reports; guarded by mu
	leaving bool // nothing remains to be done: home is to be closed when running is 0
	home    chan struct{}
	closing bool          // Shutdown has begun; guarded by mu
	drained chan struct{} // closed when the last task has ended after closing
	left    xsync.Int64   // tasks that have not ended, from closing on
	cause   uber.Error    // why tasks were cancelled by Shutdown
	swaps   atomic.Uint64 // workers replaced after a Goexit
}

// made panics if New has not made the executor.
func (ex *Executor) made() {
	if ex == nil {
		panic("rt: nil Executor")
	}
	if ex.scheduler == nil {
		panic("rt: use of an Executor that New has not made")
	}
}

// A Pool is what an executor may take its goroutines from: the workers, and those of [Blocking].
// Submit has fn run on one of the pool's goroutines, and does not wait for it; nor should it wait
// for a goroutine to become free. *ants.Pool is one; package antspool makes more of it.
//
// A task that calls runtime.Goexit ends the goroutine of its worker. The worker goes on on a
// goroutine outside of the pool.
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

// WithWorkers sets the number of workers, by default GOMAXPROCS at the time of New. It panics if n
// is not between 1 and 1024.
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

// NewOn starts an executor whose workers, and whose blocking functions, run on goroutines of p. It
// fails, with the pool's error, if p does not have room for all of its workers, each of which
// occupies a goroutine until the executor ends.
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
	}
	for _, w := range ex.workers {
		if err := ex.spawnCounted(w.work); err != nil {
			err = fmt.Errorf("rt: the pool has no goroutine for worker %d of %d: %w", w.id+1, o.workers, err)
			_ = ex.Shutdown(context.Background())
			return nil, err
		}
		ex.rouse()
	}
	// Cleanups run outside all bubbles, and must not touch a bubble's channels.
	if endsByItself && !waiter.InBubble() {
		runtime.AddCleanup(ex, (*scheduler).end, ex.scheduler)
	}
	return ex, nil
}

// newExecutor makes an executor whose workers are not started.
func newExecutor(workers int) *Executor {
	s := &scheduler{
		workers: make([]*worker, workers),
		shards:  make([]shard, shardsFor(workers)),
		home:    make(chan struct{}),
		drained: make(chan struct{}),
		panics:  new(panics),
	}
	for i := range s.workers {
		w := &worker{id: uint32(i), ex: s, solo: workers == 1, signal: xsync.NewSignal(1)}
		w.cx.w = w
		s.workers[i] = w
	}
	return &Executor{s}
}

// Spawn starts p as a task. It returns [ErrShutdown] if the executor has been shut down; then
// p.Poll is never called. It panics if p is nil or a task already. It allocates nothing.
//
// What happened before Spawn happens before the first Poll. The order in which tasks begin is not
// promised, though it is mostly that of their spawns.
func (ex *Executor) Spawn(p Poller) error {
	ex.made()
	t, err := ex.admit(p)
	if err != nil {
		return err
	}
	ex.injection.push(t)
	if w := ex.workers[0]; w.solo {
		if w.inbox.wake() {
			w.signal.Send()
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
	if !ex.shards[t.shard].add(t) {
		t.state.Store(0)
		return nil, ErrShutdown
	}
	return t, nil
}

// Shutdown ends the executor. From now on it takes no tasks. It waits for those that it has. If ctx
// is done before they have ended, it cancels them, and waits for a second more in all. It panics,
// and changes nothing, if ctx is nil.
//
// It returns nil if all tasks have ended by themselves, and an error with the cause of ctx if it
// has cancelled some. The error is [ErrStuck] if tasks, functions of [Blocking] or reports of the
// watchdog have not ended even then. After that, Shutdown may be called again, to wait longer; it
// returns nil when they have. Otherwise no goroutine of the executor remains, nor one of
// [Blocking], and nothing runs.
//
// Whatever else there is to tell, the error also says how many tasks have panicked while nobody
// waited for them, if nobody has asked for their errors since; errors.As finds one of those
// [*PanicError].
//
// A task must not wait for the shutdown of its own executor. Nor must a function of [Blocking] or a
// report of the watchdog, unless ctx ends: Shutdown waits for its caller then.
func (ex *Executor) Shutdown(ctx context.Context) error {
	ex.made()
	if ctx == nil {
		panic("rt: Shutdown with a nil context")
	}
	return ex.panics.tell(ex.shutdown(ctx))
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

// patience is how long a Shutdown waits: until its context is done, and for the time of grace.
type patience struct {
	ctx   context.Context
	grace *time.Timer // since the context was found done; nil: it was not
}

// wait waits for c until the context is done. If both are, c counts.
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

// waitOn waits for c for the rest of the time of grace, which begins with the first call. After
// false it must not be called again.
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

// cause returns why the context is done. There is an error even if a foreign context has none yet.
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

// end ends what still runs when there are no tasks, and waits for nothing. It is also the cleanup
// of the handle. It may run more than once, and at the same time.
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

// leave sends the workers home, once.
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

// close has Spawn refuse tasks, and counts those that there are.
func (ex *scheduler) close() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.closing {
		return
	}
	ex.closing = true
	ex.left.Store(1) // this function itself, while shards are closed one by one
	for i := range ex.shards {
		ex.shards[i].close(&ex.left)
	}
	ex.taskEnded()
}

// taskEnded counts a task that has ended in a closed shard.
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

// count counts a goroutine that is about to begin, and that will call workerEnded.
func (ex *scheduler) count() {
	ex.mu.Lock()
	ex.running++
	ex.mu.Unlock()
}

// workerEnded is the last thing that a goroutine of the executor does.
func (ex *scheduler) workerEnded() {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	ex.running--
	ex.goneLocked()
}

// goneLocked is called when a goroutine has ended, and when there will be no more of them.
func (ex *scheduler) goneLocked() {
	if ex.running == 0 && ex.leaving {
		ex.leaving = false // once
		close(ex.home)
	}
}

// replace has another goroutine carry on for a worker whose own is ending. It is an ordinary one:
// the pool might be full, or have its Submit wait, possibly for the very goroutine that is ending,
// and tasks depend on the worker.
func (ex *scheduler) replace(w *worker) {
	ex.swaps.Add(1)
	go w.work()
}
