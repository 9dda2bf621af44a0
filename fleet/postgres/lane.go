package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A lane is one connection, which requests use in turn. It is made when it is needed, and closed
// when it was not used for a time.
//
// A pool would do less: it makes connections in the background, for as long as the system lets it
// wait, and a server that cannot be reached would take all of its places. Here a connection is made
// within the time of the request that needs it.
type lane struct {
	connect func(context.Context) (*pgx.Conn, error)
	turn    chan struct{} // has one while it is somebody's turn, who has what follows
	conn    *pgx.Conn     // nil: none
	idle    *time.Timer   // closes it
}

const (
	// idleTime is for how long a connection stays open that nobody uses.
	idleTime = time.Minute

	// closing is for how long a farewell may take.
	closing = time.Second
)

func newLane(connect func(context.Context) (*pgx.Conn, error)) *lane {
	return &lane{connect: connect, turn: make(chan struct{}, 1)}
}

// do has a request be made when it is its turn.
func (l *lane) do(ctx context.Context, request func(c *pgx.Conn) error) (err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	if l.idle != nil {
		l.idle.Stop()
	}
	for unsent := 0; ; { // A retry follows only another's success, or is the only one.
		err = l.try(ctx, request)
		if isUnsent(err) {
			unsent++
		} else if !isRolledBack(err) {
			break
		}
		if unsent > 1 || ctx.Err() != nil {
			break
		}
	}
	if l.conn != nil {
		conn := l.conn
		l.idle = time.AfterFunc(idleTime, func() { l.closeIdle(conn) })
	}
	return marked(err)
}

func (l *lane) try(ctx context.Context, request func(c *pgx.Conn) error) (err error) {
	if l.conn == nil {
		if l.conn, err = l.connect(ctx); err != nil {
			return err
		}
	}
	err = request(l.conn)
	if l.conn.IsClosed() {
		l.conn = nil
	} else if isStandby(err) {
		shut(l.conn) // where the primary is now, the next connection finds out
		l.conn = nil
	}
	return err
}

// isRolledBack reports whether a transaction was rolled back because of another one, which goes on.
// At READ COMMITTED that is a deadlock with an operator at most. Roles may ask for another
// isolation.
func isRolledBack(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && (e.Code == "40001" || e.Code == "40P01") // serialization_failure, deadlock_detected
}

// isUnsent reports whether a connection turned out to be of no use before anything was sent, or
// before the server has read anything: it had ended an idle session.
func isUnsent(err error) bool {
	var failed *pgconn.ConnectError
	var e *pgconn.PgError
	switch {
	case err == nil || errors.As(err, &failed):
		return false
	case errors.As(err, &e):
		return e.Code == "57P05" // idle_session_timeout
	}
	return pgconn.SafeToRetry(err)
}

// isStandby reports whether a server only reads: it is a standby, or has become one.
func isStandby(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code == "25006" // read_only_sql_transaction
}

// closeIdle closes a connection that nobody has used since, unless somebody does now.
func (l *lane) closeIdle(conn *pgx.Conn) {
	select {
	case l.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-l.turn }()
	if l.conn == conn {
		shut(conn)
		l.conn = nil
	}
}

// shut closes a connection.
func shut(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	_ = conn.Close(ctx)
}
