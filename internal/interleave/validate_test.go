package interleave

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
)

// The searches are validated against plain search, which is too simple to be wrong, on random
// programs: they must see the very same traces. Programs that fail here are printed as a list of
// instructions for each thread.

var programs = flag.Int("programs", 0, "random programs for each validation; 0: more under FARAD_STRESS")

func programCount(t *testing.T, short, long int) int {
	t.Helper()
	switch {
	case *programs > 0:
		return *programs
	case !locktest.Stress() || RaceEnabled:
		return short
	default:
		return long
	}
}

type instruction uint8

const (
	insLoad instruction = iota
	insStore
	insAdd
	insCAS
	insLockSection // lock, load, store, unlock
	insTryLock
	insSend
	insReceive
	insReceiveOr
	insTimed
	insChoose
	insAwait // spin until the variable is not 0
	insAwaitEither
	insCancel
	insGo // start a thread that adds, and join it
	insCall
	instructions
)

func (i instruction) String() string {
	return [...]string{
		"load", "store", "add", "cas", "section", "trylock", "send", "receive", "receiveOr", "timed", "choose", "await",
		"awaitEither", "cancel", "go", "call",
	}[i]
}

type step2 struct {
	ins instruction
	v   int
}

// A program is a list of instructions for each thread; the first alike threads run the same list.
type program struct {
	threads [][]step2
	alike   int
	told    bool // the search knows which threads are alike
}

