package fleet

import (
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// etcd may refuse this process what it asks for, because a role, a user or a password is not what
// it was. It answers otherwise only when somebody has changed that. So whoever waits is told, and
// the process goes on asking, but seldom. What is held stays held: it depends on the lease alone,
// and is handed on in the process.

// A refusal is an error by which etcd has refused something that a line needs.
type refusal struct{ err error }

// isRefusal reports whether etcd has understood a request and says that this process must not make
// it. Nothing of the request was done, or will be.
func isRefusal(err error) bool {
	for _, r := range []error{rpctypes.ErrPermissionDenied, rpctypes.ErrUserEmpty, rpctypes.ErrAuthFailed} {
		if errors.Is(err, r) {
			return true
		}
	}
	return false
}

// retryAfter is how long to wait after an error of the server before it is asked again.
func retryAfter(err error, refused time.Duration) time.Duration {
	if isRefusal(err) {
		return refused
	}
	return 50 * time.Millisecond
}

// newRefusal wraps the error of a refusal, for users.
func (d *driver) newRefusal(err error) error {
	return fmt.Errorf("fleet: %s %s: refused: %w", d.kind, d.name, err)
}

// tellRefusal tells the driver of an error, if that is a refusal.
func (d *driver) tellRefusal(err error) {
	if isRefusal(err) {
		d.post(func(in *inbox) { in.refusal = err })
	}
}

// refused ends the requests that wait. They see that they are too large, and ask refusedSince why.
// Requests that come later wait again, until the server answers or refuses once more.
func (l *loop) refused(err error) {
	l.deny(err)
	l.refusal.Store(&refusal{l.newRefusal(err)})
	t, most := l.current.Load(), int64(MaxPermits)
	for _, s := range l.seats {
		if s.t == t {
			most = l.state.Size
		}
		l.endRounds(&s.rounds)
	}
	t.Bound(0)
	t.Bound(most)
	l.endRounds(&l.rounds)
}

// refusedSince returns the error of a refusal after the given one, nil if there was none.
func (d *driver) refusedSince(before *refusal) error {
	if r := d.refusal.Load(); r != before {
		return r.err
	}
	return nil
}
