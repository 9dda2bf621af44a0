package observe

import (
	"fmt"
	"reflect"
	"time"
)

// What the locks of a shop look like on a bad day, always the same: for the tests of what shows it.

// The functions of the shop. Their lines are in the golden files.
func transfer()  {}
func audit()     {}
func settle()    {}
func checkout()  {}
func query()     {}
func report()    {}
func serveHTTP() {}
func export()    {}

// stackOf makes a stack of functions, the innermost first.
func stackOf(functions ...func()) Stack {
	var s Stack
	for _, f := range functions {
		s = append(s, reflect.ValueOf(f).Pointer()+1)
	}
	return s
}

var shopTime = time.Date(2026, 11, 23, 6, 40, 1, 0, time.UTC)

func ago(d time.Duration) time.Time { return shopTime.Add(-d) }

// times makes a histogram with n durations about d.
func times(n uint64, d time.Duration) Histogram {
	first := 0
	for bound(first) > d {
		first--
	}
	for bound(first+1) < d {
		first++
	}
	h := Histogram{First: first - 4}
	for _, part := range []uint64{2, 8, 20, 32, 20, 10, 4, 2, 1, 1} {
		h.Buckets = append(h.Buckets, n*part/100)
		h.Count += n * part / 100
	}
	h.Sum = time.Duration(n) * d
	return h
}

