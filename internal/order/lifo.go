package order

import "github.com/farad-go/farad/internal/waiting"

// adapt is adaptive LIFO with a limit to waits (Maurer, "Fail at Scale", 2015). A lane that has not
// been empty for an Interval is overloaded: then it is served newest first, until it is empty. Who
// has waited for too long is shed from the old end. For the last of a lane that is an Interval at
// least: a tenant whose turn comes less often than each Target would lose turns. adapt reports
// whether the head may be another, or the lane is empty.
func (o *Order) adapt(l *lane, now int64, wake *waiting.WakeList) (changed bool) {
	q := &o.config.Queue
	limit, interval := q.interval(), q.interval()
	if now-l.since >= interval {
		limit = q.target()
		if !l.newest {
			l.newest, changed = true, true
			o.policy.changed(l)
		}
	}
	for l.size > 1 && now-l.front.at > limit {
		o.shed(l.front, wake)
		changed = changed || !l.newest
	}
	if l.size == 1 && o.size > 1 && now-l.front.at > max(limit, interval) {
		o.shed(l.front, wake)
		return true
	}
	return changed
}

// ahead returns how many permits of a lane come before a request that comes now. l may be nil.
func (l *lane) ahead() float64 {
	if l == nil || l.newest {
		return 0
	}
	return float64(l.permits)
}
