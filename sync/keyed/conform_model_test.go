//go:build interleave

package keyed

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/interleave"
	"github.com/farad-go/farad/internal/locktest/require"
	proof "github.com/farad-go/farad/internal/proof/table"
	"github.com/farad-go/farad/internal/waiting"
)

// The tie between this package and its table in internal/proof: one call, from every state that the
// table reaches with two waits, two keys and two entries, beside others that may make any step of
// the table at any point. After each step of the code the state must be one that the table allows.
// Other keys, of which the table says nothing, fill the hash table, so that it grows and shrinks.

const (
	others = 2      // waits that are not the code's
	mine   = others // the code's own
	nodes  = others + 1
)

// ourKeys are the keys of the table. Two are in one bucket, and all in the first shard. None is 0,
// which a field has that has no key.
var ourKeys = [nodes]int{16, 32, 2}

// fillers are keys of the same shard that somebody holds all the time. With one of ours the first
// are 8, and the second 4. The next one adds a bucket. Without that one the table, if it is as
// large as it may be, loses a bucket and a segment. Keys are in that bucket, and in the one that
// they go to.
var fillers = [][]int{nil, {48, 64, 18, 34, 4, 6, 20}, {24, 40, 64}}

// How a call may end early.
const (
	never = iota
	byContext
	byTime
)

// A keyedTie has what all runs share.
type keyedTie struct {
	*testing.T
	*proof.KeyedTable
	m     *proof.Machine
	taken map[string]bool
	ways  proof.Ways // how others let a call go on that is blocked

	checked, runs int
}

// An operation is a call, and where a thread of the table begins it.
type operation struct {
	name   string
	place  int64
	key, n int  // of the table; n are permits
	own    int  // the wait that is the code's; -1: none
	waits  bool // it waits if it cannot have the permits at once
	limit  int
	ended  bool  // the context has ended before
	alone  bool  // nobody else does anything
	names  []int // of a call for several keys
	gives  bool  // it gives back
	run    func(c *keyedRun) int
}

// A keyedRun is one call beside one behaviour of the others.
type keyedRun struct {
	*keyedTie
	call    operation
	fillers []int // other keys fill the hash table
	x       *interleave.Run
	l       *lines[int]
	t       *table[int]
	s       *shard[int]
	rw      bool
	size    int64 // of the code
	large   bool  // a hash table is made as large as it may be
	roomy   bool  // with as much room for segments
	ps      [nodes]*waiting.Parker
	ctx     *interleave.Context
	over    bool

	f      *proof.Follower
	path   *proof.Path
	left   int // moves that the others still have
	story  []string
	failed string
}

// code returns what the code says of n permits of the table, in which a writer holds few.
func (c *keyedRun) code(n int) int64 {
	if c.rw && n >= proof.SmallEveryone-1 {
		return everyone - int64(proof.SmallEveryone-n)
	}
	return int64(n)
}

// most is what may be held where one takes or gives back n permits of the table.
func (c *keyedRun) most(n int) int64 {
	if c.rw && n == 1 {
		return mostReaders
	}
	return c.size
}

func (c *keyedRun) until() waiting.Limit {
	switch c.call.limit {
	case byContext:
		return waiting.UntilDone(c.ctx)
	case byTime:
		return waiting.After(time.Second)
	}
	return waiting.Limit{}
}

func (c *keyedRun) request() request[int] {
	k := ourKeys[c.call.key]
	return c.t.request(c.t.hash(k), k, c.code(c.call.n), c.most(c.call.n))
}

