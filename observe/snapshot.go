package observe

import (
	"time"

	"github.com/farad-go/farad/observe/hook"
)

// A Level says how much an observed lock keeps.
type Level uint8

// The levels.
const (
	LevelOff     Level = iota // nothing: the lock is not observed
	LevelCounts               // counters, and histograms of the times of waits and holds
	LevelHolders              // also who holds and who waits, with stacks
)

// A Snapshot is what all observed locks were at about one time. The locks go on while it is taken,
// so parts of it may differ by what happened meanwhile.
type Snapshot struct {
	At         time.Time
	Locks      []Lock      // by ID
	Tasks      []Task      // of all executors that are observed
	Panicked   uint64      // tasks that have panicked
	Panics     []Panic     // the last ones of tasks, oldest first
	Deadlocks  []Deadlock  // oldest first
	Suspicions []Suspicion // oldest first
	Leaks      []Leak      // oldest first
	Dropped    Dropped     // what there was no room for
}

// Dropped counts what is missing in a snapshot, because its number is bounded. A lock that found no
// room counts on each slow path.
type Dropped struct {
	Locks, Holders, Waiters, Tasks, Reports uint64
}

// A Lock is the state of an observed lock.
type Lock struct {
	ID    uint64 // unique in the process, and never reused
	Name  string // given by Watch, or the place that first waited for the lock
	Kind  string // the type, such as "semaphore.Semaphore"
	Level Level
	Owned bool      // who acquires also releases: mutexes and read-write locks, not semaphores
	Since time.Time // when it began to be observed

	// Permits. A read-write lock has as many as readers can hold, a keyed lock has them for each
	// key. A cond or a wait group has none. A lock of a fleet has the size of the fleet, of which
	// this process has what is free or held.
	Size, Free, Held int64
	Waiting          int   // requests in line now
	Peak             int   // the most that have waited at a time
	Unknown          int64 // permits that were held when the lock began to be observed, and still are

	Counts  Counts
	Wait    Histogram // of the waits that have ended with a grant
	Hold    Histogram
	Holders []Holder // oldest first; at LevelHolders only
	Waiters []Waiter // in the order in which they began to wait; at LevelHolders only
	Keys    []Key    // of a keyed lock: those that somebody waits for; at LevelHolders only
	Sites   []Site   // what has ended, by stack; at LevelHolders only

	Fleet *hook.Fleet `json:",omitempty"` // of a lock of package fleet, otherwise nil
}

// A Key is one key of a keyed lock.
type Key struct {
	Key     string // as holders and waiters have it
	Free    int64
	Waiting int
	Unknown int64 // permits that are held, and no holder is known
}

// Counts are numbers of requests since the lock began to be observed.
type Counts struct {
	Acquired  uint64 // granted, with or without a wait
	Contended uint64 // had to wait, whatever the outcome
	Tried     uint64 // a try that failed
	TooLarge  uint64 // for more permits than there are
	QueueFull uint64
	Cancelled uint64 // ended by their context
	TimedOut  uint64 // ended by their time, or by the deadline of their context
	Closed    uint64 // ended by Close
	Shed      uint64 // ended after too long a wait, because too many came
	Expiring  uint64 // not let wait, because no permit was expected before their deadline
	Released  uint64 // returned by the agent that had acquired
	Handed    uint64 // returned by another agent, but not those that were held before the record
}

// An Agent is who holds or waits: a goroutine, or a task of an executor.
type Agent struct {
	Goroutine uint64            // as in a stack trace; 0: not known
	Task      uint64            // the ID of a [Task]; 0: not a task
	Name      string            // of the task, or empty
	Labels    map[string]string // those of runtime/pprof
}

// A Holder has acquired permits that it has not yet released.
type Holder struct {
	ID          uint64 // unique in the process: the same hold has the same ID in the next snapshot
	Agent       Agent
	Key         string // of a keyed lock
	Tenant      string // or class, of a semaphore with shares or priorities
	Permits     int64  // a writer holds all of a read-write lock
	Shared      bool   // of a read-write lock: a reader
	Since       time.Time
	Stack       Stack         // of the acquire, for runtime.CallersFrames
	Approximate bool          // another has released permits here, and may have meant these
	Blame       time.Duration // how long others have waited for these permits, all together

	call uint64 // the call that asked for several keys at one instant; 0: it is for one
}

// A Waiter stands in line.
type Waiter struct {
	ID      uint64 // as for a [Holder]
	Agent   Agent
	Key     string
	Tenant  string
	Permits int64
	Shared  bool
	Since   time.Time
	Stack   Stack
	CanEnd  bool // a context or a time may end the wait
	Future  bool // the agent may do something else meanwhile
	Granted bool // a future that has its permits, but whose owner has not asked yet

	call uint64 // as for a Holder
}

// A Site is what the waits and holds of one stack have taken. It counts those that have ended.
type Site struct {
	Stack  Stack // of the acquire
	Waits  uint64
	Delay  time.Duration // of the waits
	Holds  uint64
	Held   time.Duration // of the holds
	Handed uint64        // holds that another agent has returned, or nobody knows for whom
	Blame  time.Duration // how long others have waited for what was held, all together
}

// A Task is a task of an executor. It is waiting, queued or running; or active, which is one of the
// last two, since before it was observed.
type Task struct {
	ID        uint64
	Executor  string
	Name      string
	Spawned   string    // the place, such as "main.serve (server.go:41)"
	State     string    // waiting, queued, running, active
	WaitsFor  string    // the future that it waits for
	Since     time.Time // of the state
	Age       time.Duration
	Polls     uint64
	Busy      time.Duration // in polls
	Idle      time.Duration // between a wake and the poll that it asked for
	SelfWakes uint64
	Locks     int // how many locks' futures it waits for, if nothing else can wake it
}

// A Panic is one of a task.
type Panic struct {
	At    time.Time
	Task  string
	Value string
	Stack string
}

// A Deadlock is a set of waits none of which can end: each known holder that could satisfy one of
// them waits itself in the set.
type Deadlock struct {
	At    time.Time
	Waits []Blocked
}

// Blocked is one wait of a deadlock.
type Blocked struct {
	LockID  uint64
	Lock    string // its name
	Kind    string
	Waiter  Waiter
	Holders []Holder // those that would have to release first
}

// A Suspicion is what may be a fault.
type Suspicion struct {
	At     time.Time
	Why    Reason
	LockID uint64 // 0: none
	Lock   string
	Text   string // one line
	Stacks []Stack
	Alike  []int // how many waits or holds each of the stacks stands for; empty: one

	inner uint64 // of an inversion: the lock that was taken second
}

// A Reason is the kind of a suspicion.
type Reason string

// The reasons.
const (
	LongWait    Reason = "long wait"
	LongHold    Reason = "long hold"
	Inversion   Reason = "lock order inversion"
	Unreleased  Reason = "possible deadlock" // a deadlock but for holders that are not known for certain
	NeverPolled Reason = "woken and never polled"
	SelfWake    Reason = "wakes itself"
)

// A Leak is a lock, a permit or a future that was collected while it was held. The lock may be that
// of a guard.
type Leak struct {
	At       time.Time
	LockID   uint64
	Lock     string
	Kind     string // what was collected: "permit", "future", "lock"
	Permits  int64
	Owned    bool  // as for a [Lock]
	Size     int64 // of the lock, when it began to be observed
	Agent    Agent
	Since    time.Time // when it was acquired
	Stack    Stack
	Returned bool // the permits have been given back, by option
}
