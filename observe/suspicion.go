package observe

import (
	"fmt"
	"time"

	"github.com/farad-go/farad/internal/observed/records"
)

// A suspect finds what may be a fault, and reports each once.
//
// Waits and holds that have become too long are reported together for each lock. Those that follow
// are reported when the threshold has passed again. So a lock that is always slow does not fill a
// log.
type suspect struct {
	reported map[subject]bool      // what was reported, as long as it lasts
	old      map[subject]bool      // reported at the last look
	last     map[subject]time.Time // when the waits or holds of a lock were reported
	order    lockOrder
}

// A subject is what a suspicion is of: a wait, a hold, a task or a lock.
type subject struct {
	why Reason
	id  uint64
}

const (
	maxStacks    = 8    // of one suspicion
	minSelfWakes = 1000 // of a task that is reported, and more than half of its polls
)

// next returns the suspicions from two consecutive snapshots, and from what the locks have reported
// between them.
func (s *suspect) next(before, now *Snapshot, nestings []records.Nesting, c *Config) (all []Suspicion) {
	s.old, s.reported = s.reported, make(map[subject]bool, len(s.reported))
	if s.last == nil {
		s.last = map[subject]time.Time{}
	}
	for i := range now.Locks {
		l := &now.Locks[i]
		if l.Size == 0 { // a cond or a wait group: waits are what it is for
			continue
		}
		var waits, holds []lasting
		for i := range l.Waiters {
			w := &l.Waiters[i]
			if d := age(now, w.Since); !w.Granted && c.LongWait >= 0 && d >= c.LongWait {
				waits = append(waits, lasting{w.ID, d, w.Agent, w.Stack})
			}
		}
		for i := range l.Holders {
			h := &l.Holders[i]
			if d := age(now, h.Since); c.LongHold >= 0 && d >= c.LongHold {
				holds = append(holds, lasting{h.ID, d, h.Agent, h.Stack})
			}
		}
		all = s.tooLong(all, now, l, LongWait, c.LongWait, waits)
		all = s.tooLong(all, now, l, LongHold, c.LongHold, holds)
	}
	for x, at := range s.last {
		if now.At.Sub(at) >= max(c.LongWait, c.LongHold) {
			delete(s.last, x)
		}
	}
	all = s.tasks(all, before, now, c)
	return append(all, s.order.look(now, nestings)...)
}

// isNew reports whether x, which lasts, has not been reported, and marks it.
func (s *suspect) isNew(x subject) bool {
	s.reported[x] = true
	return !s.old[x]
}

// began is about when the process began. Times before that are of a testing/synctest bubble, where
// it is the year 2000, and say nothing here.
var began = time.Now().Add(-time.Hour)

// age returns how long something has lasted, or 0 if that is not known.
func age(now *Snapshot, since time.Time) time.Duration {
	if since.Before(began) && now.At.After(began) {
		return 0
	}
	return now.At.Sub(since)
}

// lasting is a wait or a hold.
type lasting struct {
	id    uint64
	lasts time.Duration
	agent Agent
	stack Stack
}

// tooLong adds what the waits or holds of l that are too long amount to.
func (s *suspect) tooLong(all []Suspicion, now *Snapshot, l *Lock, why Reason, limit time.Duration,
	which []lasting,
) []Suspicion {
	if len(which) == 0 {
		return all
	}
	lock := subject{why, l.ID}
	at, ok := s.last[lock]
	quiet := ok && now.At.Sub(at) < limit
	var news []lasting
	for _, x := range which {
		if of := (subject{why, x.id}); quiet && !s.old[of] || !s.isNew(of) {
			continue
		}
		news = append(news, x)
	}
	if len(news) == 0 {
		return all
	}
	s.last[lock] = now.At
	text := string(why) + ": " + sentence(why, news)
	x := Suspicion{At: now.At, Why: why, LockID: l.ID, Lock: l.Name, Text: text}
	places := map[string]int{}
	for _, n := range news {
		key := stackKey(n.stack)
		at, known := places[key]
		switch {
		case known:
			x.Alike[at]++
		case len(x.Stacks) < maxStacks:
			places[key] = len(x.Stacks)
			x.Stacks, x.Alike = append(x.Stacks, n.stack), append(x.Alike, 1)
		}
	}
	return append(all, x)
}

// sentence says which agent has waited or held, and for how long.
func sentence(why Reason, all []lasting) string {
	did := "waited"
	if why == LongHold {
		did = "held it"
	}
	agents := map[agentKey]bool{}
	thing, longest := "task", time.Duration(0)
	for _, x := range all {
		agents[keyOf(x.agent)] = true
		longest = max(longest, x.lasts)
		if x.agent.Task == 0 {
			thing = "goroutine"
		}
	}
	if len(agents) == 1 {
		return fmt.Sprintf("%s has %s for %s", all[0].agent, did, span(longest))
	}
	return fmt.Sprintf("%s have %s, the longest for %s", plural(len(agents), thing), did, span(longest))
}

// tasks adds the tasks that were woken and not polled from before to now, and those that wake
// themselves all the time.
func (s *suspect) tasks(all []Suspicion, before, now *Snapshot, c *Config) []Suspicion {
	old := make(map[uint64]*Task, len(before.Tasks))
	for i := range before.Tasks {
		old[before.Tasks[i].ID] = &before.Tasks[i]
	}
	for i := range now.Tasks {
		t := &now.Tasks[i]
		o := old[t.ID]
		if o == nil {
			continue
		}
		add := func(why Reason, text string) {
			if s.isNew(subject{why, t.ID}) {
				text = fmt.Sprintf("task %d %s of %s %s", t.ID, t.Name, t.Spawned, text)
				all = append(all, Suspicion{At: now.At, Why: why, Text: text})
			}
		}
		queued := o.State == taskQueued && t.State == taskQueued && o.Polls == t.Polls
		waited := now.At.Sub(t.Since)
		if queued && c.NeverPolled >= 0 && waited >= c.NeverPolled {
			add(NeverPolled, "was woken "+span(waited)+" ago")
		}
		if t.SelfWakes >= minSelfWakes && 2*t.SelfWakes > t.Polls {
			add(SelfWake, fmt.Sprintf("has woken itself in %d of %d polls", t.SelfWakes, t.Polls))
		}
	}
	return all
}
