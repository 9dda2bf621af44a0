package fence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fleet in miniature: a line as etcd has it, processes that see it late, leases that expire while
// their processes are paused, and a network that delays and reorders what processes send.

// share is an entry of the line as one revision has it.
type share struct {
	id, lease, weight int64
	holds             bool
}

// process is one tenancy. A paused one knows nothing of its loss and goes on using its permits.
type process struct {
	lease  int64
	mirror int64           // the revision that it sees
	own    map[int64]int64 // the weights of its shares that hold in the mirror
	rev    int64           // of its newest grant
	seq    int64
	out    int64 // permits given out
	lost   bool  // in etcd: it does not know
}

// request is a permit, on its way through the resource.
type request struct {
	from     *process
	token    Token
	n        int64
	state    requestState
	admitted bool
	early    bool // the permit is released before the operation ends
}

type requestState int

const (
	sent requestState = iota
	begun
	done
)

type fleetModel struct {
	t        *testing.T
	rng      *rand.Rand
	size     int64
	line     []share
	history  [][]share // by revision
	lastID   int64
	process  []*process
	requests []*request

	gate *Gate
	// The rule by its letter: all that was presented, and what is inside.
	seen   []Token
	inside []*request
	naive  int64 // what would be inside without checks

	released                       bool // permits are released before their operations end: against the contract
	violations, evictions, refused int
	full, admissions               int
}

func (m *fleetModel) rev() int64 { return int64(len(m.history) - 1) }

// commit is a transaction: the state after it has a new revision.
func (m *fleetModel) commit() {
	sum := int64(0)
	for i := range m.line {
		sum += m.line[i].weight
		m.line[i].holds = sum <= m.size
	}
	m.history = append(m.history, slices.Clone(m.line))
}

func (m *fleetModel) join() {
	m.lastID++
	m.process = append(m.process, &process{lease: m.lastID, mirror: m.rev(), own: map[int64]int64{}})
}

func (m *fleetModel) enqueue(p *process) {
	mine := 0
	for _, s := range m.line {
		if s.lease == p.lease {
			mine++
		}
	}
	if p.lost || mine >= 2 {
		return
	}
	m.lastID++
	m.line = append(m.line, share{id: m.lastID, lease: p.lease, weight: 1 + m.rng.Int64N(m.size)})
	m.commit()
}

// watch moves the mirror of p towards the present. A lost process is paused and sees nothing.
func (m *fleetModel) watch(p *process) {
	if p.lost || p.mirror == m.rev() {
		return
	}
	p.mirror += 1 + m.rng.Int64N(m.rev()-p.mirror)
	for _, s := range m.history[p.mirror] {
		if s.lease != p.lease || !s.holds {
			continue
		}
		if _, known := p.own[s.id]; !known {
			for _, now := range m.line { // it may have given back some of it already, which it knows
				if now.id == s.id {
					p.own[s.id] = now.weight
					p.rev = p.mirror
				}
			}
		}
	}
}

func (p *process) capacity() (sum int64) {
	for _, weight := range p.own {
		sum += weight
	}
	return sum
}

// acquire gives a permit out locally, and sends an operation with it.
func (m *fleetModel) acquire(p *process) {
	idle := p.capacity() - p.out
	if idle == 0 {
		return
	}
	n := 1 + m.rng.Int64N(idle)
	p.out += n
	p.seq++
	t := Token{Rev: p.rev, Seq: p.seq, Lease: p.lease}
	for _, s := range m.history[p.rev] {
		if s.holds && !slices.Contains(t.Survivors, s.lease) {
			t.Survivors = append(t.Survivors, s.lease)
		}
	}
	slices.Sort(t.Survivors)
	r := &request{from: p, token: t, n: n, early: m.released && m.rng.IntN(4) == 0}
	if r.early {
		p.out -= n
	}
	m.requests = append(m.requests, r)
}

