package observe

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var noon = time.Unix(1e9, 0)

// after returns what the scene is when so much time has passed.
func (c *scene) after(d time.Duration) *Snapshot {
	s := c.copy()
	s.At = noon.Add(d)
	return s
}

func defaults() *Config {
	var c Config
	c.setDefaults()
	return &c
}

func TestLongWaitsAndHoldsAreToldOnce(t *testing.T) {
	c := &scene{}
	sem := c.semaphore(2)
	c.s.Locks[sem].Name = "users"
	c.hold(goroutine(1), sem, 1).Since = noon
	c.hold(goroutine(2), sem, 1).Since = noon.Add(time.Second)
	c.wait(goroutine(3), sem, 1).Since = noon
	c.wait(goroutine(4), sem, 1).Since = noon.Add(time.Second)
	c.wait(goroutine(5), sem, 1).Since = noon.Add(15 * time.Second)
	granted := c.wait(goroutine(6), sem, 1)
	granted.Since, granted.Future, granted.Granted = noon, true, true

	var s suspect
	before := c.after(0)
	next := func(d time.Duration) []Suspicion {
		now := c.after(d)
		all := s.next(before, now, nil, defaults())
		before = now
		return all
	}
	assert.Empty(t, next(9*time.Second))

	all := next(11 * time.Second)
	require.Len(t, all, 1)
	assert.Equal(t, LongWait, all[0].Why)
	assert.Equal(t, "users", all[0].Lock)
	assert.Equal(t, "long wait: 2 goroutines have waited, the longest for 11.0s", all[0].Text)
	assert.Len(t, all[0].Stacks, 1, "equal ones are one")
	assert.Equal(t, []int{2}, all[0].Alike)
	assert.Empty(t, next(12*time.Second))
	assert.Empty(t, next(20*time.Second), "those were reported")

	all = next(25 * time.Second)
	require.Len(t, all, 1)
	assert.Equal(t, "long wait: goroutine 15 has waited for 10.0s", all[0].Text)

	all = next(60 * time.Second)
	require.Len(t, all, 1)
	assert.Equal(t, LongHold, all[0].Why)
	assert.Empty(t, next(61*time.Second), "the second one has to wait for a minute")
	require.Len(t, next(120*time.Second), 1)
	assert.Empty(t, next(time.Hour))

	c.clear()
	assert.Empty(t, next(2*time.Hour))
	assert.Empty(t, s.last)
	assert.Empty(t, s.reported)
}

// Waits at one place are one stack, with their number, in the text and on the page.
func TestStacksOfASuspicionAreFolded(t *testing.T) {
	c := &scene{}
	mu := c.mutex()
	for i := range 7 {
		w := c.wait(goroutine(i), mu, 1)
		w.Since, w.Stack = noon, stackOf(query)
		if i > 4 {
			w.Stack = stackOf(report)
		}
	}
	var s suspect
	all := s.next(c.after(0), c.after(time.Minute), nil, defaults())
	require.Len(t, all, 1)
	require.Len(t, all[0].Stacks, 2)
	require.Equal(t, []int{5, 2}, all[0].Alike)
	one := c.after(time.Minute)
	one.Suspicions = all
	text := newView(one).text("")
	require.Contains(t, text, "7 goroutines have waited, the longest for 1m00s")
	require.Contains(t, text, "    5 wait here:\n")
	require.Contains(t, text, "    2 wait here:\n")
	all[0].Why = LongHold
	require.Contains(t, newView(one).text(""), "    5 holds from here:\n")
}

func TestNegativeThresholdsAreNone(t *testing.T) {
	c := &scene{}
	mu := c.mutex()
	c.hold(goroutine(1), mu, 1).Since = noon
	c.wait(goroutine(2), mu, 1).Since = noon
	c.s.Tasks = []Task{{ID: 1, State: taskQueued, Since: noon}}
	config := &Config{LongWait: -1, LongHold: -1, NeverPolled: -1}
	config.setDefaults()
	var s suspect
	assert.Empty(t, s.next(c.after(0), c.after(time.Hour), nil, config))
}

