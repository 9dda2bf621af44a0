package array

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/papers/chains"
	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
	"github.com/farad-go/farad/twa"
	"github.com/farad-go/farad/waiter"
)

// What the papers on the waiting array do otherwise than we: their hash functions, counted in a
// simulation without a clock; and their waiting chains, timed against our array.

// The simulation: so many semaphores, each with so many waiting tickets, in one array. Each post
// grants the oldest ticket of one of them, at random, and a new one comes.
const (
	simSemaphores = 64
	simTickets    = 16
	simWaiters    = simSemaphores * simTickets
	simPosts      = 1 << 16

	slotBytes = 16 // of a chain; our own buckets have a line each
	lineBytes = 64
)

// HashSizes are how many slots the arrays have.
var HashSizes = []int{256, 2048, 4096}

// hashes are the hash functions, in the order of the table.
var hashes = []struct {
	name string
	hash chains.Hash
}{
	{"semaphore + 17·ticket", chains.Ticket},
	{"ticket>>1: pairs", chains.Pairs},
	{"orbits in pages", chains.Orbit},
	{"Gray code", chains.Gray},
	{"semaphore·ticket", chains.Product},
	{"Mix32A", chains.Mixed},
	{"golden ratio (ours)", chains.Golden},
}

// semaphoreNames are what the semaphores are to a hash function.
var semaphoreNames = []struct {
	name string
	of   func(i int) uint64
}{
	{"address", func(i int) uint64 { return 0xc000100000 + 64*uint64(i) }}, // an array of them, a line each
	{"number", func(i int) uint64 { return uint64(i) + 1 }},
}

// A HashResult is what one hash function has come to in an array of one size.
type HashResult struct {
	Hash, Semaphore string
	Slots           int

	Posts       int // each wakes its waiter
	FutileChain int // and so many others, if it wakes all in the slot
	Shared      int // waiters who share their slot with another, summed over the posts

	Lines    int // how far neighbours are apart, the short way round, summed over the posts
	SameLine int // neighbours in the same line

	Woken  int // of ours alone: wakes of real semaphores, as many and with as many posts
	InVain int // of these, how many before the ticket was granted
}

func (r HashResult) String() string { return "variants/" + r.Name() }

// Name is the line's name in targets.
func (r HashResult) Name() string { return fmt.Sprintf("%s/%s/%d", r.Hash, r.Semaphore, r.Slots) }

// FutileWakes returns the number of futile wakes per useful wake of real waiters. It is not a
// number if there were no wakes.
func (r HashResult) FutileWakes() float64 { return float64(r.InVain) / float64(r.Woken-r.InVain) }

// Plan simulates what match picks by names such as variants/Gray code/address/256. All of
// it takes about a second.
func Plan(match func(string) bool) (rs []HashResult) {
	for _, h := range hashes {
		for _, n := range semaphoreNames {
			for _, slots := range HashSizes {
				r := HashResult{Hash: h.name, Semaphore: n.name, Slots: slots}
				if match(r.String()) {
					m := newHashSim(h.hash, n.of, slots)
					m.run(&r)
					if slices.Contains(OurVariants, r.Name()) {
						r.wakeOurs()
					}
					rs = append(rs, r)
				}
			}
		}
	}
	return rs
}

// A hashSim is a simulation under way.
type hashSim struct {
	hash   chains.Hash
	of     func(int) uint64
	slots  [][]simWaiter
	grant  [simSemaphores]uint64 // the next ticket to be granted
	shared int                   // how many share their slot with another
}

// A simWaiter waits.
type simWaiter struct {
	semaphore int
	ticket    uint64
}

func newHashSim(hash chains.Hash, of func(int) uint64, slots int) *hashSim {
	m := &hashSim{hash: hash, of: of, slots: make([][]simWaiter, slots)}
	for i := range simSemaphores {
		for ticket := range uint64(simTickets) {
			m.enter(simWaiter{i, ticket})
		}
	}
	return m
}

func (m *hashSim) slot(w simWaiter) int {
	return int(m.hash(m.of(w.semaphore), w.ticket) & uint64(len(m.slots)-1))
}

