package records

import (
	"weak"

	"github.com/farad-go/farad/internal/observed/agents"
)

// An entry is a hold or a wait of a record. It is one type so that a wait becomes a hold.
type entry struct {
	Hold
	next, prev *entry
	in         *entries // the list that it is in
	nextOwned  *entry

	hand hand
}

// A Hold is of permits that have been taken and not given back, or of a wait for them.
type Hold struct {
	ID          uint64 // unique in the process
	Agent       agents.Agent
	Permits     int64
	Shared      bool   // of a read-write lock: a reader
	Key         string // of a table of locks
	Tenant      string // of a lock that is shared between tenants or classes
	Call        uint64 // the call that asked for several keys at one instant; 0: it is for one
	Since       int64  // as xsync.Now says it
	Stack       *Stack
	Approximate bool // a hold: another has released permits here, and may have meant these
	CanEnd      bool // a wait: a context or a time may end it
	Future      bool // a wait: of a future, which does not block its owner
	Granted     bool // a wait: of a future that has its permits and has not been asked

	Blame int64 // a hold: how long others have waited for it; written when it is read

	before float64 // a hold: the pressure when it began
	weight int64   // in the histogram
	handle bool    // a hold: a handle has it, and nobody else releases it
	waited bool    // a future's: it was not granted at once
	hash   uint64  // of the key of a wait

	owner uintptr            // the address of the future or handle that it belongs to; 0: none
	weak  weak.Pointer[byte] // the owner
}

// entries is a list, oldest first.
type entries struct {
	first, last *entry
	n           int
	permits     int64 // of all
}

//go:norace
func (l *entries) push(e *entry) {
	e.in, e.prev, e.next = l, l.last, nil
	if l.last != nil {
		l.last.next = e
	} else {
		l.first = e
	}
	l.last = e
	l.n++
	l.permits += e.Permits
}

// resize makes the permits of e, which is in l, n more.
//
//go:norace
func (l *entries) resize(e *entry, n int64) {
	e.Permits += n
	l.permits += n
}

//go:norace
func (l *entries) remove(e *entry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		l.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		l.last = e.prev
	}
	e.in, e.prev, e.next = nil, nil, nil
	l.n--
	l.permits -= e.Permits
	if e.hand.in != nil {
		e.hand.leave()
	}
}
