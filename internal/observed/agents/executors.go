package agents

import (
	"runtime"
	"slices"
	"time"
	"weak"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/xsync"
)

// An Executor is what an executor says of its tasks.
type Executor struct {
	ID    uint64
	Name  string
	Place []uintptr // where it was made

	Tasks    []Task
	Dropped  uint64  // living tasks for which there was no room
	Panicked uint64  // tasks that have panicked
	Panics   []Panic // the last of them, oldest first
}

// A Task is one that has not ended.
type Task struct {
	ID        uint64
	Name      string
	Spawned   []uintptr // where; empty if it was not observed
	State     string    // waiting, queued, running, active
	WaitsFor  string
	Since     int64 // of the state, as xsync.Now says it; and so is Born
	Born      int64
	Polls     uint64
	Busy      int64
	Idle      int64
	SelfWakes uint64
	Locks     int // how many locks' futures it waits for, if for nothing else
}

// A Panic is one of a task.
type Panic struct {
	At    time.Time
	Task  string
	Value string
	Stack string
}

// frames is how many are kept of the stack of the call that has made an executor.
const frames = 16

// MaxTasks is how many tasks of an executor are read at most.
const MaxTasks = 1 << 12

// executors are all that have been made. Unlike locks they are few and know each other's tasks, so
// that tasks are seen that wait since before they were observed.
var executors struct {
	mu         xsync.Mutex
	all        []*member // guarded by mu, and so are the fields of its members
	forHolders bool      // all are observed, whatever their level; guarded by mu
}

// A member is an executor in the list.
type member struct {
	id    uint64
	name  string
	place []uintptr
	level observed.Level
	on    bool // it is observed
	ended bool // it has been shut down
	e     executor
}

// An executor is one that may have been collected.
type executor interface {
	living() bool
	is(ex any) bool
	observe(on bool)
	read() Executor
}

// An ExecutorKind is a type of executors, *T.
type ExecutorKind[T any] struct {
	name    string
	observe func(ex *T, on bool)
	read    func(ex *T) Executor // its tasks
}

// kinds are all that have been registered. They are written while packages are initialized.
var kinds []kind

// A kind is an [ExecutorKind] of any type.
type kind interface {
	watch(ex any, name string, level observed.Level) (known bool)
}

// Watch observes an executor. It reports false if its type is unknown.
func Watch(ex any, name string, level observed.Level) bool {
	for _, k := range kinds {
		if k.watch(ex, name, level) {
			return true
		}
	}
	return false
}

// RegisterExecutor makes the executors of type *T known. It is called when a package is
// initialized.
func RegisterExecutor[T any](name string, observe func(*T, bool), read func(*T) Executor) *ExecutorKind[T] {
	k := &ExecutorKind[T]{name, observe, read}
	kinds = append(kinds, k)
	return k
}

// Made says that ex was made by the caller's caller.
func (k *ExecutorKind[T]) Made(ex *T) {
	if observed.Inert {
		return
	}
	m := &member{id: observed.NewID(), place: make([]uintptr, frames), e: weakExecutor[T]{k, weak.Make(ex)}}
	m.place = m.place[:runtime.Callers(3, m.place)]
	executors.mu.Lock()
	defer executors.mu.Unlock()
	executors.all = append(slices.DeleteFunc(executors.all, func(m *member) bool { return !m.e.living() }), m)
	m.setLocked("", observed.Everything())
}

// setLocked sets name and level.
func (m *member) setLocked(name string, level observed.Level) {
	if name != "" {
		m.name = name
	}
	m.level = level
	m.agreeLocked()
}

// agreeLocked observes the executor if it should be observed.
func (m *member) agreeLocked() {
	if on := !m.ended && (m.level != observed.Off || executors.forHolders); on != m.on {
		m.on = on
		m.e.observe(on)
	}
}

// ForHolders sets whether all executors are observed, because locks have holders.
func ForHolders(on bool) {
	executors.mu.Lock()
	defer executors.mu.Unlock()
	if on == executors.forHolders {
		return
	}
	executors.forHolders = on
	for _, m := range executors.all {
		m.agreeLocked()
	}
}

// ObserveAll sets the level of all executors that have none.
func ObserveAll(level observed.Level) {
	executors.mu.Lock()
	defer executors.mu.Unlock()
	for _, m := range executors.all {
		if m.level == observed.Off {
			m.setLocked("", level)
		}
	}
}

// ReadExecutors returns what all executors say that are observed.
func ReadExecutors() (all []Executor) {
	executors.mu.Lock()
	var members []member
	for _, m := range executors.all {
		if m.on {
			members = append(members, *m)
		}
	}
	executors.mu.Unlock()
	for _, m := range members { // without the lock: it calls methods of the user's
		if m.e.living() {
			x := m.e.read()
			x.ID, x.Name, x.Place = m.id, m.name, m.place
			all = append(all, x)
		}
	}
	return all
}

// Ended says that ex has been shut down: there is nothing more to see.
func (k *ExecutorKind[T]) Ended(ex *T) {
	executors.mu.Lock()
	defer executors.mu.Unlock()
	for _, m := range executors.all {
		if m.e.is(ex) {
			m.ended = true
			m.agreeLocked()
		}
	}
}

// Executes reports whether an executor is observed.
func Executes() bool {
	executors.mu.Lock()
	defer executors.mu.Unlock()
	return slices.ContainsFunc(executors.all, func(m *member) bool {
		return m.level != observed.Off && !m.ended && m.e.living()
	})
}

func (k *ExecutorKind[T]) watch(ex any, name string, level observed.Level) bool {
	p, ok := ex.(*T)
	if !ok {
		return false
	}
	if p == nil {
		panic("observe: a nil *" + k.name)
	}
	executors.mu.Lock()
	defer executors.mu.Unlock()
	for _, m := range executors.all {
		if m.e.is(p) {
			m.setLocked(name, level)
			return true
		}
	}
	panic("observe: a *" + k.name + " that was not made by its constructor")
}

// A weakExecutor is an [executor].
type weakExecutor[T any] struct {
	kind *ExecutorKind[T]
	p    weak.Pointer[T]
}

func (w weakExecutor[T]) living() bool { return w.p.Value() != nil }

func (w weakExecutor[T]) is(ex any) bool {
	p, ok := ex.(*T)
	return ok && p == w.p.Value()
}

func (w weakExecutor[T]) observe(on bool) {
	if ex := w.p.Value(); ex != nil {
		w.kind.observe(ex, on)
	}
}

func (w weakExecutor[T]) read() (x Executor) {
	if ex := w.p.Value(); ex != nil {
		x = w.kind.read(ex)
	}
	return x
}