func shop() *Snapshot {
	goroutine := func(id uint64, path string) Agent {
		return Agent{Goroutine: id, Labels: map[string]string{"path": path, "tenant": "acme"}}
	}
	wait := func(id uint64, a Agent, d time.Duration, canEnd bool, stack ...func()) Waiter {
		return Waiter{ID: id, Agent: a, Permits: 1, Since: ago(d), Stack: stackOf(stack...), CanEnd: canEnd}
	}
	hold := func(id uint64, a Agent, d time.Duration, stack ...func()) Holder {
		return Holder{ID: id, Agent: a, Permits: 1, Since: ago(d), Stack: stackOf(stack...)}
	}
	payer, auditor := goroutine(18, "/pay"), goroutine(19, "/audit")
	settler := Agent{Task: 7, Goroutine: 31, Name: "settle"}
	const stuck = 48200 * time.Millisecond
	accounts := Lock{
		ID: 1, Name: "accounts", Kind: "sync.Mutex", Level: LevelHolders, Since: ago(time.Hour), Size: 1, Held: 1,
		Waiting: 1, Peak: 4, Counts: Counts{Acquired: 48211, Contended: 310, Tried: 2},
		Wait: times(310, 40*time.Microsecond), Hold: times(753, 3*time.Microsecond),
		Holders: []Holder{hold(101, payer, stuck+80*time.Millisecond, transfer, serveHTTP)},
		Waiters: []Waiter{wait(201, auditor, stuck, false, audit, serveHTTP)},
	}
	ledger := Lock{
		ID: 2, Name: "ledger", Kind: "sync.RWMutex", Level: LevelHolders, Since: ago(time.Hour), Size: 1 << 30, Held: 1,
		Free: 1<<30 - 1, Waiting: 1, Peak: 2, Counts: Counts{Acquired: 9120, Contended: 12, TimedOut: 3},
		Wait: times(12*9, 90*time.Microsecond), Hold: times(143, 8*time.Microsecond),
		Holders: []Holder{hold(102, auditor, stuck+20*time.Millisecond, audit, serveHTTP)},
		Waiters: []Waiter{wait(202, settler, stuck-2*time.Second, false, settle)},
	}
	ledger.Holders[0].Shared = true
	journal := Lock{
		ID: 3, Name: "journal", Kind: "mutex.Mutex", Level: LevelHolders, Since: ago(time.Hour), Size: 1, Held: 1,
		Waiting: 1, Peak: 1, Counts: Counts{Acquired: 700, Contended: 1},
		Hold:    times(100, 12*time.Microsecond),
		Holders: []Holder{hold(103, settler, stuck+time.Second, settle)},
		Waiters: []Waiter{wait(203, payer, stuck-time.Millisecond, false, transfer, serveHTTP)},
	}
	db := Lock{
		ID: 4, Name: "db", Kind: "semaphore.Semaphore", Level: LevelHolders, Since: ago(time.Hour), Size: 16, Held: 16,
		Waiting: 40, Peak: 57, Unknown: 1,
		Counts: Counts{Acquired: 1_284_003, Contended: 620_118, Cancelled: 211, TimedOut: 4019, QueueFull: 17},
		Wait:   times(9689, 70*time.Millisecond), Hold: times(20062, 18*time.Millisecond),
	}
	for i := range uint64(12) {
		db.Holders = append(db.Holders, hold(110+i, goroutine(40+i, "/cart"), time.Duration(30-i)*time.Millisecond,
			query, checkout, serveHTTP))
	}
	db.Holders = append([]Holder{hold(130, goroutine(90, "/report"), 95*time.Second, query, report, serveHTTP)},
		db.Holders...)
	db.Holders[0].Permits = 3
	db.Holders[0].Blame = 41 * time.Minute
	for i := range uint64(40) {
		db.Waiters = append(db.Waiters, wait(300+i, goroutine(100+i, "/cart"), time.Duration(400-9*i)*time.Millisecond,
			true, query, checkout, serveHTTP))
	}
	files := Lock{
		ID: 5, Name: "files", Kind: "semaphore.Semaphore", Level: LevelHolders, Since: ago(time.Hour), Size: 8, Free: 5, Held: 3,
		Peak: 1, Counts: Counts{Acquired: 5210, Contended: 1, Tried: 40}, Wait: times(100, time.Millisecond),
		Hold: times(81, 2*time.Millisecond),
	}
	config := Lock{
		ID: 6, Kind: "rwlock.RWMutex", Name: "main.reload (config.go:20)", Level: LevelCounts, Since: ago(time.Minute),
		Size: 1 << 20, Free: 1 << 20, Counts: Counts{Acquired: 88_120_400}, Hold: times(1_376_881, 60*time.Nanosecond),
	}
	s := &Snapshot{At: shopTime, Locks: []Lock{accounts, ledger, journal, db, files, config}}
	s.Tasks = []Task{
		{
			ID: 7, Executor: "jobs", Name: "settle", Spawned: "shop/jobs.go:31", State: "waiting", WaitsFor: "ledger",
			Since: ago(stuck - 2*time.Second), Age: time.Hour, Polls: 8123, Busy: 12 * time.Second,
			Idle: 40 * time.Microsecond,
		},
		{
			ID: 8, Executor: "jobs", Name: "index", Spawned: "shop/jobs.go:44", State: "running", Since: ago(3 * time.Millisecond),
			Age: 20 * time.Minute, Polls: 1_210_400, Busy: 9 * time.Minute, Idle: 2 * time.Microsecond,
			SelfWakes: 1_209_000,
		},
	}
	s.Panicked = 3
	s.Panics = []Panic{{
		At: ago(9 * time.Minute), Task: "index", Value: "runtime error: index out of range [3] with length 3",
		Stack: "goroutine 12 [running]:\nmain.index(0x3)\n\t/srv/shop/index.go:12 +0x1d\n",
	}}
	s.Deadlocks = []Deadlock{{At: ago(stuck - 2100*time.Millisecond), Waits: []Blocked{
		{LockID: 1, Lock: "accounts", Kind: "sync.Mutex", Waiter: accounts.Waiters[0], Holders: accounts.Holders},
		{LockID: 2, Lock: "ledger", Kind: "sync.RWMutex", Waiter: ledger.Waiters[0], Holders: ledger.Holders},
		{LockID: 3, Lock: "journal", Kind: "mutex.Mutex", Waiter: journal.Waiters[0], Holders: journal.Holders},
	}}}
	s.Suspicions = []Suspicion{
		{
			At: ago(20 * time.Minute), Why: Inversion, LockID: 5, Lock: "files",
			Text:   "files before accounts here, accounts before files there",
			Stacks: []Stack{stackOf(export, serveHTTP), stackOf(transfer, serveHTTP)},
		},
		{
			At: ago(65 * time.Second), Why: LongHold, LockID: 4, Lock: "db", Text: "3 permits held longer than 30s by goroutine 90",
			Stacks: []Stack{stackOf(query, report, serveHTTP)},
		},
		{At: ago(30 * time.Second), Why: SelfWake, Text: `task 8 "index" wakes itself`},
	}
	for i := range 3 {
		s.Leaks = append(s.Leaks, Leak{
			At: ago(time.Duration(40-i) * time.Second), LockID: 5, Lock: "files", Kind: "permit", Permits: 1,
			Agent: goroutine(uint64(70+i), "/export"), Since: ago(time.Duration(70-i) * time.Second),
			Stack: stackOf(export, serveHTTP), Returned: false,
		})
	}
	s.Dropped = Dropped{Holders: 12}
	return s
}