func result(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

// isCrowded says that no other reader of a key may come: the table of a shard has room for few.
func (k *keyedTie) isCrowded(s *proof.State, key int) bool {
	return s.Is(k.RW) && s.GetAt(k.Held, key) >= 2
}

// isFull says that more readers than that hold a key.
func (k *keyedTie) isFull(s *proof.State) bool {
	for key := range nodes {
		if held := s.GetAt(k.Held, key); s.Is(k.RW) && held > 2 && held < proof.SmallEveryone {
			return true
		}
	}
	return false
}

// calls returns what is called in the state s.
func (k *keyedTie) calls(s *proof.State) (calls []operation) {
	numbers := []int{1, 2}
	if s.Is(k.RW) {
		numbers = []int{1, proof.SmallEveryone}
	}
	for key := range ourKeys {
		for _, n := range numbers {
			if n > s.Get(k.Size) {
				continue
			}
			add := func(o operation) {
				o.key, o.n = key, n
				calls = append(calls, o)
			}
			add(operation{name: "tryAcquire", place: proof.KeyTryLock, own: -1, run: func(c *keyedRun) int {
				return result(c.t.tryAcquire(c.code(n), c.most(n), ourKeys[key]))
			}})
			add(operation{name: "acquire", place: proof.KeyTryLock, own: mine, waits: true, run: func(c *keyedRun) int {
				c.l.acquire(c.size, c.code(n), c.most(n), ourKeys[key])
				return 1
			}})
			acquire := func(c *keyedRun) int {
				return result(c.t.acquireContext(c.ctx, c.code(n), c.most(n), ourKeys[key]) == nil)
			}
			add(operation{name: "acquireContext", place: proof.KeyTryLock, own: mine, waits: true, limit: byContext, run: acquire})
			add(operation{name: "acquireContext, ended", place: proof.KeyedDone, own: -1, limit: byContext, ended: true, run: acquire})
			add(operation{name: "acquireTimeout", place: proof.KeyTryLock, own: mine, waits: true, limit: byTime, run: func(c *keyedRun) int {
				return result(c.t.acquireTimeout(time.Second, c.code(n), c.most(n), ourKeys[key]))
			}})
			add(operation{name: "acquireTimeout, ended", place: proof.KeyedDone, own: -1, run: func(c *keyedRun) int {
				return result(c.t.acquireTimeout(0, c.code(n), c.most(n), ourKeys[key]))
			}})
			add(operation{name: "release", place: proof.KeyReleaseLock, own: -1, run: func(c *keyedRun) int {
				_, ok := c.l.release(c.size, c.code(n), c.most(n), ourKeys[key])
				return result(ok)
			}})
		}
		look := operation{name: "look", place: proof.KeyLook, own: -1, key: key, n: 1, alone: true}
		held, waiting := s.GetAt(k.Held, key), 0
		for x := range nodes {
			if s.GetAt(k.In, x) == 1 && s.GetAt(k.Of, x) == key {
				waiting++
			}
		}
		look.run = func(c *keyedRun) int {
			h, w := c.l.look(c.size, ourKeys[key])
			return 1 - result(h == c.code(held) && w == waiting) // The step of the table leaves 0.
		}
		calls = append(calls, look)
	}
	calls = append(calls, k.several(s, numbers)...)
	for x := range others {
		if s.GetAt(k.In, x) == 0 && (s.GetAt(k.Cl, x) == 0 || s.GetAt(k.Got, x) == 1) {
			continue
		}
		of := operation{own: x, key: s.GetAt(k.Of, x), n: s.GetAt(k.N, x)}
		for _, limit := range []int{never, byContext, byTime} {
			rest := of
			rest.name, rest.place, rest.limit = "the rest of a wait", proof.KeySleep, limit
			rest.run = func(c *keyedRun) int {
				_, err := waiting.Wait(c.ps[x], c.until(), c.request())
				if err == nil {
					c.ps[x].Put()
				}
				return result(err == nil)
			}
			calls = append(calls, rest)
		}
		leave := of
		leave.name, leave.place = "Leave", proof.KeyLeave
		leave.run = func(c *keyedRun) int {
			waiting.Leave(c.ps[x], c.request())
			return 0
		}
		calls = append(calls, leave)
	}
	return calls
}

// several returns the calls for several keys. At most one of those is busy where they are acquired,
// for the code has one wait in the table.
func (k *keyedTie) several(s *proof.State, numbers []int) (calls []operation) {
	for _, names := range [][]int{{0, 1}, {1, 2}, {0, 1, 2}} {
		var keys []int
		for _, key := range names {
			keys = append(keys, ourKeys[key])
		}
		for _, n := range numbers {
			if n > s.Get(k.Size) {
				continue
			}
			calls = append(calls, operation{
				name: "releaseAll", place: proof.KeyAllLock, own: -1, n: n, names: names, gives: true,
				run: func(c *keyedRun) int {
					_, ok := c.t.releaseAll(c.code(n), c.most(n), keys)
					return result(ok)
				},
			})
			all := operation{
				name: "acquireAll", place: proof.KeyAllLock, own: -1, n: n, names: names, alone: true,
				run: func(c *keyedRun) int {
					return result(c.t.acquireAll(context.Background(), 0, c.code(n), c.most(n), keys) == nil)
				},
			}
			busy := 0
			for _, key := range names {
				held, most := s.GetAt(k.Held, key), s.Get(k.Size)
				if s.Is(k.RW) && n == 1 {
					most--
				}
				if held > 0 && (n > most-held || len(k.line(s, key)) > 0) {
					busy++
					all.own, all.key = mine, key
				}
			}
			if busy <= 1 {
				calls = append(calls, all)
			}
			if busy == 0 {
				try := all
				try.name = "tryAcquireAll"
				try.run = func(c *keyedRun) int { return result(c.t.tryAcquireAll(c.code(n), c.most(n), keys)) }
				calls = append(calls, try)
			}
		}
	}
	return calls
}

// line returns who waits for a key in s, in order.
func (k *keyedTie) line(s *proof.State, key int) (line []int) {
	for x := range nodes {
		if s.GetAt(k.In, x) == 1 && s.GetAt(k.Of, x) == key {
			line = append(line, x)
		}
	}
	slices.SortFunc(line, func(a, b int) int { return s.GetAt(k.Pos, a) - s.GetAt(k.Pos, b) })
	return line
}

// spares returns how many free entries there are in s, and keys how many that are in use.
func (k *keyedTie) spares(s *proof.State) (spares, keys int) {
	for e := range nodes {
		spares += s.GetAt(k.Spare, e)
		keys += s.GetAt(k.Used, e)
	}
	return spares, keys
}

// bucketOf says where a key with this hash is, of n buckets.
func bucketOf(hash uint64, n int) int {
	all := 1
	for all < n {
		all *= 2
	}
	i := int(hash % uint64(all))
	if i >= n {
		i -= all / 2
	}
	return i
}

// put makes the shard what s says.
func (c *keyedRun) put(s *proof.State) {
	if locked := s.Get(c.PC) != int(proof.KeyedFree); locked && !c.s.mu.Locked() {
		c.s.mu.Lock()
	} else if !locked && c.s.mu.Locked() {
		c.s.mu.Unlock()
	}
	c.s.held, c.s.key = c.code(s.Get(c.SHeld)), 0
	if s.Get(c.SHeld) != 0 {
		c.s.key = ourKeys[s.Get(c.SKey)]
		c.s.hash = c.t.hash(c.s.key)
	}
	if c.tableIs(s) != "" {
		c.makeTable(s)
	}
	for x, p := range c.ps {
		if p == nil {
			continue
		}
		if woken := s.GetAt(c.Woken, x) == 1; woken && p.Sleeper().Pending() == 0 {
			p.Deliver(waiting.Granted)
		} else if !woken && p.Sleeper().Pending() != 0 {
			p.Sleeper().Sleep()
		}
		p.N = c.code(s.GetAt(c.N, x))
	}
}

// makeTable makes the hash table what s says.
func (c *keyedRun) makeTable(s *proof.State) {
	if c.s.more != nil { // Nobody may be in two lines.
		for i := range c.s.more.n {
			for e := *c.s.more.at(i); e != nil; e = e.next {
				for e.line.PopFront() != nil { //nolint:revive // emptied
				}
			}
		}
	}
	c.s.more, c.s.keys = nil, 0
	if !s.Is(c.Opened) {
		return
	}
	spares, keys := c.spares(s)
	keys += len(c.fillers)
	b := &buckets[int]{n: uint32(max(perSegment, keys))}
	if c.large {
		b.n = uint32(max(perSegment, 2*keys+1))
	}
	n := int(b.n+perSegment-1) / perSegment
	room := n
	if c.roomy {
		room = 4*n - 1
	}
	b.segments = make([]*segment[int], 0, room)
	for range n {
		b.segments = append(b.segments, new(segment[int]))
	}
	c.s.more, c.s.keys = b, uint32(keys)
	insert := func(k int, held int64) *entry[int] {
		hash := c.t.hash(k)
		e := &entry[int]{hash: hash, held: held, key: k}
		i := bucketOf(hash, int(b.n))
		list := &b.segments[i/perSegment][i%perSegment]
		e.next, *list = *list, e
		return e
	}
	for _, k := range c.fillers {
		insert(k, 1)
	}
	for key := range nodes {
		if s.GetAt(c.InTab, key) == 0 {
			continue
		}
		e := insert(ourKeys[key], c.code(s.GetAt(c.EHeld, s.GetAt(c.EntryOf, key))))
		for _, x := range c.line(s, key) {
			e.line.PushBack(&c.ps[x].Waiter)
		}
	}
	for i := range spares {
		b.free = &entry[int]{next: b.free, held: int64(i + 1)}
	}
}

// tableIs returns what is wrong with the hash table, "" if it is as s says.
func (c *keyedRun) tableIs(s *proof.State) string {
	b := c.s.more
	if b == nil {
		if s.Is(c.Opened) {
			return "no table"
		}
		return ""
	}
	if !s.Is(c.Opened) {
		return "a table"
	}
	spares, keys := c.spares(s)
	keys += len(c.fillers)
	n := int(b.n)
	switch {
	case int(c.s.keys) != keys:
		return fmt.Sprintf("%d keys, not %d", c.s.keys, keys)
	case n < perSegment, keys > n, n > perSegment && n/2 > keys:
		return fmt.Sprintf("%d buckets for %d keys", n, keys)
	case len(b.segments) != (n+perSegment-1)/perSegment, cap(b.segments) >= 4*len(b.segments):
		return fmt.Sprintf("%d segments, and room for %d", len(b.segments), cap(b.segments))
	}
	for _, left := range b.segments[len(b.segments):cap(b.segments)] {
		if left != nil {
			return "a segment that was left"
		}
	}
	seen := map[int]bool{}
	for i := range len(b.segments) * perSegment {
		for e := b.segments[i/perSegment][i%perSegment]; e != nil; e = e.next {
			hash := c.t.hash(e.key)
			if i >= n || e.hash != hash || bucketOf(hash, n) != i || seen[e.key] {
				return fmt.Sprintf("key %d in bucket %d", e.key, i)
			}
			seen[e.key] = true
			if wrong := c.entryIs(e, s); wrong != "" {
				return wrong
			}
		}
	}
	if len(seen) != keys {
		return fmt.Sprintf("%d keys are found, not %d", len(seen), keys)
	}
	free := 0
	for e := b.free; e != nil; e = e.next {
		if e.key != 0 || e.held != int64(spares-free) || e.line.Len() != 0 {
			return "a free entry that is not"
		}
		free++
	}
	if free != spares {
		return fmt.Sprintf("%d free entries, not %d", free, spares)
	}
	return ""
}

// entryIs returns what is wrong with an entry.
func (c *keyedRun) entryIs(e *entry[int], s *proof.State) string {
	key := slices.Index(ourKeys[:], e.key)
	w := e.line.Front()
	if key >= 0 && s.GetAt(c.InTab, key) == 1 {
		if held := c.code(s.GetAt(c.EHeld, s.GetAt(c.EntryOf, key))); e.held != held {
			return fmt.Sprintf("%d of key %d, not %d", e.held, e.key, held)
		}
		for _, x := range c.line(s, key) {
			if w == nil || c.ps[x] == nil || w != &c.ps[x].Waiter || w.N != c.code(s.GetAt(c.N, x)) {
				return fmt.Sprintf("the line of key %d", e.key)
			}
			w = e.line.Next(w)
		}
	} else if key >= 0 || e.held != 1 || !slices.Contains(c.fillers, e.key) {
		return fmt.Sprintf("key %d is in use", e.key)
	}
	if w != nil {
		return fmt.Sprintf("the line of key %d is longer", e.key)
	}
	return ""
}

// wrong returns what is wrong with the shard, "" if it is as s says.
func (c *keyedRun) wrong(s *proof.State) string {
	own, key := s.Get(c.SHeld), 0
	if own != 0 {
		key = ourKeys[s.Get(c.SKey)]
	}
	switch {
	case c.s.held != c.code(own), c.s.key != key, own != 0 && c.s.hash != c.t.hash(key):
		return fmt.Sprintf("the shard has %d of key %d", c.s.held, c.s.key)
	case c.s.mu.Locked() != (s.Get(c.PC) != int(proof.KeyedFree)):
		return "the mutex"
	}
	for x, p := range c.ps {
		if p != nil && (p.Sleeper().Pending() != 0) != (s.GetAt(c.Woken, x) == 1) {
			return fmt.Sprintf("the token of wait %d", x)
		}
	}
	return c.tableIs(s)
}

func (c *keyedRun) agrees(s *proof.State) bool { return c.wrong(s) == "" }

// access says what the last step of the code was, for the table.
func (c *keyedRun) access() proof.Access {
	on, wrote := c.x.Last()
	if on == unsafe.Pointer(&c.s.mu) {
		if c.s.mu.Locked() {
			return proof.MuLock
		}
		return proof.MuUnlock
	}
	for _, p := range c.ps {
		if p != nil && on == unsafe.Pointer(p.Sleeper()) {
			return proof.ByWrite(wrote, proof.Sleeps, proof.Wakes)
		}
	}
	return proof.Local
}

// findMine looks whether the code's own parker is in a line.
func (c *keyedRun) findMine() {
	if c.ps[mine] != nil || c.s.more == nil {
		return
	}
	for i := range c.s.more.n {
		for e := *c.s.more.at(i); e != nil; e = e.next {
			w := e.line.Back()
			if w != nil && !slices.ContainsFunc(c.ps[:others], func(p *waiting.Parker) bool { return w == &p.Waiter }) {
				c.ps[mine] = (*waiting.Parker)(unsafe.Pointer(w)) // its first field
			}
		}
	}
}

// note tells the table what it does not know by itself.
func (c *keyedRun) note(s *proof.State) {
	c.Sort(s, nodes)
	s.Set(c.TOver, result(c.over))
}

// after is called after each step of the code.
func (c *keyedRun) after() {
	if c.failed != "" {
		return
	}
	c.findMine()
	a, before := c.access(), c.f.Places()
	c.f.Note(c.note)
	c.f.Step(a)
	c.f.Note(c.note)
	wrong := "it is no step"
	c.f.Keep(func(s *proof.State) bool {
		wrong = c.wrong(s)
		return wrong == ""
	})
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the table has no such step: access %d, from %v: %s", a, before, wrong)
		return
	}
	c.others()
}