func (p program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "alike %d\n", p.alike)
	for i, l := range p.threads {
		fmt.Fprintf(&b, "%c: ", 'a'+i)
		for _, s := range l {
			fmt.Fprintf(&b, "%v(%d) ", s.ins, s.v)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func randomProgram(rng *rand.Rand, alike bool) program {
	var p program
	n := 2 + rng.IntN(2)
	size := 4
	if n == 3 {
		size = 2
	}
	// A few kinds of instruction for each program: they then meet more often.
	kinds := make([]instruction, 1+rng.IntN(4))
	for i := range kinds {
		kinds[i] = instruction(rng.IntN(int(instructions)))
	}
	vars := 1 + rng.IntN(3)
	for range n {
		var l []step2
		children := 0
		for range 1 + rng.IntN(size) {
			s := step2{kinds[rng.IntN(len(kinds))], rng.IntN(vars)}
			if s.ins == insGo {
				if children++; children > 1 {
					s.ins = insLoad
				}
			}
			l = append(l, s)
		}
		p.threads = append(p.threads, l)
	}
	if alike {
		p.alike = 2 + rng.IntN(n-1)
		for i := 1; i < p.alike; i++ {
			p.threads[i] = p.threads[0]
		}
	}
	return p
}

// schedules returns about how many schedules the program has, most of them if operations block.
func (p program) schedules() float64 {
	schedules, steps := 1.0, 0
	for _, l := range p.threads {
		n := 1
		for _, s := range l {
			n += [instructions]int{insLockSection: 3, insTryLock: 2, insCancel: 1, insGo: 3, insCall: 2}[s.ins] + 1
		}
		for i := range n {
			steps++
			schedules *= float64(steps) / float64(i+1)
		}
	}
	return schedules
}

// body runs the program. Each thread notes what it has seen: with the final values that is the
// outcome.
func (p program) body(outcome func(string)) func(x *Run) {
	return func(x *Run) {
		var vars [3]Int32
		var mus [3]Mutex
		ctx := x.NewContext()
		sigs := make([][3]*Signal, len(p.threads)) // one receiver each
		for i := range sigs {
			for j := range sigs[i] {
				sigs[i][j] = NewSignal(1)
			}
		}
		logs := make([][]byte, len(p.threads))
		run := func(i int) {
			saw := func(v int32) { logs[i] = append(logs[i], byte('0'+v)) }
			is := func(ok bool) {
				if ok {
					saw(1)
				} else {
					saw(0)
				}
			}
			for k, s := range p.threads[i] {
				v := &vars[s.v]
				switch s.ins {
				case insLoad:
					saw(v.Load())
				case insStore:
					v.Store(int32(k + 1))
				case insAdd:
					saw(v.Add(1))
				case insCAS:
					is(v.CompareAndSwap(0, 1))
				case insLockSection:
					mus[s.v].Lock()
					r := v.Load()
					v.Store(r + 1)
					mus[s.v].Unlock()
					saw(r)
				case insTryLock:
					if mus[s.v].TryLock() {
						saw(v.Load())
						mus[s.v].Unlock()
					}
				case insSend:
					to := len(sigs) - 1
					if p.alike > to {
						to = i // it would make the last one different
					}
					sigs[to][s.v].TrySend() // alike threads must do alike
				case insReceive:
					sigs[i][s.v].Receive()
					saw(1)
				case insReceiveOr:
					is(sigs[i][s.v].ReceiveOr(ctx.Done()))
				case insTimed:
					is(receiveWithin(sigs[i][s.v]))
				case insChoose:
					saw(int32(Choose(2)))
				case insAwait:
					for v.Load() == 0 {
						Yield()
					}
				case insAwaitEither:
					for v.Load() == 0 && vars[(s.v+1)%3].Load() == 0 {
						Yield()
					}
				case insCancel:
					ctx.Cancel()
				case insGo:
					x.Go("child", func() { v.Add(1) }).Join()
				case insCall:
					x.Invoke()
					v.Load()
					x.Respond()
				}
			}
		}
		first := 0
		if p.told {
			x.Same(p.alike, "t", run)
			first = p.alike
		}
		for i := first; i < len(p.threads); i++ {
			x.Go("t", func() { run(i) })
		}
		x.Wait()
		slices.SortFunc(logs[:p.alike], bytes.Compare) // the outcome does not say which of them was which
		o := bytes.Join(logs, []byte{';'})
		for i := range vars {
			o = append(o, ' ', byte('0'+vars[i].Load()))
		}
		outcome(string(o))
	}
}

// traces executes body under a depth-first scheduler, whatever fails, and returns how often each
// trace was executed. It gives up after limit executions.
func traces(s scheduler, c *causality, limit int, body func(*Run)) (seen map[uint64]int, pruned int, ok bool) {
	x := newRun(Options{MaxSteps: 200})
	defer x.close()
	seen = make(map[uint64]int)
	for range limit {
		x.execute(s, body)
		switch x.end {
		case endPruned:
			pruned++
		case endStuck:
		default:
			if x.failure != nil && x.failure.Kind != Deadlock {
				panic(x.failure.Message)
			}
			seen[c.traceOf()]++
		}
		if !s.finish() {
			return seen, pruned, true
		}
	}
	return nil, 0, false
}

// traceOf returns the hash of the trace that the execution has shown.
func (c *causality) traceOf() (h uint64) {
	for i := range c.depth {
		h += c.nodes[i].digest()
	}
	return h
}

const plainLimit = 2000

func TestReductionSeesEveryTrace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	executions, superfluous, plainExecutions := 0, 0, 0
	forPrograms(t, 100, 300, func() bool {
		p := randomProgram(rng, false)
		if p.schedules() > 3*plainLimit {
			return false
		}
		wantOutcomes, gotOutcomes := map[string]bool{}, map[string]bool{}
		plain := &bounded{bound: Unbounded}
		want, _, ok := traces(plain, &plain.causality, plainLimit, p.body(func(o string) { wantOutcomes[o] = true }))
		if !ok {
			return false
		}
		reduced := &reduction{}
		got, pruned, ok := traces(reduced, &reduced.causality, 10*plainLimit,
			p.body(func(o string) { gotOutcomes[o] = true }))
		require.True(t, ok, "no end\n%v", p)
		requireSameTraces(t, want, got, p)
		require.Equal(t, wantOutcomes, gotOutcomes, "%v", p)
		executions += total(got)
		superfluous += total(got) - len(got) + pruned
		plainExecutions += total(want)
		return true
	})
	t.Logf("%d executions instead of %d, %d superfluous", executions, plainExecutions, superfluous)
}

func TestBoundedSearchSeesEveryTraceWithinTheBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	executions, prunes, plainExecutions := 0, 0, 0
	forPrograms(t, 100, 300, func() bool {
		p := randomProgram(rng, false)
		if p.schedules() > 3*plainLimit {
			return false
		}
		bound := rng.IntN(4)
		plain := &bounded{bound: bound}
		want, _, ok := traces(plain, &plain.causality, plainLimit, p.body(func(string) {}))
		if !ok {
			return false
		}
		cached := &bounded{bound: bound, cache: new(cache)}
		got, pruned, ok := traces(cached, &cached.causality, 10*plainLimit, p.body(func(string) {}))
		require.True(t, ok, "no end\n%v", p)
		requireSameTraces(t, want, got, p)
		executions += total(got)
		prunes += pruned
		plainExecutions += total(want)
		return true
	})
	t.Logf("%d executions and %d pruned instead of %d", executions, prunes, plainExecutions)
}