// crowd is a shop with far more of everything than a page has room for.
func crowd() *Snapshot {
	s := shop()
	for i := range uint64(3000) {
		l := Lock{
			ID: 1000 + i, Name: fmt.Sprintf("shard %d", i), Kind: "sync.Mutex", Level: LevelHolders, Size: 1, Held: 1,
			Counts: Counts{Acquired: i},
		}
		l.Holders = []Holder{{
			ID: 1_000_000 + i, Agent: Agent{Goroutine: 5000 + i}, Permits: 1,
			Since: ago(time.Second), Stack: stackOf(query),
		}}
		for j := range uint64(1 + i%40) {
			l.Waiting++
			l.Waiters = append(l.Waiters, Waiter{
				ID: 2_000_000 + 100*i + j, Agent: Agent{Goroutine: 1_000_000 + 100*i + j},
				Permits: 1, Since: ago(time.Duration(i) * time.Microsecond), Stack: stackOf(query, report),
			})
		}
		s.Locks = append(s.Locks, l)
	}
	for i := range uint64(3000) {
		s.Tasks = append(s.Tasks, Task{ID: 100 + i, Name: "worker", State: "queued"})
		s.Leaks = append(s.Leaks, Leak{
			At: ago(time.Minute), LockID: 1000 + i, Lock: "shard", Kind: "lock",
			Stack: stackOf(query),
		})
		s.Suspicions = append(s.Suspicions, Suspicion{
			At: ago(time.Minute), Why: LongWait, LockID: 1000 + i,
			Lock: "shard", Text: "long",
		})
	}
	return s
}

// hostile is a snapshot all of whose texts mean something in HTML, SVG, DOT or on a terminal.
func hostile() *Snapshot {
	const evil = "\"><script>alert(1)</script><svg onload=alert(2)>\\\" ]; evil [label=\"x\x1b[31m\u202eabc\n\r\x00\xff'`{{.}}&quot;"
	a := Agent{Goroutine: 9, Labels: map[string]string{evil: evil}}
	tasks := Agent{Task: 4, Name: evil, Labels: map[string]string{evil: evil}}
	h := Holder{ID: 1, Agent: a, Permits: 1, Since: ago(time.Second), Stack: stackOf(query)}
	w := Waiter{ID: 2, Agent: tasks, Permits: 1, Since: ago(time.Second), Stack: stackOf(query)}
	l := Lock{
		ID: 1, Name: evil, Kind: evil, Level: LevelHolders, Size: 1, Held: 1, Waiting: 1,
		Holders: []Holder{h}, Waiters: []Waiter{w},
	}
	return &Snapshot{
		At: shopTime, Locks: []Lock{l},
		Tasks:  []Task{{ID: 4, Executor: evil, Name: evil, Spawned: evil, State: evil, WaitsFor: evil}},
		Panics: []Panic{{At: shopTime, Task: evil, Value: evil, Stack: evil}},
		Deadlocks: []Deadlock{{At: shopTime, Waits: []Blocked{{
			LockID: 1, Lock: evil, Kind: evil, Waiter: w,
			Holders: []Holder{h},
		}}}},
		Suspicions: []Suspicion{{
			At: shopTime, Why: Reason(evil), LockID: 1, Lock: evil, Text: evil,
			Stacks: []Stack{stackOf(query)},
		}},
		Leaks: []Leak{{At: shopTime, LockID: 1, Lock: evil, Kind: evil, Agent: a, Stack: stackOf(query)}},
	}
}
