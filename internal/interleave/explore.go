package interleave

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/farad-go/farad/internal/xsync/model"
)

// A Mode is a way to search.
type Mode uint8

// The modes.
const (
	// Reduced executes every trace, that is, every schedule up to the order of independent steps.
	Reduced Mode = iota
	// Bounded executes every schedule with at most Bound preemptions, and prunes where an
	// equivalent execution has been.
	Bounded
	// Plain executes every schedule with at most Bound preemptions, without pruning. It is the
	// yardstick for the others.
	Plain
	// Random takes every step at random.
	Random
	// PCT runs threads by random priorities with Depth-1 random changes.
	PCT
)

func (m Mode) String() string { return [...]string{"reduced", "bounded", "plain", "random", "pct"}[m] }

// Unbounded is a Bound without effect.
const Unbounded = -1

// Options say how to search. The zero Options search exhaustively, with reduction.
type Options struct {
	Mode  Mode
	Bound int // Bounded, Plain: preemptions
	Depth int // PCT: ordering constraints of the bugs to be found; 0: 3

	Executions int // at most so many; 0: no limit, or for Random and PCT 10,000
	MaxSteps   int // of one execution: more fail; 0: 2,000
	Seed       uint64

	Shard, Shards int    // search part Shard of Shards, counted from 0
	Schedule      string // follow this schedule, once
}

// A FailureKind says in which way an execution failed.
type FailureKind uint8

// The kinds.
const (
	Deadlock  FailureKind = iota // threads wait that none will wake
	Assertion                    // Assert or Fail
	Panic                        // a thread or the body panicked
	Steps                        // no end after MaxSteps
	Race                         // the race detector has found a race
)

func (k FailureKind) String() string {
	return [...]string{"deadlock", "assertion", "panic", "no end", "data race"}[k]
}

// A Failure is what is wrong with one execution, shortened as far as could be.
type Failure struct {
	Kind     FailureKind
	Message  string
	Schedule string // replays it
	Trace    string // what happened, step by step
	Found    string // the schedule as it was found

	class string // differs for failures of one kind that shortening must not confuse
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %s\nschedule %s\n%s", f.Kind, f.Message, f.Schedule, f.Trace)
}

// A Result is what a search has found.
type Result struct {
	Executions int  // that ended
	Pruned     int  // that were given up because they would have shown nothing new
	Steps      int  // of the longest
	Threads    int  // of the one with most
	Exhausted  bool // there was no more to execute
	Elapsed    time.Duration
	Failure    *Failure // nil: none
}

var errNested = errors.New("interleave: an exploration within an exploration")

// epochs numbers executions over all explorations, so that objects of earlier ones are known.
var epochs uint64

// Explore runs body under many schedules, until one fails or there are no more.
func Explore(o Options, body func(x *Run)) (r Result) {
	if current != nil {
		panic(errNested)
	}
	began := time.Now()
	defer func() { r.Elapsed = time.Since(began) }()
	x := newRun(o)
	defer x.close()
	s := newScheduler(&o)
	for {
		x.execute(s, body)
		if x.end == endPruned || x.end == endStuck {
			r.Pruned++
		} else {
			r.Executions++
		}
		r.Steps = max(r.Steps, x.steps)
		r.Threads = max(r.Threads, len(x.threads))
		if x.failure != nil {
			r.Failure = x.failure
			x.explain(r.Failure, o.Schedule != "", body)
			return r
		}
		if !s.finish() {
			r.Exhausted = o.Mode <= Plain && o.Schedule == ""
			return r
		}
		if o.Executions > 0 && r.Executions >= o.Executions {
			return r
		}
	}
}

func newRun(o Options) *Run {
	x := &Run{maxSteps: o.MaxSteps}
	if x.maxSteps == 0 {
		x.maxSteps = 2000
	}
	return x
}

func newScheduler(o *Options) scheduler {
	if o.Schedule != "" {
		steps, err := parseSchedule(o.Schedule)
		if err != nil {
			panic(err)
		}
		return &script{steps: steps}
	}
	sh := shard{index: o.Shard, count: o.Shards}
	fr := free{left: o.Executions}
	if fr.left == 0 {
		fr.left = 10_000
	}
	rng := rand.New(rand.NewPCG(o.Seed, 1))
	switch o.Mode {
	case Reduced:
		return &reduction{shard: sh}
	case Bounded:
		return &bounded{shard: sh, bound: o.Bound, cache: new(cache)}
	case Plain:
		return &bounded{shard: sh, bound: o.Bound}
	case Random:
		return &random{free: fr, rng: rng}
	case PCT:
		depth := o.Depth
		if depth == 0 {
			depth = 3
		}
		return &pct{free: fr, rng: rng, depth: depth}
	default:
		panic("interleave: no such mode")
	}
}

// execute runs body once.
func (x *Run) execute(s scheduler, body func(*Run)) {
	epochs++
	x.sched, x.epoch = s, epochs
	x.quiet, x.aborting, x.hasExec = true, false, false
	x.threads = x.threads[:0]
	x.groups, x.steps, x.objects = 0, 0, 0
	x.running, x.failure, x.end = nil, nil, endComplete
	x.trail = x.trail[:0]
	x.invariants, x.signals, x.contexts = x.invariants[:0], x.signals[:0], x.contexts[:0]
	x.clock, x.chooses = nil, nil
	x.roots, x.names, x.structs, x.met, x.sleeping = x.roots[:0], nil, nil, 0, nil
	x.history, x.forks = object{Epoch: x.epoch}, object{Epoch: x.epoch}
	s.begin()
	current = x
	model.Explore(explorer{x}, x.epoch)
	races := raceErrors()
	defer func() {
		current = nil
		model.Explore(nil, 0)
		if r := recover(); r != nil && r != any(abort{}) {
			x.fail(Panic, fmt.Sprintf("%v\n%s", r, debug.Stack()), fmt.Sprint(r))
		}
		if raceErrors() > races { // Also if the execution was given up: each race is reported only once.
			x.fail(Race, "see above", "")
		}
	}()
	body(x)
	for _, t := range x.threads {
		if t.live {
			panic("interleave: a thread without a Wait")
		}
	}
}

// close ends the coroutines.
func (x *Run) close() {
	for _, t := range x.pool {
		t.co.close()
	}
}