// giveBack returns some of what is idle, as a guarded transaction.
func (m *fleetModel) giveBack(p *process) {
	idle := p.capacity() - p.out
	if p.lost || idle == 0 {
		return
	}
	for i, s := range m.line {
		weight, ok := p.own[s.id]
		if !ok {
			continue
		}
		if k := min(weight, 1+m.rng.Int64N(idle)); k == weight {
			delete(p.own, s.id)
			m.line = slices.Delete(m.line, i, i+1)
		} else {
			p.own[s.id] -= k
			m.line[i].weight -= k
		}
		m.commit()
		return
	}
}

// expire ends the lease of p, which does not learn of it, and starts its successor.
func (m *fleetModel) expire(p *process) {
	if p.lost {
		return
	}
	p.lost = true
	m.line = slices.DeleteFunc(m.line, func(s share) bool { return s.lease == p.lease })
	m.commit()
	m.join()
	if i := slices.IndexFunc(m.process, func(p *process) bool { return p.lost }); len(m.process) > 5 {
		m.process = slices.Delete(m.process, i, i+1) // what it has sent is still on its way
	}
}

func (m *fleetModel) dead(u Token) bool {
	return slices.ContainsFunc(m.seen, func(t Token) bool {
		return t.Rev > u.Rev && !slices.Contains(t.Survivors, u.Lease)
	})
}

// present is what the rule says of a token that arrives.
func (m *fleetModel) present(t Token) (dead bool) {
	m.seen = append(m.seen, t)
	before := len(m.inside)
	m.inside = slices.DeleteFunc(m.inside, func(r *request) bool { return m.dead(r.token) })
	m.evictions += before - len(m.inside)
	return m.dead(t)
}

func (m *fleetModel) used() (sum int64) {
	for _, r := range m.inside {
		sum += r.n
	}
	return sum
}

func (m *fleetModel) deliver(r *request) {
	switch r.state {
	case sent:
		if m.size == 1 && !m.released { // for one permit the comparison comes to the same
			greatest := slices.MaxFunc(append(m.seen, r.token), Token.Compare)
			defer func() { require.Equal(m.t, r.token.Compare(greatest) == 0, r.admitted) }()
		}
		r.state = begun
		m.naive += r.n
		if m.naive > m.size {
			m.violations++
		}
		err := m.gate.Begin(r.token, r.n)
		switch dead := m.present(r.token); {
		case dead:
			var stale *StaleError
			require.ErrorAs(m.t, err, &stale)
			require.ErrorIs(m.t, err, ErrStale)
			require.Greater(m.t, stale.By.Rev, r.token.Rev)
			require.True(m.t, slices.ContainsFunc(m.seen, func(t Token) bool {
				return t.Rev == stale.By.Rev && t.Seq == stale.By.Seq && t.Lease == stale.By.Lease
			}))
			require.True(m.t, r.from.lost || m.released, "who holds is never refused as stale")
			m.refused++
		case r.n > m.size-m.used():
			require.ErrorIs(m.t, err, ErrFull)
			require.True(m.t, m.released, "there is room for all who keep the contract")
			m.full++
		default:
			require.NoError(m.t, err)
			r.admitted = true
			m.inside = append(m.inside, r)
			m.admissions++
		}
	case begun:
		r.state = done
		m.naive -= r.n
		if !r.early {
			r.from.out -= r.n
		}
		i := slices.Index(m.inside, r)
		err := m.gate.End(r.token, r.n)
		switch {
		case i >= 0:
			require.NoError(m.t, err)
			m.inside = slices.Delete(m.inside, i, i+1)
		case m.dead(r.token):
			require.ErrorIs(m.t, err, ErrStale)
		default:
			require.ErrorIs(m.t, err, ErrNotInside)
			require.False(m.t, r.admitted)
		}
	}
}