func (m *hashSim) enter(w simWaiter) {
	s := &m.slots[m.slot(w)]
	*s = append(*s, w)
	m.recount(len(*s)-1, len(*s))
}

// recount notes that a slot has now marchers, not was.
func (m *hashSim) recount(was, now int) {
	for _, c := range [2]struct{ n, d int }{{was, -1}, {now, 1}} {
		if c.n > 1 {
			m.shared += c.n * c.d
		}
	}
}

// run marches, and counts.
func (m *hashSim) run(r *HashResult) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range simPosts {
		m.post(rng.IntN(simSemaphores), r)
	}
}

// post grants the next ticket of semaphore i.
func (m *hashSim) post(i int, r *HashResult) {
	w := simWaiter{i, m.grant[i]}
	m.grant[i]++
	at := m.slot(w)
	was := m.slots[at]
	back := was[:0] // futile wakes: these wait again
	for _, woken := range was {
		if woken == w {
			r.Posts++
			continue
		}
		r.FutileChain++
		back = append(back, woken)
	}
	m.recount(len(was), len(back))
	m.slots[at] = back
	m.enter(simWaiter{i, w.ticket + simTickets})
	r.Shared += m.shared

	next := m.slot(simWaiter{i, w.ticket + 1})
	apart := (next - at) & (len(m.slots) - 1)
	r.Lines += min(apart, len(m.slots)-apart) * slotBytes / lineBytes
	if at*slotBytes/lineBytes == next*slotBytes/lineBytes {
		r.SameLine++
	}
}

// wakeOurs has real semaphores in place of the simulated ones, in an array of their own with as
// many buckets as there are slots. A future waits for each ticket.
func (r *HashResult) wakeOurs() {
	a := twa.NewArray(r.Slots)
	var semaphores [simSemaphores]*twa.Semaphore
	var woken []*waiter.Future
	wait := func(f *waiter.Future, s *twa.Semaphore) {
		s.Bind(f, 1)
		f.Poll(waiter.WakerFunc(func() { woken = append(woken, f) }))
	}
	for i := range semaphores {
		semaphores[i] = twa.New(1, twa.WithWaitingArray(a))
		semaphores[i].TryAcquire(1)
		for range simTickets {
			wait(new(waiter.Future), semaphores[i])
		}
	}
	rng := rand.New(rand.NewPCG(9, 9))
	for range simPosts {
		s := semaphores[rng.IntN(simSemaphores)]
		woken = woken[:0]
		s.Release(1)
		for _, f := range woken {
			r.Woken++
			if f.Take() != nil {
				r.InVain++
				continue
			}
			wait(f, s) // the goroutine that has the permit returns it next
		}
	}
}

const variantNote = "64 semaphores with 16 waiting tickets each go through an array of slots, for 65,536 posts, each" +
	" of a random semaphore. It is a simulation, which gives the same figures everywhere. The hash" +
	" function sees a semaphore as its address, one of an array of 64-byte objects, or as a number" +
	" from 1 to 64. Shared is the part of the waiters that share their slot with another. A futile" +
	" wake wakes a waiter whose ticket has not been granted. If a wake is for a whole slot, as on the" +
	" papers' chains, the column has the futile wakes for each right one. A wake by key, as ours," +
	" should have none; that is counted on as many real semaphores, with as many posts. Neighbours" +
	" are a ticket and the next of the same semaphore: how many cache lines they are apart on" +
	" average, with slots of 16 bytes, and how many of them are in the same line."

// Table has a line for each hash function and each kind of semaphore, and columns for each
// size.
func Table(rs []HashResult, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Hash functions for a waiting array",
		Note:  variantNote,
		Head:  []string{"hash", "semaphore"},
		Left:  2,
	}
	for _, n := range HashSizes {
		t.Head = append(t.Head, fmt.Sprintf("%d slots: shared", n), "futile, slot", "futile, ours",
			"lines apart", "same line")
	}
	for _, h := range hashes {
		for _, n := range semaphoreNames {
			row, found := []string{h.name, n.name}, false
			for _, slots := range HashSizes {
				i := slices.IndexFunc(
					rs,
					func(r HashResult) bool { return r.Hash == h.name && r.Semaphore == n.name && r.Slots == slots },
				)
				if i < 0 {
					row = append(row, "", "", "", "", "")
					continue
				}
				row, found = append(row, rs[i].cells(sum)...), true
			}
			if found {
				t.Add(row...)
			}
		}
	}
	return t
}