// Goroutines wait for conds and wait groups as long as there is nothing to do.
func TestWaitsForCondsAreNeverTooLong(t *testing.T) {
	c := &scene{}
	c.wait(goroutine(1), c.add(Lock{Kind: "sync.Cond"}), 1).Since = noon
	var s suspect
	assert.Empty(t, s.next(c.after(0), c.after(time.Hour), nil, defaults()))
}

func TestTasksThatNobodyPolls(t *testing.T) {
	c := &scene{}
	c.s.Tasks = []Task{
		{ID: 1, Name: "late", Spawned: "main.go:3", State: taskQueued, Since: noon},
		{ID: 2, State: taskWaiting, Since: noon},
		{ID: 3, State: taskQueued, Since: noon.Add(20 * time.Second)},
	}
	var s suspect
	all := s.next(c.after(20*time.Second), c.after(21*time.Second), nil, defaults())
	require.Len(t, all, 1)
	assert.Equal(t, NeverPolled, all[0].Why)
	assert.Equal(t, "task 1 late of main.go:3 was woken 21.0s ago", all[0].Text)
	assert.Empty(t, s.next(c.after(21*time.Second), c.after(22*time.Second), nil, defaults()))

	for _, change := range []func(*Task){
		func(t *Task) { t.Polls++ }, // it has run, and is queued again
		func(t *Task) { t.State = taskWaiting },
	} {
		var s suspect
		old, now := c.after(22*time.Second), c.after(23*time.Second)
		now.Tasks = now.Tasks[:1]
		change(&old.Tasks[0])
		assert.Empty(t, s.next(old, now, nil, defaults()))
	}
}

func TestTasksThatWakeThemselves(t *testing.T) {
	c := &scene{}
	c.s.Tasks = []Task{
		{ID: 1, State: "running", Polls: 1500, SelfWakes: 1000},
		{ID: 2, State: "running", Polls: 2500, SelfWakes: 1000},
		{ID: 3, State: "running", Polls: 900, SelfWakes: 900},
	}
	var s suspect
	all := s.next(c.after(0), c.after(1), nil, defaults())
	require.Len(t, all, 1)
	assert.Equal(t, SelfWake, all[0].Why)
	assert.Contains(t, all[0].Text, "1000 of 1500 polls")
	assert.Empty(t, s.next(c.after(1), c.after(2), nil, defaults()))
}

// nested is a scene in which agents hold and wait in turn: first, gate and second are locks.
func nested(c *scene, who Agent, first, second int, gates ...int) {
	for _, g := range gates {
		c.hold(who, g, 1).Since = noon
	}
	c.hold(who, first, min(c.s.Locks[first].Size, 1000)).Since = noon.Add(1)
	c.wait(who, second, min(c.s.Locks[second].Size, 1000)).Since = noon.Add(2)
}

// atOnce is nested for a call that asks for both at one instant.
func atOnce(c *scene, i, first, second int) {
	nested(c, goroutine(i), first, second)
	c.s.Locks[first].Holders[0].call, c.s.Locks[second].Waiters[0].call = uint64(i), uint64(i)
}

// clear ends all holds and waits.
func (c *scene) clear() {
	for i := range c.s.Locks {
		c.s.Locks[i].Holders, c.s.Locks[i].Waiters, c.s.Locks[i].Free = nil, nil, c.s.Locks[i].Size
	}
}

