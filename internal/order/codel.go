package order

import (
	"math"

	"github.com/farad-go/farad/internal/waiting"
)

// A codel is the state of CoDel (Nichols and Jacobson 2012, RFC 8289) in one lane. It lasts while
// the lane is not empty. The RFC also keeps how often it shed, for a while. Here that would be
// memory for tenants that do not wait.
type codel struct {
	shedding bool
	above    int64 // when the heads will have waited for more than Target for an Interval; 0: they do not
	next     int64 // when the next request is shed
	count    int   // how many were, since shedding began
	last     int   // count when shedding began
}

// late looks at the head, and reports whether it may be shed: heads have waited for more than
// Target for an Interval now, and the head is not the last request.
func (c *codel) late(l *lane, now int64, q *Queue) bool {
	switch {
	case l.size < 2 || now-l.front.at <= q.target():
		c.above = 0
	case c.above == 0:
		c.above = now + q.interval()
	default:
		return now >= c.above
	}
	return false
}

// after returns when to shed the next request: sooner and sooner, by the square root of how many
// were shed.
func (c *codel) after(t int64, q *Queue) int64 {
	return t + int64(float64(q.interval())/math.Sqrt(float64(c.count)))
}

// control sheds what CoDel drops before it serves the head of l, and reports whether it did.
func (o *Order) control(l *lane, now int64, wake *waiting.WakeList) (shed bool) {
	c, q := &l.codel, &o.config.Queue
	late := c.late(l, now, q)
	switch {
	case !late:
		c.shedding = false
	case c.shedding:
		for c.shedding && now >= c.next {
			o.shed(l.front, wake)
			shed = true
			c.count++
			if c.shedding = c.late(l, now, q); c.shedding {
				c.next = c.after(c.next, q)
			}
		}
	default:
		o.shed(l.front, wake)
		shed = true
		c.late(l, now, q)
		// If shedding ended only a while ago, it goes on at the rate that helped then.
		since := c.count - c.last
		c.count = 1
		if since > 1 && now-c.next < 16*q.interval() {
			c.count = since
		}
		c.shedding, c.next, c.last = true, c.after(now, q), c.count
	}
	return shed
}
