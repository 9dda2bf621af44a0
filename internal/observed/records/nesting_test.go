//go:build !interleave

package records

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/observed"
	"github.com/farad-go/farad/internal/observed/agents"
)

// holdOf records a hold of an agent, which is nobody else's in this process.
func holdOf(r *Record, goroutine uint64) *entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.newLocked(observed.Request{N: 1}, moment{agent: agents.Agent{Goroutine: 1<<40 + goroutine}})
	r.pushLocked(&r.holds, e)
	return e
}

func end(r *Record, e *entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(e, 0)
}

func newRecords(n int) (all []*Record) {
	for range n {
		r := newRecord(0, &observed.About{}, nil)
		r.level.Store(uint32(observed.Holders))
		all = append(all, r)
	}
	return all
}

// taken returns the nestings of one agent.
func taken(goroutine uint64) []Nesting {
	return slices.DeleteFunc(TakeNestings(), func(n Nesting) bool { return n.Agent.Goroutine != 1<<40+goroutine })
}

func TestNestingsAreToldOnce(t *testing.T) {
	for hands.takes%64 > 32 {
		TakeNestings() // so that none of these forgets what is known
	}
	r := newRecords(3)
	a := holdOf(r[0], 7)
	other := holdOf(r[2], 7+chains) // another agent of the same chain
	b := holdOf(r[1], 7)
	c := holdOf(r[2], 7)
	all := taken(7)
	require.Len(t, all, 3)
	assert.Equal(t, r[0].id, all[0].Held.LockID)
	assert.Equal(t, r[1].id, all[0].Wanted.LockID)
	assert.Empty(t, all[0].Gates)
	for _, n := range all[1:] {
		assert.Equal(t, r[2].id, n.Wanted.LockID)
		require.Len(t, n.Gates, 1)
		assert.NotEqual(t, n.Held.LockID, n.Gates[0].LockID)
	}
	end(r[2], c)
	c = holdOf(r[2], 7)
	assert.Empty(t, taken(7), "that is known")
	end(r[0], a)
	end(r[1], b)
	end(r[2], c)
	end(r[2], other)
	c = holdOf(r[2], 7)
	a = holdOf(r[0], 7)
	assert.Len(t, taken(7), 1)
	end(r[2], c)
	end(r[0], a)
}

// The chains have what the records have.
func TestChainsHaveAllHolds(t *testing.T) {
	r := newRecords(8)
	var all []*entry
	in := func(e *entry) *Record {
		return r[slices.IndexFunc(r, func(r *Record) bool { return e.in == &r.holds })]
	}
	for range 5000 {
		if len(all) > 0 && rand.IntN(2) == 0 {
			i := rand.IntN(len(all))
			end(in(all[i]), all[i])
			all = slices.Delete(all, i, i+1)
		} else {
			all = append(all, holdOf(r[rand.IntN(len(r))], rand.Uint64N(3)*chains))
		}
		n := 0
		for h := hands.chains[0].newest; h != nil; h = h.older {
			n++
			require.True(t, slices.ContainsFunc(all, func(e *entry) bool { return h == &e.hand }))
		}
		require.Len(t, all, n)
	}
	for _, e := range all {
		end(in(e), e)
	}
	TakeNestings()
}

func TestNestingsAreBounded(t *testing.T) {
	r := newRecords(300)
	var all []*entry
	for i := range r {
		all = append(all, holdOf(r[i], 1))
	}
	assert.LessOrEqual(t, len(TakeNestings()), maxLearned)
	for i, e := range all {
		end(r[i], e)
	}
	assert.Nil(t, hands.chains[(1<<40+1)%chains].newest)
}
