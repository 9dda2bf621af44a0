package observe

import (
	"fmt"

	"github.com/farad-go/farad/observe/hook"
)

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

func (l *lockView) blockView(b *hook.Block) blockView {
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