// others has the other threads do what they do now: nothing, or a move if one is left. While the
// code is blocked they go on.
func (c *keyedRun) others() {
	ends := func() bool {
		return c.call.limit == byContext && !c.over && !c.isOver()
	}
	for c.left > 0 && !c.isOver() {
		moves := slices.DeleteFunc(c.moves(&c.f.Members[0].State), func(v proof.Move) bool { return !c.f.Allow(&v) })
		n := len(moves) + 1
		if ends() {
			n++
		}
		i := c.path.Choose(n)
		if i == 0 {
			break
		}
		c.left--
		if i > len(moves) {
			c.end()
		} else {
			c.move(&moves[i-1])
		}
	}
	if !c.x.Blocked() {
		return
	}
	if ends() && slices.Contains(c.f.Places(), "sleeps") && c.path.Choose(2) == 1 {
		c.end()
		return
	}
	for c.x.Blocked() && c.failed == "" { // Where the code is may be one of several places.
		for _, v := range c.way() {
			c.move(&v)
		}
	}
}

// isOver reports whether the code may have made its last step.
func (c *keyedRun) isOver() bool {
	return slices.ContainsFunc(c.f.Members, func(m proof.Member) bool { return m.Get(c.TPC) == int(proof.KeyedDone) })
}

// end ends the context of the call.
func (c *keyedRun) end() {
	c.story = append(c.story, "the context ends")
	c.over = true
	c.ctx.Cancel()
	c.f.Note(c.note)
}

