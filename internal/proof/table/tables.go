package table

import (
	"fmt"
	"io"
)

// Tables returns all tables.
func Tables() []*Table {
	return []*Table{
		Engine().Table, Sleeper().Table, Waiter().Table, Parker().Table, Mutex().Table, RWMutex().Table,
		Cond().Table, Keyed().Table, RW().Table,
	}
}

// Print prints a table for a reader who has the source beside it.
func (t *Table) Print(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n", t.Name, t.Source)
	in := ""
	for _, s := range t.Steps {
		if s.In != in {
			in = s.In
			fmt.Fprintf(w, "\n%s\n", in)
		}
		fmt.Fprintf(w, "  %-14s %-4s", s.Name, t.Places[s.From])
		fmt.Fprintf(w, "  if %s\n", s.Guard.text(anyNumber))
		for _, u := range s.Do {
			fmt.Fprintf(w, "%22s%s\n", "", u.text())
		}
	}
	fmt.Fprintln(w, "\nInvariants")
	for _, i := range t.Invariants {
		fmt.Fprintf(w, "  %s: %s\n      %s\n", i.Name, i.Text, i.Is.text(anyNumber))
	}
}

func (u *Update) text() string {
	switch {
	case u.of != nil:
		return u.v.Name + "[x] := " + u.of(&Expr{op: opConst, sort: Node}).text(anyNumber)
	case u.at != nil:
		return u.v.Name + "[" + u.at.text(anyNumber) + "] := " + u.to.text(anyNumber)
	default:
		return u.v.Name + " := " + u.to.text(anyNumber)
	}
}
