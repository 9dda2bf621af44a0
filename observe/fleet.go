package observe

import (
	"fmt"
	"time"

	"github.com/farad-go/farad/internal/observed"
)

// A Fleet is what this process knows of a lock that it shares with others, by package fleet. A
// snapshot asks no server: it has what the process learned last.
type Fleet struct {
	Blocks  []Block // blocks that hold permits or wait for them, in the order of the line
	More    int     // blocks behind those
	Losses  uint64  // how often this process has lost what it had
	Refused string  // the error by which the servers refuse this process permits; empty: they do not
	Back    int64   // by how many revisions the servers, and so new tokens, are behind what they were
}

// A Block is the permits that a process has, for what its goroutines need, or waits for.
type Block struct {
	Process string        // host and process number, as far as known: names come a moment later
	Lease   int64         // of etcd, on which the block hangs
	Own     bool          // of this process
	Permits int64         // of a read-write lock 1 for readers, and all for a writer
	Holds   bool          // otherwise it waits
	Since   time.Time     // when this process first saw it in this state
	Tenure  time.Duration // what is left of it: of an own block that others wait for
}

func fleetOf(f *observed.Fleet) *Fleet {
	if f == nil {
		return nil
	}
	r := &Fleet{More: f.More, Losses: f.Losses, Refused: f.Refused, Back: f.Back}
	for _, b := range f.Blocks {
		r.Blocks = append(r.Blocks, Block(b))
	}
	return r
}

// A blockView is a block as the pages show it.
type blockView struct {
	ID                             string
	Who, Note, State, Permits, Age string
}

// fleetView returns the blocks as the pages show them, and how many more there are.
func (l *lockView) fleetView() (rows []blockView, more int) {
	if l.Fleet == nil {
		return nil, 0
	}
	n := min(len(l.Fleet.Blocks), maxBlocks)
	for i := range l.Fleet.Blocks[:n] {
		b := l.blockView(&l.Fleet.Blocks[i])
		b.ID = rowID("block-", l.ID, i)
		rows = append(rows, b)
	}
	return rows, len(l.Fleet.Blocks) - n + l.Fleet.More
}

func (l *lockView) blockView(b *Block) blockView {
	r := blockView{
		State: "waits", Permits: plural(b.Permits, "permit"), Age: span(since(l.Now, b.Since)),
	}
	if b.Holds {
		r.State = "holds"
	}
	switch {
	case l.Size > 1 && !l.limits() && b.Permits == l.Size:
		r.Permits = "writer"
	case l.Size > 1 && !l.limits():
		r.Permits = "readers"
	}
	switch {
	case b.Own:
		r.Who = "this process"
	case b.Process != "":
		r.Who = clean(b.Process, maxName)
	default:
		r.Who = fmt.Sprintf("lease %016x", uint64(b.Lease))
	}
	if b.Own && b.Holds && b.Tenure > 0 {
		r.Note = ", until others are served in " + span(b.Tenure)
	}
	return r
}

// fleetSentence says how the fleet is, apart from its blocks.
func (l *lockView) fleetSentence() string {
	s := "this process has lost nothing"
	if n := l.Fleet.Losses; n > 0 {
		s = "this process has lost what it had: " + plural(n, "time")
	}
	if l.Fleet.Refused != "" {
		s += "; refused: " + clean(l.Fleet.Refused, maxText)
	}
	if n := l.Fleet.Back; n > 0 {
		s += "; tokens are " + plural(uint64(n), "revision") + " behind those of before"
	}
	return s
}

// textFleet writes what other processes have of a lock.
func (l *lockView) textFleet(p *printer) {
	if l.Fleet == nil {
		return
	}
	p.line("  in the fleet: %s", l.fleetSentence())
	rows, more := l.fleetView()
	for _, b := range rows {
		p.line("    %-5s %12s for %7s  %s%s", b.State, b.Permits, b.Age, b.Who, b.Note)
	}
	p.more("    ", more, "block")
}