func (c *keyedRun) move(v *proof.Move) {
	c.story = append(c.story, v.Name)
	c.f.Others(v)
	c.f.Note(c.note)
	c.put(&c.f.Members[0].State)
}

// inHand returns how many permits of a key are the code's, or of a wait that will find its grant:
// others do not release those.
func (c *keyedRun) inHand(of *proof.State, key int) int {
	most := 0
	for i := range c.f.Members {
		s, n := &c.f.Members[i].State, 0
		switch int64(s.Get(c.TPC)) {
		case proof.KeyAllLock:
			if s.Is(c.TGives) && s.GetAt(c.TNames, key) == 1 {
				n = s.Get(c.Tn)
			}
		case proof.KeyReleaseLock, proof.KeyKeep, proof.KeyGiveBack:
			if s.Get(c.Tk) == key {
				n = s.Get(c.Tn)
			}
		case proof.KeyedIn:
			at := int64(s.Get(c.PC))
			if s.Get(c.K) == key && (at == proof.KeyRelease || at == proof.KeyGive || at == proof.KeyEnd) {
				n = s.Get(c.Num)
			}
		}
		most = max(most, n)
	}
	return most + c.granted(of, key)
}

// granted returns how many permits of a key have been granted to waits that have not ended.
func (k *keyedTie) granted(s *proof.State, key int) (n int) {
	for x := range nodes {
		if s.GetAt(k.Cl, x) == 1 && s.GetAt(k.Of, x) == key {
			n += s.GetAt(k.N, x)
		}
	}
	return n
}

