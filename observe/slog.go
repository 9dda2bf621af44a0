package observe

import (
	"fmt"
	"log/slog"
	"strings"
)

// LogValue is how much is wrong, and the lock with the most trouble if somebody waits for one.
func (s *Snapshot) LogValue() slog.Value {
	v := newView(s)
	attrs := []slog.Attr{
		slog.Int("locks", len(v.Locks)), slog.Int("waiting", v.Waiting), slog.Int("deadlocks", len(v.Deadlocks)),
		slog.Int("leaks", v.leaked()), slog.Int("suspicions", v.suspected()),
	}
	if len(v.Locks) > 0 && v.Locks[0].State < stateHeld {
		attrs = append(attrs, slog.Any("worst", *v.Locks[0].Lock))
	}
	return slog.GroupValue(attrs...)
}

// LogValue is what the lock is called, and its numbers.
func (l Lock) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.Uint64("id", l.ID), slog.String("name", lockName(l.ID, l.Name, l.Kind)), slog.String("kind",
			clean(l.Kind, maxName)),
		slog.Int64("size", l.Size), slog.Int64("held", l.Held), slog.Int("waiting", l.Waiting),
		slog.Uint64("acquired", l.Counts.Acquired), slog.Uint64("contended", l.Counts.Contended),
	}
	if l.Wait.Count > 0 {
		attrs = append(attrs, slog.Duration("wait_p99", l.Wait.Quantile(0.99)))
	}
	if l.Hold.Count > 0 {
		attrs = append(attrs, slog.Duration("hold_p99", l.Hold.Quantile(0.99)))
	}
	return slog.GroupValue(attrs...)
}

// LogValue is an attribute for each wait: who waits for what, where, and who holds it since where.
func (d Deadlock) LogValue() slog.Value {
	attrs := []slog.Attr{slog.Int("size", len(d.Waits))}
	for i, b := range d.Waits[:min(len(d.Waits), maxWaits)] {
		var line strings.Builder
		fmt.Fprintf(&line, "%s waits for %s at %s", b.Waiter.Agent, withKey(lockName(b.LockID, b.Lock, b.Kind),
			b.Waiter.Key), at(b.Waiter.Stack))
		for _, h := range b.Holders[:min(len(b.Holders), maxShown)] {
			fmt.Fprintf(&line, ", held by %s since %s", h.Agent, at(h.Stack))
		}
		attrs = append(attrs, slog.String(fmt.Sprintf("wait%d", i+1), line.String()))
	}
	return slog.GroupValue(attrs...)
}

// LogValue is what may be a fault, and where.
func (s Suspicion) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("why", clean(string(s.Why), maxLabel))}
	if s.LockID != 0 {
		attrs = append(attrs, slog.String("lock", lockName(s.LockID, s.Lock, "")))
	}
	attrs = append(attrs, slog.String("text", clean(s.Text, maxText)))
	for _, stack := range s.Stacks[:min(len(s.Stacks), 1)] {
		attrs = append(attrs, slog.String("at", at(stack)))
	}
	return slog.GroupValue(attrs...)
}

// LogValue is what has leaked, and who acquired it where.
func (l Leak) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("what", clean(l.Kind, maxLabel)), slog.String("lock", lockName(l.LockID, l.Lock,
			"")), slog.Int64("permits", l.Permits),
		slog.String("agent", l.Agent.String()), slog.String("at", at(l.Stack)), slog.Time("since",
			l.Since), slog.Bool("returned", l.Returned),
	)
}

// at names the place of a stack, known or not.
func at(s Stack) string {
	if p := place(s); p != "" {
		return clean(p, maxText)
	}
	return "an unknown place"
}
