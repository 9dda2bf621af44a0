package table

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// whole says that the tests run to their end. Otherwise they take a moment: the command proves
// everything, and refuses every defect, by the solver and by a run (group_proof in .ci/run).
func whole() bool { return os.Getenv("FARAD_STRESS") == "1" }

// needsSolver skips a test that asks one.
func needsSolver(t *testing.T) {
	t.Helper()
	if !whole() {
		t.Skip("some ten seconds, with FARAD_STRESS=1; the command `go run ./internal/proof` does more")
	}
	if _, err := exec.LookPath("z3"); err != nil {
		t.Skip("z3 is not installed (Debian: apt-get install z3): nothing is proved here")
	}
}

// Each planted defect is refused by a run from a first state, where the table says so. That needs
// no solver.
func TestPlantedDefectsReachBadStates(t *testing.T) {
	for _, table := range Tables() {
		require.GreaterOrEqual(t, len(table.Defects), 12, table.Name)
		for i, d := range table.Defects {
			if i%8 != 0 && !whole() {
				continue
			}
			t.Run(table.Name+"/"+d.Name, func(t *testing.T) {
				planted := d.make()
				m, from := d.start(planted)
				r := m.Reach(from, d.States, d.may)
				assert.Equal(t, d.Reaches, r.Bad != "", "%q in %d states", r.Bad, r.States)
				t.Log(r.States, r.Bad)
			})
		}
	}
}

// Everything is proved. The command does more: it distrusts the proof, too.
func TestProved(t *testing.T) {
	needsSolver(t)
	for _, table := range Tables() {
		results, err := table.Prove("z3")
		require.NoError(t, err, table.Name)
		for _, r := range results {
			assert.Empty(t, r.Open, "%s: %s", table.Name, r.Name)
		}
	}
}

// What the solver has shown, a run of each table must not refute: it would be that steps mean one
// thing to the solver and another beside the code.
func TestRunsKeepWhatIsProved(t *testing.T) {
	most := func(states int) int {
		if whole() {
			return states
		}
		return states / 10
	}
	e := Engine()
	for _, from := range []engineStart{
		{size: 2, nodes: 2, locks: "ESXZCO"},
		{size: 1, ordered: true, nodes: 3, locks: "KSXZ"},
	} {
		m := NewMachine(e.Table, from.nodes)
		r := m.Reach(e.firstStates(from), most(3_000), func(s *Step) bool { return !s.Locks || strings.Contains(from.locks, s.Name[:1]) })
		assert.Empty(t, r.Bad)
	}
	l := RW()
	for _, biased := range []bool{false, true} {
		first := l.FirstRW(biased, biased, 1, smallAll-smallUp, smallAll)
		r := NewMachine(l.Table, 3).Reach([]State{first}, most(20_000), func(*Step) bool { return true })
		assert.Empty(t, r.Bad)
	}
	w := Waiter()
	r := NewMachine(w.Table, 1).Reach([]State{w.First()}, most(100_000), func(*Step) bool { return true })
	assert.Empty(t, r.Bad)
	assert.True(t, r.States < 100_000 || !whole(), "the table of a node is finite")
	p := Parker()
	r = NewMachine(p.Table, 1).Reach([]State{p.First()}, most(100_000), func(*Step) bool { return true })
	assert.Empty(t, r.Bad)
	assert.True(t, r.States < 100_000 || !whole(), "the table of a parker is finite")
	c := Cond()
	assert.Empty(t, NewMachine(c.Table, 3).Reach([]State{c.First()}, most(20_000), func(*Step) bool { return true }).Bad)
	k := Keyed()
	for _, first := range []State{
		k.FirstKeyed(false, 2, []int{2, 1}, []int{0, 1}),
		k.FirstKeyed(true, SmallEveryone, []int{1, SmallEveryone}, []int{0, 0}),
	} {
		r := NewMachine(k.Table, 2).Reach([]State{first}, most(20_000), func(*Step) bool { return true })
		assert.Empty(t, r.Bad)
	}
	mutex := Mutex()
	for futures := range 3 {
		first := mutex.First(2, 3, futures)
		r := NewMachine(mutex.Table, 3).Reach([]State{first}, most(20_000), func(*Step) bool { return true })
		assert.Empty(t, r.Bad)
	}
	rw := RWMutex()
	for kinds := range 4 { // futures, and goroutines beside futures
		first := rw.First(2, 2, 3, 3*(kinds&1), 1+4*(kinds>>1))
		r := NewMachine(rw.Table, 3).Reach([]State{first}, most(5_000), func(*Step) bool { return true })
		assert.Empty(t, r.Bad)
	}
	s := Sleeper()
	for timed := range 2 {
		var first State
		first.Set(s.Timed, timed)
		m := NewMachine(s.Table, 1)
		assert.Empty(t, m.Reach([]State{first}, most(3_000), func(*Step) bool { return true }).Bad)
	}
}