// isLegal says that what was granted to a wait is still held.
func (k *keyedTie) isLegal(s *proof.State) bool {
	for key := range nodes {
		n, held := k.granted(s, key), s.GetAt(k.Held, key)
		if n > held || s.Is(k.RW) && 0 < n && n < held && held == proof.SmallEveryone {
			return false // a writer, beside a reader whose grant another has given back
		}
	}
	return true
}

// moves returns what the others may do in s. They leave to the code what is the code's.
func (c *keyedRun) moves(s *proof.State) (moves []proof.Move) {
	in := slices.ContainsFunc(c.f.Members, func(m proof.Member) bool { return m.Get(c.TPC) == int(proof.KeyedIn) })
	own := c.call.own
	for _, v := range c.m.Moves(s, !in) {
		tells := func(x int) bool {
			return v.Name == "another tells" && v.Is(c.Tx, x) && (c.f.Members[0].GetAt(c.Mine, x) == 1 || c.ps[x] == nil)
		}
		releases := v.Name == "release.lock" || v.Name == "back.lock" || v.Name == "all.give"
		reads := (v.Name == "try.lock" || v.Name == "enter.lock" || v.Name == "all.take" || v.Name == "all.queue") && v.To.Get(c.Num) == 1
		key := v.To.Get(c.K)
		switch {
		case own >= 0 && v.Is(c.Tw, own):
		case tells(0), tells(1), tells(mine):
		case v.Name == "release.wrong", v.Name == "trim":
		case reads && c.isCrowded(s, key):
		case releases && v.To.GetAt(c.Held, key)-v.To.Get(c.Num) < c.inHand(s, key):
		case v.To == *s:
		default:
			moves = append(moves, v)
		}
	}
	return moves
}

