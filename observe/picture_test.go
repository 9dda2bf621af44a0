package observe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// around makes locks that goroutines hold and wait for: {1, 2} holds lock 1 and waits for lock 2.
func around(pairs ...[2]uint64) *Snapshot {
	s := &Snapshot{At: shopTime}
	lock := func(id uint64) *Lock {
		for i := range s.Locks {
			if s.Locks[i].ID == id {
				return &s.Locks[i]
			}
		}
		s.Locks = append(s.Locks, Lock{
			ID: id, Name: fmt.Sprint("lock ", id), Kind: "sync.Mutex",
			Level: LevelHolders, Size: 1,
		})
		return &s.Locks[len(s.Locks)-1]
	}
	for i, p := range pairs {
		a := Agent{Goroutine: uint64(i) + 1}
		if p[0] > 0 {
			l := lock(p[0])
			l.Held++
			l.Holders = append(l.Holders, Holder{
				ID: uint64(100 + i), Agent: a, Permits: 1,
				Since: ago(time.Second), Stack: stackOf(query),
			})
		}
		if p[1] > 0 {
			l := lock(p[1])
			l.Waiting++
			l.Waiters = append(l.Waiters, Waiter{
				ID: uint64(200 + i), Agent: a, Permits: 1,
				Since: ago(time.Second), Stack: stackOf(query, report),
			})
		}
	}
	return s
}

// requireSound fails if a picture has boxes over each other or outside, or arrows between none.
func requireSound(t *testing.T, g *waitGraph, p *picture) {
	t.Helper()
	require.Len(t, p.Boxes, len(g.vertices))
	require.Len(t, p.Arrows, len(g.edges))
	const slack = 0.1
	for i := range p.Boxes {
		a := &p.Boxes[i]
		require.True(t, a.X >= 0 && a.Y >= 0 && a.X+a.W <= p.Width+slack && a.Y+a.H <= p.Height+slack,
			"box %d is outside", i)
		for j := range i {
			b := &p.Boxes[j]
			apart := a.X >= b.X+b.W || b.X >= a.X+a.W || a.Y >= b.Y+b.H || b.Y >= a.Y+a.H
			require.True(t, apart, "boxes %d and %d", i, j)
		}
	}
	touches := func(b *box, x, y float64) bool {
		return x >= b.X-slack && x <= b.X+b.W+slack && y >= b.Y-slack && y <= b.Y+b.H+slack
	}
	for _, a := range p.Arrows {
		var x, y float64
		_, err := fmt.Sscanf(a.Path, "M%f %f", &x, &y)
		require.NoError(t, err)
		require.True(t, touches(&p.Boxes[a.From], x, y), "from: %s", a.Path)
		_, err = fmt.Sscanf(a.Head, "%f,%f", &x, &y)
		require.NoError(t, err)
		require.True(t, touches(&p.Boxes[a.To], x, y), "to: %s", a.Head)
		require.NotContains(t, a.Path+a.Head, "NaN")
		require.NotContains(t, a.Path+a.Head, "Inf")
	}
	require.False(t, math.IsNaN(p.Width+p.Height))
}

func graphOf(s *Snapshot) *waitGraph { return newView(s).newWaitGraph(maxDrawn) }

