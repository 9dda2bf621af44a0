package order

import "github.com/farad-go/farad/internal/waiting"

// A Ticket is the place of a request. It belongs to the Order, which uses it again: after the
// request has left, only Remove may get it.
type Ticket struct {
	w          *waiting.Waiter // nil: the ticket is spare
	lane       *lane
	prev, next *Ticket // the one that came before in the lane, and after
	n          int64   // permits, by charge
	seq        uint64  // the number of the arrival
	at         int64   // when it arrived
	served     uint64  // classes.served then
}

// maxCharge bounds what one request counts for, so that no sum overflows.
const maxCharge = 1 << 40

// charge returns how many permits a request counts for: shares, ages and rates treat a request for
// more than 1<<40 permits as one for 1<<40.
func charge(n int64) int64 { return min(n, maxCharge) }

// A lane is the line of one tenant or one class: its tickets, oldest first.
type lane struct {
	tenant      any
	front, back *Ticket
	size        int
	permits     int64 // for how much they wait
	newest      bool  // newest first; see adapt

	share share // of shares only

	since   int64 // when it began not to be empty
	codel   codel
	account *account // of a ledger only
	active  bool     // of a ledger: it waits or holds, or somebody within it does
	owes    bool     // of a ledger: it is in the debts
	_       [6]byte  // 192 bytes are three lines of the cache, 184 are parts of four
}

// head returns the ticket that comes next in a lane that is not empty.
func (l *lane) head() *Ticket {
	if l.newest {
		return l.back
	}
	return l.front
}

func (l *lane) push(t *Ticket) {
	t.lane = l
	t.prev, t.next = l.back, nil
	if l.back == nil {
		l.front, l.since = t, t.at
	} else {
		l.back.next = t
	}
	l.back = t
	l.size++
	l.permits += t.n
}

func (l *lane) unlink(t *Ticket) {
	if t.prev == nil {
		l.front = t.next
	} else {
		t.prev.next = t.next
	}
	if t.next == nil {
		l.back = t.prev
	} else {
		t.next.prev = t.prev
	}
	l.size--
	l.permits -= t.n
}