func (r HashResult) cells(sum *table.Tally) []string {
	posts := float64(r.Posts)
	return []string{
		fmt.Sprintf("%.1f %%", 100*float64(r.Shared)/posts/simWaiters),
		fmt.Sprintf("%.3f", float64(r.FutileChain)/posts),
		r.futileCell(sum),
		fmt.Sprintf("%.1f", float64(r.Lines)/posts),
		fmt.Sprintf("%.1f %%", 100*float64(r.SameLine)/posts),
	}
}

// futileCell is that of our own wakes.
func (r HashResult) futileCell(sum *table.Tally) string {
	if r.Woken == 0 {
		return "–"
	}
	return strings.TrimSpace(
		fmt.Sprintf("%.3f %s", r.FutileWakes(),
			sum.Judge(table.Find(Targets, r.Name(), "", table.FutileWakes, ""), r.FutileWakes())),
	)
}

// The names of semaphores that wait on chains.
const (
	nameHanded = "chains, handed"
	nameWalked = "chains, walked"
	nameNews   = "chains, handed with news"
	nameFew    = "256 chains, handed" // where 1024 waiters collide
)

// A chainSemaphore is the papers' ticket semaphore, of one permit: no goroutine gives up, takes and
// posts are of one.
type chainSemaphore struct {
	ticket, grant atomic.Int64
	table         *chains.Table
	news          bool // a wake says how far the semaphore is
}

// only is the number of the semaphore, which has a table of its own.
const only = 1

func newChainSemaphore(c chains.Config, news bool) *chainSemaphore {
	s := &chainSemaphore{table: chains.New(c), news: news}
	s.grant.Store(1)
	return s
}

// Acquire takes a permit: one, whatever is asked for.
func (s *chainSemaphore) Acquire(ctx context.Context, _ int64) error {
	tx := s.ticket.Add(1) - 1
	if s.grant.Load() > tx {
		return nil
	}
	return s.await(ctx, tx)
}

func (s *chainSemaphore) await(ctx context.Context, tx int64) error {
	h, granted := chains.Ticket(only, uint64(tx)), func() bool { return s.grant.Load() > tx }
	if s.news {
		return s.table.WaitNews(
			ctx,
			h,
			granted,
			func(n chains.News) bool { return n.Semaphore == only && n.Grant > tx },
		)
	}
	return s.table.WaitUntil(ctx, h, granted)
}

// Release gives it back, and wakes the next, if there is one.
func (s *chainSemaphore) Release(int64) {
	g := s.grant.Add(1)
	if s.ticket.Load() < g {
		return
	}
	if h := chains.Ticket(only, uint64(g-1)); s.news {
		s.table.SignalNews(h, chains.News{Semaphore: only, Grant: g})
	} else {
		s.table.SignalPolite(h)
	}
}

// chainsbench is semabench with semaphores on chains added.
func chainsbench(goroutines int) locks.Bench {
	onChains := func(name string, c chains.Config, news bool) locks.Impl {
		return sharedStep(name, func() peers.Locker { return newChainSemaphore(c, news) })
	}
	handed, walked := chains.Config{
		Chains: 4096,
		Wake:   chains.Handed,
	}, chains.Config{
		Chains: 4096,
		Wake:   chains.Walked,
	} // the papers' size
	return locks.Bench{Name: fmt.Sprintf("chains-%d", goroutines), Goroutines: goroutines, Impls: append(
		semabench(goroutines).Impls,
		onChains(nameHanded, handed, false),
		onChains(nameWalked, walked, false),
		onChains(nameNews, handed, true),
		onChains(nameFew, chains.Config{Chains: 256, Wake: chains.Handed}, false),
	)}
}