// ready reports whether a thread in s can go on, if it is at a place where it may be blocked.
func (k *keyedTie) ready(s *proof.State) (ready, blocks bool) {
	switch int64(s.Get(k.TPC)) {
	case proof.KeyTryLock, proof.KeyBehind, proof.KeyEnter, proof.KeyLook, proof.KeyReleaseLock, proof.KeyLeave,
		proof.KeyGiveBack, proof.KeyAllLock:
		return s.Get(k.PC) == int(proof.KeyedFree), true
	case proof.KeySleep, proof.KeyBoth, proof.KeyWithdraw:
		return s.GetAt(k.Woken, s.Get(k.Tw)) == 1, true
	}
	return false, false
}

// way returns the moves by which others let the code go on, as few as can be.
func (c *keyedRun) way() []proof.Move {
	way, err := c.f.Way(c.ways, c.moves, c.ready)
	if err != nil {
		c.failed = err.Error()
	}
	return way
}

// run makes the call in state s.
func (c *keyedRun) run(s proof.State) {
	s.Set(c.TPC, int(c.call.place))
	s.Set(c.Tk, c.call.key)
	s.Set(c.Tn, c.call.n)
	s.Set(c.Tw, max(c.call.own, 0))
	s.Set(c.TWaits, result(c.call.waits))
	s.Set(c.TTimed, result(c.call.limit == byTime))
	s.SetAt(c.N, mine, c.call.n)
	s.SetAt(c.Of, mine, c.call.key)
	s.Set(c.TBatch, result(c.call.names != nil))
	s.Set(c.TGives, result(c.call.gives))
	for _, key := range c.call.names {
		s.SetAt(c.TNames, key, 1)
	}
	c.rw = s.Is(c.RW)
	c.size = c.code(s.Get(c.Size))
	got := -1
	r := interleave.Explore(interleave.Options{Mode: interleave.Random, Executions: 1}, func(x *interleave.Run) {
		c.x = x
		c.l = &lines[int]{ofSemaphore: !c.rw}
		c.t = c.l.table(c.size)
		c.s = c.t.shards[0]
		c.ctx = x.NewContext()
		for i := range c.ps {
			if i != mine || c.call.own != mine {
				c.ps[i] = waiting.GetParker(c.until())
			}
		}
		if c.over = c.call.ended; c.over {
			c.ctx.Cancel()
		}
		c.f = c.m.Follow(s)
		c.f.Note(c.note)
		c.put(&s)
		x.Chooses(c.path.Choose)
		x.Always(c.after)
		x.Go("code", func() { got = c.call.run(c) })
		x.Wait()
	})
	c.runs++
	if c.failed == "" && r.Failure != nil {
		c.failed = r.Failure.Message
	}
	if c.failed != "" {
		return
	}
	c.f.Note(c.note)
	c.f.Step(proof.Local)
	c.f.Keep(func(s *proof.State) bool {
		return s.Get(c.TPC) == int(proof.KeyedDone) && c.agrees(s) && s.Get(c.TRes) == got
	})
	if len(c.f.Members) == 0 {
		c.failed = fmt.Sprintf("the call has returned %d", got)
		return
	}
	c.f.Took(c.taken)
}