// With threads that are alike the search need not see every trace. But it must see every outcome,
// up to an exchange of such threads.
func TestSymmetryHidesNoOutcome(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, m := range []struct {
		name      string
		scheduler func() (scheduler, *causality)
	}{
		{"reduced", func() (scheduler, *causality) { s := &reduction{}; return s, &s.causality }},
		{"bounded", func() (scheduler, *causality) {
			s := &bounded{bound: Unbounded, cache: new(cache)}
			return s, &s.causality
		}},
		{"plain", func() (scheduler, *causality) { s := &bounded{bound: Unbounded}; return s, &s.causality }},
	} {
		t.Run(m.name, func(t *testing.T) {
			with, without := 0, 0
			forPrograms(t, 50, 200, func() bool {
				p := randomProgram(rng, true)
				if p.schedules() > 3*plainLimit {
					return false
				}
				wantOutcomes, gotOutcomes := map[string]bool{}, map[string]bool{}
				s, c := m.scheduler()
				want, _, ok := traces(s, c, plainLimit, p.body(func(o string) { wantOutcomes[o] = true }))
				if !ok {
					return false
				}
				p.told = true
				s, c = m.scheduler()
				got, _, ok := traces(s, c, 10*plainLimit, p.body(func(o string) { gotOutcomes[o] = true }))
				require.True(t, ok, "no end\n%v", p)
				require.Equal(t, wantOutcomes, gotOutcomes, "%v", p)
				with += total(got)
				without += total(want)
				return true
			})
			t.Logf("%d executions instead of %d", with, without)
		})
	}
}

// The parts of a sharded search are together the whole.
func TestShardsCoverEverything(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	forPrograms(t, 50, 200, func() bool {
		p := randomProgram(rng, false)
		if p.schedules() > 3*plainLimit {
			return false
		}
		whole := &reduction{}
		want, _, ok := traces(whole, &whole.causality, plainLimit, p.body(func(string) {}))
		if !ok {
			return false
		}
		for _, part := range []func(shard) (scheduler, *causality){
			func(sh shard) (scheduler, *causality) { s := &reduction{shard: sh}; return s, &s.causality },
			func(sh shard) (scheduler, *causality) {
				s := &bounded{bound: Unbounded, cache: new(cache), shard: sh}
				return s, &s.causality
			},
		} {
			got := map[uint64]int{}
			for i := range 3 {
				s, c := part(shard{index: i, count: 3})
				some, _, ok := traces(s, c, 20*plainLimit, p.body(func(string) {}))
				require.True(t, ok, "no end\n%v", p)
				for h, n := range some {
					got[h] += n
				}
			}
			requireSameTraces(t, want, got, p)
		}
		return true
	})
}

// forPrograms calls f until it has returned true often enough: false means that the program was too
// large.
func forPrograms(t *testing.T, short, long int, f func() bool) {
	t.Helper()
	count := programCount(t, short, long)
	for done, tried := 0, 0; done < count; tried++ {
		require.Less(t, tried, 100*count+100, "hardly any program is small enough")
		if f() {
			done++
		}
	}
}

func requireSameTraces(t *testing.T, want, got map[uint64]int, p program) {
	t.Helper()
	for h := range want {
		if got[h] == 0 {
			t.Fatalf("a trace is missing: %d of %d seen\n%v", len(got), len(want), p)
		}
	}
	require.Len(t, got, len(want), "more traces than there are\n%v", p)
}

func total(traces map[uint64]int) (n int) {
	for _, k := range traces {
		n += k
	}
	return n
}