func TestPicturesAreSound(t *testing.T) {
	for name, s := range map[string]*Snapshot{
		"nothing":     {},
		"shop":        shop(),
		"crowd":       crowd(),
		"hostile":     hostile(),
		"self":        around([2]uint64{1, 1}),
		"two":         around([2]uint64{1, 2}, [2]uint64{2, 1}),
		"five":        around([2]uint64{1, 2}, [2]uint64{2, 3}, [2]uint64{3, 4}, [2]uint64{4, 5}, [2]uint64{5, 1}),
		"pile behind": around([2]uint64{1, 2}, [2]uint64{2, 1}, [2]uint64{3, 1}, [2]uint64{0, 3}, [2]uint64{0, 3}),
		"knot":        around([2]uint64{1, 2}, [2]uint64{2, 1}, [2]uint64{2, 3}, [2]uint64{3, 1}),
		"chain":       around([2]uint64{1, 0}, [2]uint64{2, 1}, [2]uint64{3, 2}, [2]uint64{4, 3}),
	} {
		t.Run(name, func(t *testing.T) {
			g := graphOf(s)
			require.LessOrEqual(t, len(g.vertices), maxDrawn)
			for _, narrow := range []bool{false, true} {
				requireSound(t, g, g.draw(narrow))
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var pairs [][2]uint64
		for range 1 + r.IntN(20) {
			pairs = append(pairs, [2]uint64{uint64(r.IntN(8)), uint64(r.IntN(8))})
		}
		g := graphOf(around(pairs...))
		requireSound(t, g, g.draw(r.IntN(2) == 0))
	}
}

func TestARingIsDrawnAsOne(t *testing.T) {
	five := graphOf(around([2]uint64{1, 2}, [2]uint64{2, 3}, [2]uint64{3, 4}, [2]uint64{4, 5}, [2]uint64{5, 1}))
	require.Len(t, five.ring(five.parts()[0]), 10)
	behind := graphOf(around([2]uint64{1, 2}, [2]uint64{2, 1}, [2]uint64{3, 1}, [2]uint64{0, 3}))
	require.Nil(t, behind.ring(behind.parts()[0]))
	chain := graphOf(around([2]uint64{1, 0}, [2]uint64{2, 1}, [2]uint64{3, 2}))
	require.Nil(t, chain.ring(chain.parts()[0]))
}

func TestThoseWhoDoTheSameAreOneBox(t *testing.T) {
	g := graphOf(shop())
	var names []string
	for _, v := range g.vertices {
		names = append(names, v.Title)
	}
	require.Equal(t, []string{
		"accounts", "ledger", "journal", "db", "goroutine 18", "goroutine 19", `task 7 "settle"`, "goroutine 90",
		"12 goroutines", "40 goroutines", "unknown",
	}, names)
	dead := 0
	for _, v := range g.vertices {
		if v.Deadlock {
			dead++
		}
	}
	require.Equal(t, 6, dead)
}

func TestKeysAreLocksOfTheirOwn(t *testing.T) {
	s := around([2]uint64{1, 1}, [2]uint64{1, 1})
	for i, key := range []string{"a", "b"} {
		s.Locks[0].Holders[i].Key, s.Locks[0].Waiters[i].Key = key, key
	}
	g := graphOf(s)
	require.Equal(t, "lock 1[a]", g.vertices[0].Title)
	require.Equal(t, "lock 1[b]", g.vertices[1].Title)
	require.Len(t, g.parts(), 2)

	s.Locks[0].Unknown = 1
	s.Locks[0].Keys = []Key{{Key: "a", Waiting: 1}, {Key: "b", Waiting: 1, Unknown: 1}}
	g = graphOf(s)
	unknown := len(g.vertices) - 1
	require.Equal(t, "unknown", g.vertices[unknown].Title)
	from := keep(g.edges, func(e edge) bool { return e.To == unknown })
	require.Len(t, from, 1)
	require.Equal(t, "lock 1[b]", g.vertices[from[0].From].Title)
}

func TestAGraphThatIsTooLargeShowsTheDeadlock(t *testing.T) {
	g := graphOf(crowd())
	require.Contains(t, g.note(), "too large")
	titles := ""
	for _, v := range g.vertices {
		titles += v.Title + "\n"
	}
	for _, name := range []string{"accounts", "ledger", "journal", "db"} {
		require.Contains(t, titles, name)
	}
}

func TestDOTIsWhatWasSeen(t *testing.T) {
	golden(t, "shop.dot", testView(shop()).dot())
	require.Equal(t, `"a\\n\"b\" &amp;lt;\nc"`, dotQuote("a\\n\"b\" &lt;\nc"))
	require.Equal(t, 1, strings.Count(newView(hostile()).dot(), "digraph"))
}

func TestTheGraphOfALockHasWhatItDependsOn(t *testing.T) {
	s := around([2]uint64{1, 0}, [2]uint64{2, 1}, [2]uint64{3, 2}, [2]uint64{4, 5}, [2]uint64{5, 0})
	s.Locks = append(s.Locks, Lock{ID: 9, Name: "free"})
	names := func(id uint64) (names []string) {
		g := newView(s).only(id).newWaitGraph(maxDrawn)
		for _, v := range g.vertices {
			if v.Lock != nil {
				names = append(names, v.Title)
			}
		}
		return names
	}
	require.Equal(t, []string{"lock 2", "lock 1"}, names(2), "the lock itself, then those that are connected")
	require.Equal(t, []string{"lock 5"}, names(5))
	require.Empty(t, names(9))
}