// check makes a call in s, beside all behaviours of the others with so many moves. Two calls in
// three find the hash table filled with other keys, and every other one as large as can be.
func (k *keyedTie) check(s *proof.State, call operation, left int) {
	if call.alone {
		left = 0
	}
	k.checked++
	at, fill, large := *s, fillers[k.checked%len(fillers)], k.checked%2 == 0
	if fill != nil {
		at.Set(k.Opened, 1)
	}
	clear(k.ways)
	path := new(proof.Path)
	for more := true; more; more = path.Next() {
		c := &keyedRun{keyedTie: k, call: call, fillers: fill, large: large, path: path, left: left}
		c.roomy = k.checked%4 == 0
		c.run(at)
		require.Empty(k, c.failed, "%s of %d of key %d, by %d, beside keys %v, large %t, in %s\nthe others: %v",
			call.name, call.n, call.key, call.own, fill, large, k.m.String(s), c.story)
	}
}

// extent returns which calls are tried, one in so many, and from how many states of each kind they
// are chosen, breadth first. FARAD_STRESS=1 tries all.
func extent() (stride, states int) {
	switch {
	case os.Getenv("FARAD_STRESS") == "1":
		return 1, 1_000_000
	case testing.Short():
		return 801, 2_000
	default:
		return 101, 8_000
	}
}

// TestModelKeyedConforms compares the code with its table.
func TestModelKeyedConforms(t *testing.T) {
	if interleave.RaceEnabled {
		t.Skip("invariants are not checked under the race detector")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	table := proof.Keyed()
	k := &keyedTie{
		T: t, KeyedTable: table, m: proof.NewMachine(table.Table, nodes),
		taken: map[string]bool{}, ways: proof.Ways{},
	}
	reach := proof.NewMachine(table.Table, others)
	states, n := 0, 0
	stride, most := extent()
	for _, first := range []proof.State{
		table.FirstKeyed(false, 1, []int{1, 1}, []int{0, 0}),
		table.FirstKeyed(false, 1, []int{1, 1}, []int{0, 1}),
		table.FirstKeyed(false, 2, []int{2, 1}, []int{0, 0}),
		table.FirstKeyed(false, 2, []int{1, 1}, []int{0, 0}),
		table.FirstKeyed(true, proof.SmallEveryone, []int{1, proof.SmallEveryone}, []int{0, 0}),
		table.FirstKeyed(true, proof.SmallEveryone, []int{1, 1}, []int{0, 0}),
	} {
		met := reach.Reach([]proof.State{first}, most, func(s *proof.Step) bool {
			return s.Name != "trim" && !strings.HasPrefix(s.Name, "all.")
		}).Met
		for i := range met {
			s := &met[i]
			if s.Get(k.PC) != int(proof.KeyedFree) || !k.isLegal(s) || k.isFull(s) {
				continue
			}
			states++
			for _, call := range k.calls(s) {
				switch n++; {
				case n%stride == 0:
					k.check(s, call, 1)
				case n%(stride/8+1) == 0:
					k.check(s, call, 0)
				}
			}
		}
	}
	t.Log(states, "states", n, "calls", k.runs, "runs")
	if !testing.Short() {
		require.Empty(require.GoOn(t), table.NotMade(k.taken), "steps that the code never makes")
	}
}