func TestInversions(t *testing.T) {
	c := &scene{}
	a, b, gate := c.mutex(), c.mutex(), c.mutex()
	c.s.Locks[a].Name, c.s.Locks[b].Name = "a", "b"
	for name, test := range map[string]struct {
		first, second func()
		want          int
	}{
		"both orders":   {func() { nested(c, goroutine(1), a, b) }, func() { nested(c, goroutine(2), b, a) }, 1},
		"one order":     {func() { nested(c, goroutine(1), a, b) }, func() { nested(c, goroutine(2), a, b) }, 0},
		"one goroutine": {func() { nested(c, goroutine(1), a, b) }, func() { nested(c, goroutine(1), b, a) }, 0},
		"a gate":        {func() { nested(c, goroutine(1), a, b, gate) }, func() { nested(c, goroutine(2), b, a, gate) }, 0},
		"half a gate":   {func() { nested(c, goroutine(1), a, b, gate) }, func() { nested(c, goroutine(2), b, a) }, 1},
		"handed": {func() { nested(c, goroutine(1), a, b) }, func() {
			nested(c, goroutine(2), b, a)
			c.s.Locks[b].Holders[0].Approximate = true
		}, 0},
		"released before": {func() { nested(c, goroutine(1), a, b) }, func() {
			nested(c, goroutine(2), b, a)
			c.s.Locks[b].Holders[0].Since = noon.Add(3) // acquired after the wait began: of another time
		}, 0},
		"granted": {func() { nested(c, goroutine(1), a, b) }, func() {
			nested(c, goroutine(2), b, a)
			c.s.Locks[a].Waiters[0].Granted = true // it waits no more
		}, 0},
		"too new": {func() { nested(c, goroutine(1), a, b) }, func() {
			nested(c, goroutine(2), b, a)
			c.s.Locks[a].Waiters[0].Since = noon.Add(time.Hour) // the hold may have ended before
		}, 0},
		"each at one instant": {func() { atOnce(c, 1, a, b) }, func() { atOnce(c, 2, b, a) }, 0},
		"one at one instant":  {func() { atOnce(c, 1, a, b) }, func() { nested(c, goroutine(2), b, a) }, 1},
		"in the same order":   {func() { atOnce(c, 1, b, a) }, func() { nested(c, goroutine(2), b, a) }, 1},
	} {
		var o lockOrder
		test.first()
		assert.Empty(t, o.look(c.after(time.Second), nil), name)
		c.clear()
		test.second()
		found := o.look(c.after(time.Second), nil)
		require.Len(t, found, test.want, name)
		if test.want > 0 {
			assert.Equal(t, Inversion, found[0].Why)
			assert.Equal(t, "b before a, and the reverse elsewhere", found[0].Text)
			assert.Len(t, found[0].Stacks, 4)
		}
		assert.Empty(t, o.look(c.after(time.Second), nil), name)
		c.clear()
	}
}

// Readers, and permits that there are enough of, do not stop each other.
func TestInversionsOfWhatIsShared(t *testing.T) {
	c := &scene{}
	rw, sem, mu := c.rw(), c.semaphore(2), c.mutex()
	for name, test := range map[string]struct {
		lock  int
		sizes [2]int64
		want  int
	}{
		"writers":        {rw, [2]int64{1000, 1000}, 1},
		"a reader":       {rw, [2]int64{1, 1000}, 1},
		"readers":        {rw, [2]int64{1, 1}, 0},
		"enough permits": {sem, [2]int64{1, 1}, 0},
		"all permits":    {sem, [2]int64{2, 1}, 1},
	} {
		one := func() {
			c.hold(goroutine(1), test.lock, test.sizes[0]).Since = noon
			c.wait(goroutine(1), mu, 1).Since = noon.Add(1)
		}
		two := func() {
			c.hold(goroutine(2), mu, 1).Since = noon
			c.wait(goroutine(2), test.lock, test.sizes[1]).Since = noon.Add(1)
		}
		for _, order := range [][2]func(){{one, two}, {two, one}} {
			var o lockOrder
			order[0]()
			assert.Empty(t, o.look(c.after(time.Second), nil), name)
			c.clear()
			order[1]()
			assert.Len(t, o.look(c.after(time.Second), nil), test.want, name)
			c.clear()
		}
	}
}

func TestOrderIsBounded(t *testing.T) {
	var o lockOrder
	at := func(id uint64) grip { return grip{lockKey: lockKey{id: id}, n: 1, size: 1} }
	for i := range uint64(3 * maxPairs) {
		o.add(nesting{agent: who{goroutine: i}, held: at(i), wanted: at(i + 1)})
		o.add(nesting{agent: who{goroutine: i + 1}, held: at(i + 1), wanted: at(i)})
		o.add(nesting{agent: who{goroutine: i}, held: at(1 << 40), wanted: at(1<<40 + 1)})
	}
	assert.LessOrEqual(t, len(o.pairs), maxPairs)
	assert.LessOrEqual(t, len(o.reported), maxPairs)
	assert.LessOrEqual(t, len(o.known), maxPairs)
	for p, n := range o.pairs {
		assert.LessOrEqual(t, len(n), maxNestings, p)
	}
}
