package observe

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func titles(locks []*lockView) (names []string) {
	for _, l := range locks {
		names = append(names, l.Title)
	}
	return names
}

func TestTroubleComesFirst(t *testing.T) {
	v := newView(shop())
	require.Equal(t, []string{"accounts", "journal", "ledger", "files", "db", "main.reload (config.go:20)"}, titles(v.Locks))
	states := func() (all []string) {
		for _, l := range v.Locks {
			all = append(all, l.State.String())
		}
		return all
	}()
	require.Equal(t, []string{"deadlock", "deadlock", "deadlock", "leak", "saturated", "free"}, states)
}

func TestLocksAreSortedByEachColumn(t *testing.T) {
	v := newView(shop())
	for _, o := range orders {
		locks, key := v.sorted(o.Key)
		require.Equal(t, o.Key, key)
		require.True(t, slices.IsSortedFunc(locks, o.compare), o.Key)
		require.Len(t, locks, len(v.Locks))
	}
	for _, unknown := range []string{"", "what"} {
		locks, key := v.sorted(unknown)
		require.Equal(t, "trouble", key)
		require.Equal(t, v.Locks, locks)
	}
}

func TestADeadlockThatEndedIsCountedOnly(t *testing.T) {
	s := shop()
	s.Locks[0].Waiters, s.Locks[0].Waiting = nil, 0
	v := newView(s)
	require.Empty(t, v.Deadlocks)
	require.Equal(t, 1, v.Over)
	require.Equal(t, stateHeld, v.byID[1].State)
	s = shop()
	s.Locks[0].Waiters = nil // there was no room for the waiter
	require.Len(t, newView(s).Deadlocks, 1)
}

// A suspicion of locks that are in a deadlock stands under it, and nowhere else. One of which only
// one lock is in the deadlock stays a suspicion.
func TestASuspicionIsShownUnderItsDeadlock(t *testing.T) {
	s := shop()
	d := s.Deadlocks[0]
	first, second := d.Waits[0].LockID, d.Waits[1].LockID
	s.Suspicions = []Suspicion{
		{At: shopTime, Why: Inversion, LockID: first, inner: second, Text: "of the deadlock", Stacks: []Stack{stackOf(audit)}},
		{At: shopTime, Why: Inversion, LockID: first, inner: 4, Text: "of another lock", Stacks: []Stack{stackOf(audit)}},
		{At: shopTime, Why: LongWait, LockID: second, Text: "in the deadlock"},
		{At: shopTime, Why: LongHold, LockID: 4, Text: "elsewhere"},
		{At: shopTime, Why: SelfWake, Text: "of no lock"},
	}
	texts := func(all []suspicionView) (texts []string) {
		for _, x := range all {
			texts = append(texts, x.Text)
		}
		return texts
	}
	v := newView(s)
	require.Equal(t, []string{"in the deadlock", "of the deadlock"}, texts(v.Deadlocks[0].Suspicions))
	require.Equal(t, []string{"of no lock", "elsewhere", "of another lock"}, texts(v.Suspicions))
	require.Contains(t, v.verdict(), "3 suspicions")
	require.Empty(t, v.only(second).Suspicions)
	require.Len(t, v.only(second).Deadlocks[0].Suspicions, 2)
	var html bytes.Buffer
	require.NoError(t, pageTemplate.ExecuteTemplate(&html, "page", newPage(v, nil, "", new(history))))
	for _, page := range []string{v.text(""), html.String()} {
		for _, text := range append(texts(v.Suspicions), texts(v.Deadlocks[0].Suspicions)...) {
			require.Equal(t, 1, strings.Count(page, text), text)
		}
	}
}

func TestEqualStacksAreFolded(t *testing.T) {
	v := newView(shop())
	groups, more := v.byID[4].holders()
	require.Zero(t, more)
	require.Len(t, groups, 2)
	require.Equal(t, 1, groups[0].Count)
	require.Equal(t, int64(3), groups[0].Permits)
	require.Equal(t, 12, groups[1].Count)
	groups, _ = v.byID[4].waiters()
	require.Len(t, groups, 1)
	require.Equal(t, 40, groups[0].Count)
	require.True(t, groups[0].CanEnd)
	require.Len(t, groups[0].Agents, maxAgents)
	require.Len(t, v.Leaks, 1)
	require.Equal(t, 3, v.Leaks[0].Count)
	require.Equal(t, int64(3), v.Leaks[0].All)
}

func TestAViewOfOneLockHasItsReportsOnly(t *testing.T) {
	v := newView(shop())
	require.Nil(t, v.only(99))
	one := v.only(5)
	require.Equal(t, []string{"files"}, titles(one.Locks))
	require.Empty(t, one.Deadlocks)
	require.Len(t, one.Leaks, 1)
	require.Len(t, one.Suspicions, 1)
	require.Len(t, v.only(1).Deadlocks, 1)
	require.Len(t, v.Locks, 6, "and leaves the whole view as it was")
}