// step does one thing somewhere, and compares the gate with the rule.
func (m *fleetModel) step() {
	p := m.process[m.rng.IntN(len(m.process))]
	switch m.rng.IntN(12) {
	case 0, 1:
		m.enqueue(p)
	case 2, 3, 4:
		m.watch(p)
	case 5, 6, 7:
		m.acquire(p)
	case 8:
		m.giveBack(p)
	case 9:
		if m.rng.IntN(4) == 0 {
			m.expire(p)
		}
	default:
		m.requests = slices.DeleteFunc(m.requests, func(r *request) bool { return r.state == done })
		if len(m.requests) == 0 {
			return
		}
		r := m.requests[m.rng.IntN(len(m.requests))]
		if m.rng.IntN(8) == 0 {
			require.Equal(m.t, m.present(r.token), errors.Is(m.gate.Check(r.token), ErrStale))
			break
		}
		m.deliver(r)
	}
	m.compare()
}

func (m *fleetModel) compare() {
	g := m.gate
	require.Equal(m.t, m.used(), g.used)
	require.LessOrEqual(m.t, g.used, m.size) // G1
	require.Len(m.t, g.inside, len(m.inside))
	for _, r := range m.inside {
		require.Equal(m.t, r.n, g.inside[r.token.identity()].weight)
		require.NoError(m.t, g.inside[r.token.identity()].ctx.Err())
		require.False(m.t, m.dead(r.token)) // G2
	}
	for lease, floor := range g.floors { // G4
		require.Contains(m.t, g.newest.Survivors, lease)
		require.Empty(m.t, floor.Survivors)
	}
}

func runFleetModel(t *testing.T, seed uint64, size int64, released bool) *fleetModel {
	m := &fleetModel{
		t: t, rng: rand.New(rand.NewPCG(seed, uint64(size))), size: size, released: released,
		history: [][]share{nil}, gate: NewGate(size),
	}
	for range 3 {
		m.join()
	}
	for range 500 {
		m.step()
	}
	return m
}

func TestGateDecidesAsTheRuleSays(t *testing.T) {
	seeds := 200
	if testing.Short() {
		seeds = 30
	}
	for _, released := range []bool{false, true} {
		for _, size := range []int64{1, 2, 3, 8} {
			t.Run(fmt.Sprintf("size %d, released early: %v", size, released), func(t *testing.T) {
				t.Parallel()
				var violations, evictions, refused, full, admissions int
				for seed := range uint64(seeds) {
					m := runFleetModel(t, seed, size, released)
					violations += m.violations
					evictions += m.evictions
					refused += m.refused
					full += m.full
					admissions += m.admissions
				}
				t.Logf("%d admitted, %d evicted, %d refused as stale, %d for want of room; without checks %d begins above the size",
					admissions, evictions, refused, full, violations)
				// The faults are real: the same schedules without checks break the bound.
				for _, n := range []int{violations, evictions, refused} {
					require.Positive(t, n)
				}
				require.Greater(t, admissions, 10*seeds)
				require.Equal(t, released, full > 0)
			})
		}
	}
}

// Whatever survivors the tokens claim, also those of one revision that contradict each other: the
// gate decides by the rule. So a faulty process does no more harm than its tokens say.
func TestGateFollowsTheRuleForAnyTokens(t *testing.T) {
	rounds := 20_000
	if testing.Short() {
		rounds = 3_000
	}
	for seed := range uint64(rounds) {
		rng := rand.New(rand.NewPCG(seed, 0))
		m := &fleetModel{t: t, size: 1000, gate: NewGate(1000)}
		for range 12 {
			u := Token{Rev: 1 + rng.Int64N(6), Seq: rng.Int64N(2), Lease: 1 + rng.Int64N(4)}
			for lease := range int64(4) {
				if u.Lease == lease+1 || rng.IntN(2) == 0 {
					u.Survivors = append(u.Survivors, lease+1)
				}
			}
			err := m.gate.Begin(u, 1)
			require.Equal(t, m.present(u), errors.Is(err, ErrStale))
			if err == nil {
				m.inside = append(m.inside, &request{token: u, n: 1})
			}
			require.Equal(t, m.used(), m.gate.used)
			for _, r := range m.inside {
				require.Contains(t, m.gate.inside, r.token.identity())
			}
		}
	}
}
