package postgres

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/farad-go/farad/fleet/store"
)

// A source is the changes of one line, or of all.
type source struct {
	store *postgres
	line  string // "": all
}

func (s source) Revision(ctx context.Context) (rev int64, err error) {
	err = s.store.row(ctx, "SELECT farad.revision($1)", []any{s.store.namespace}, &rev)
	return rev, err
}

// A hand is what a watch does for others with its connection while it waits.
type hand struct {
	busy  atomic.Bool // somebody waits for that, or has it done
	jobs  chan job
	ended chan struct{}
}

// A job ends soon after the context of the watch.
type job func(context.Context, *watching) error

// spread is by how much watches differ in when they look whether a lease has ended: the first one
// that finds one ends it, and the others get a notification.
const spread = 200 * time.Millisecond

// Watch listens. It reads what has changed when it has begun, after each sign, when a lease may
// have ended, and after a notification, unless that has all changes that follow what is known: then
// there is nothing to read. So a notification that is lost delays what it would have brought until
// the next renewal of the process, which finds a newer revision.
func (s source) Watch(
	ctx context.Context, after int64, signs <-chan struct{}, yield func(store.Update) bool,
) error {
	conn, err := s.store.listens(ctx)
	if err != nil {
		return marked(err)
	}
	defer shut(conn)
	var channel string
	if err := conn.QueryRow(ctx, "SELECT farad.channel($1)", s.store.namespace).Scan(&channel); err != nil {
		return marked(err)
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return marked(err)
	}
	h := &hand{jobs: make(chan job), ended: make(chan struct{})}
	s.store.watch.Store(h)
	defer close(h.ended)
	defer s.store.watch.CompareAndSwap(h, nil)

	if !yield(store.Update{Rev: after}) {
		return nil
	}
	w := watching{source: s, conn: conn, hand: h, after: after, yield: yield}
	for sign := false; ; {
		if err := w.read(ctx, sign); err != nil {
			return marked(err)
		}
		for idle := true; idle && !w.done; {
			if idle, sign, err = w.wait(ctx, signs); err != nil {
				return marked(err)
			}
		}
		if w.done {
			return nil
		}
	}
}

// A watching is a watch that runs.
type watching struct {
	source
	conn  *pgx.Conn
	hand  *hand
	after int64  // what was changed up to this revision was yielded
	at    *int64 // the number of that change; nil: not known
	yield func(store.Update) bool
	done  bool      // yield has returned false
	look  time.Time // when a lease may have ended
}

// A hint is a change, as a notification and a row have it.
type hint struct {
	N       int64    `json:"n"`
	Rev     int64    `json:"rev"`
	Before  int64    `json:"before"` // the revision before; rows do not have it
	Lines   []string `json:"lines"`
	Leases  []int64  `json:"leases"`
	Seqs    []int64  `json:"seqs"`
	Made    []int64  `json:"made"`
	Weights []int64  `json:"weights"`
}

// take yields the changes that a notification has, if they follow what is known. It reports whether
// there is nothing to read.
func (w *watching) take(payload string) bool {
	var hints []hint
	if json.Unmarshal([]byte(payload), &hints) != nil {
		return false
	}
	for _, h := range hints {
		switch {
		case h.Rev <= w.after && w.at != nil:
			continue // it came before what was read
		case h.Before != w.after:
			return false
		}
		if u := w.update(&h); len(u.Events) > 0 && !w.yield(u) {
			w.done = true
			return true
		}
		w.after, w.at = h.Rev, &h.N
	}
	return true
}

// read yields what has changed, and then the newest revision: with sign, or if what came up to it
// was of other lines.
func (w *watching) read(ctx context.Context, sign bool) error {
	rows, err := w.conn.Query(ctx, "SELECT n, rev, lines, leases, seqs, made, weights, rest "+
		"FROM farad.changes($1, $2, $3)", w.store.namespace, w.after, w.at)
	if err != nil {
		return err
	}
	defer rows.Close()
	var updates []store.Update
	var now, at int64
	var micros *int64
	for rows.Next() {
		var h hint
		if err := rows.Scan(&at, &now, &h.Lines, &h.Leases, &h.Seqs, &h.Made, &h.Weights, &micros); err != nil {
			return err
		}
		h.Rev = now
		if u := w.update(&h); len(u.Events) > 0 {
			updates = append(updates, u)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, u := range updates {
		if !w.yield(u) {
			w.done = true
			return nil
		}
		w.after = u.Rev
	}
	if sign || now != w.after {
		w.done = !w.yield(store.Update{Rev: now})
	}
	if now < w.after && !w.done {
		return store.ErrCompacted // the servers have gone back
	}
	w.after, w.at = now, &at
	w.lookIn(untilEnd(micros))
	return nil
}

// lookIn has the watch look whether a lease has ended once one may have.
func (w *watching) lookIn(rest time.Duration) { w.look = time.Now().Add(rest + rand.N(spread)) }

func (w *watching) update(h *hint) store.Update {
	u := store.Update{Rev: h.Rev}
	for i, id := range h.Lines {
		if w.line != "" && id != w.line {
			continue
		}
		e := store.Event{Line: id, Change: store.Change{
			Key: store.Key{Lease: h.Leases[i], Seq: h.Seqs[i]}, Create: h.Made[i], Weight: h.Weights[i],
		}}
		if h.Made[i] > 0 {
			e.Mod = h.Rev
		}
		u.Events = append(u.Events, e)
	}
	return u
}

// wait waits until something happens, or does what others ask for. It reports whether there is
// nothing to read after that, and whether a sign of life was asked for.
func (w *watching) wait(ctx context.Context, signs <-chan struct{}) (idle, sign bool, err error) {
	waiting, stop := context.WithDeadline(ctx, w.look)
	defer stop()
	var n *pgconn.Notification
	ended := make(chan error, 1)
	go func() {
		var err error
		n, err = w.conn.WaitForNotification(waiting)
		ended <- err
	}()
	var work job
	select {
	case err = <-ended:
		if err == nil {
			return w.take(n.Payload), false, nil
		}
	case <-signs:
		sign = true
	case work = <-w.hand.jobs:
	}
	if work != nil || sign {
		stop()
		err = <-ended
	}
	if work != nil {
		if failed := work(ctx, w); w.conn.IsClosed() {
			return false, false, failed
		}
	}
	switch {
	case err == nil && n != nil: // it came at the same time
		return w.take(n.Payload) && !sign, sign, nil
	case ctx.Err() != nil:
		return false, false, ctx.Err()
	case w.conn.IsClosed():
		return false, false, err
	}
	return work != nil, sign, nil
}
