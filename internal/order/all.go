//go:build interleave

package order

import "github.com/farad-go/farad/internal/waiting"

// All calls visit for each waiter, lane after lane, oldest first: the explorer looks at all.
func (o *Order) All(visit func(w *waiting.Waiter)) {
	for _, l := range o.policy.all() {
		for t := l.front; t != nil; t = t.next {
			visit(t.w)
		}
	}
}

// Queue returns what Set has said last.
func (o *Order) Queue() Queue { return o.config.Queue }

// Fits reports whether PopFit would return a request, if nothing is shed.
func (o *Order) Fits(free int64) bool {
	l := o.policy.next()
	return l != nil && l.head().w.N <= free
}

// Accounts returns how many accounts there are.
func (o *Order) Accounts() int { return o.ledger.inUse.n }
