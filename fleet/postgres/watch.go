package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

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
	jobs  chan func(*pgx.Conn) error
	ended chan struct{}
}

// spread is by how much watches differ in when they look whether a lease has ended: the first one
// that finds one ends it, and the others get a notification.
const spread = 200 * time.Millisecond

// Watch listens, and reads what has changed when it has begun, after each notification, after each
// sign, and when a lease may have ended. So a notification that is lost delays what it would have
// told until the next renewal of the process, which finds a newer revision.
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
	h := &hand{make(chan func(*pgx.Conn) error), make(chan struct{})}
	s.store.watch.Store(h)
	defer close(h.ended)
	defer s.store.watch.CompareAndSwap(h, nil)

	if !yield(store.Update{Rev: after}) {
		return nil
	}
	w := watching{source: s, conn: conn, hand: h, after: after, yield: yield}
	for sign := false; ; {
		rest, err := w.read(ctx, sign)
		if err != nil {
			return marked(err)
		}
		if w.done {
			return nil
		}
		sign, err = w.wait(ctx, signs, rest+rand.N(spread))
		if err != nil {
			return marked(err)
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
	done  bool // yield has returned false
}

// read yields what has changed, and then the newest revision: with sign, or if what came up to it
// was of other lines. It returns for how long no lease ends.
func (w *watching) read(ctx context.Context, sign bool) (rest time.Duration, err error) {
	rows, err := w.conn.Query(ctx, "SELECT n, rev, lines, leases, seqs, made, weights, rest "+
		"FROM farad.changes($1, $2, $3)", w.store.namespace, w.after, w.at)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	var updates []store.Update
	var now, at int64
	var micros *int64
	for rows.Next() {
		var lines []string
		var leases, seqs, made, weights []int64
		if err := rows.Scan(&at, &now, &lines, &leases, &seqs, &made, &weights, &micros); err != nil {
			return 0, err
		}
		if u := w.update(now, lines, leases, seqs, made, weights); len(u.Events) > 0 {
			updates = append(updates, u)
		}
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	for _, u := range updates {
		if !w.yield(u) {
			w.done = true
			return 0, nil
		}
		w.after = u.Rev
	}
	if sign || now != w.after {
		w.done = !w.yield(store.Update{Rev: now})
	}
	if now < w.after && !w.done {
		return 0, store.ErrCompacted // the servers have gone back
	}
	w.after, w.at = now, &at
	if micros == nil {
		return time.Hour, nil
	}
	return time.Duration(*micros) * time.Microsecond, nil
}

func (w *watching) update(rev int64, lines []string, leases, seqs, made, weights []int64) store.Update {
	u := store.Update{Rev: rev}
	for i, id := range lines {
		if w.line != "" && id != w.line {
			continue
		}
		e := store.Event{Line: id, Change: store.Change{
			Key: store.Key{Lease: leases[i], Seq: seqs[i]}, Create: made[i], Weight: weights[i],
		}}
		if made[i] > 0 {
			e.Mod = rev
		}
		u.Events = append(u.Events, e)
	}
	return u
}

// wait waits until there may be something to read, and meanwhile does what others ask for. It
// reports whether that is a sign of life.
func (w *watching) wait(ctx context.Context, signs <-chan struct{}, most time.Duration) (sign bool, err error) {
	until := time.Now().Add(most)
	for {
		waiting, stop := context.WithDeadline(ctx, until)
		ended := make(chan error, 1)
		go func() {
			_, err := w.conn.WaitForNotification(waiting)
			ended <- err
		}()
		var job func(*pgx.Conn) error
		select {
		case err = <-ended:
			stop()
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if errors.Is(err, context.DeadlineExceeded) && !w.conn.IsClosed() {
				err = nil
			}
			return false, err
		case <-signs:
			sign = true
		case job = <-w.hand.jobs:
		}
		stop()
		err = <-ended
		if w.conn.IsClosed() {
			if err == nil {
				err = errors.New("postgres: the connection of the watch is closed")
			}
			if job == nil {
				return false, err
			}
		}
		if job == nil {
			return sign, nil
		}
		if jobErr := job(w.conn); w.conn.IsClosed() {
			return false, jobErr
		}
		if err == nil {
			return false, nil // a notification came at the same time
		}
	}
}
