package store

import (
	"context"
	"fmt"
	"time"
)

// A Store keeps the lines and the sessions of one fleet. Whatever shares the servers with it has
// other names.
//
// All methods may be called at any time, by any goroutine, and all requests end soon after their
// context. How long to wait for an answer, and when to ask again, is the fleet's business: a store
// makes each request once, and returns its error.
type Store interface {
	fmt.Stringer // for messages, as "etcd billing"

	// The changes of all lines.
	Source

	// The way that all other requests go.
	Renewer

	// Line returns a line. It asks nothing. Kind and name are any text that is not empty, and no
	// two pairs are the same line.
	Line(kind, name string) Line

	// Grant makes a lease that ends when it was not renewed for a time, at least ttl. It returns
	// the lease and that time.
	Grant(ctx context.Context, ttl time.Duration) (lease int64, lasts time.Duration, err error)

	// Begin has a lease be a session: others find it among the Sessions, and its first epoch
	// begins, which Begin returns. The fleet asks again after an error.
	Begin(ctx context.Context, s Session) (epoch int64, err error)

	// Revoke ends a lease now.
	Revoke(ctx context.Context, lease int64) error

	// Sessions returns the sessions that there are.
	Sessions(ctx context.Context) ([]Session, error)

	// Ways names ways to the servers on which leases can be renewed. They may change at any time,
	// and one may be there several times: for as many renewals at a time. There is at least one.
	Ways() []string

	// Way makes one of them. It asks nothing.
	Way(name string) Way
}

// A Session is a lease and who has it. Who is the fleet's, and the store keeps it.
type Session struct {
	Lease int64 // greater than 0
	Who   string
}

// A Renewer renews leases.
type Renewer interface {
	// Renew makes a lease last for its time from when the store gets this, and returns that time
	// and the revision of the servers, as far as who answers knows it.
	Renew(ctx context.Context, lease int64) (lasts time.Duration, rev int64, err error)
}

// A Way is a connection for renewals, which a server that hangs or other requests of the process do
// not delay. There is one renewal at a time.
type Way interface {
	Renewer

	// Prepare has the next renewal find a connection. It does not wait for it.
	Prepare()

	// Close ends the connection. No renewal is under way.
	Close()
}

// A Line is one of the lines of a store. A state that it returns is the caller's.
type Line interface {
	// The changes of this line. A store that lets a process see only some lines has to let it watch
	// each of them.
	Source

	// ID is the line in the events of a watch.
	ID() string

	// Read returns the line as it is now.
	Read(ctx context.Context) (State, error)

	// Commit carries out a transaction of the session s if its guards are true, of which one is
	// that the session's epoch is this one. It returns the line after it, whether or not it was
	// carried out, and the epoch of the session, as far as it knows: if that has become another
	// one, or nobody knows who the session is, the fleet has to know.
	Commit(ctx context.Context, s Session, epoch int64, t *Txn) (State, int64, error)

	// Fence begins another epoch of the session s, and returns it with the line as it is then. What
	// was sent in an earlier one and was not carried out yet never will be, in any line.
	Fence(ctx context.Context, s Session) (State, int64, error)

	// Probe returns the line if this process may write to it, and changes nothing.
	Probe(ctx context.Context) (State, error)

	// SetSize writes the size, if it was written last at revision mod, 0 if there is none, and if
	// the line has no entries or unused is false. It returns the line after that, and whether it
	// has written the size.
	SetSize(ctx context.Context, size, mod int64, unused bool) (st State, done bool, err error)
}

// A Source is where the changes of one line come from, or those of all lines.
type Source interface {
	// Revision returns the newest revision, if the process may watch this source.
	Revision(ctx context.Context) (int64, error)

	// Watch calls yield with all that changes after a revision, in order, until yield returns
	// false, ctx is done, or the store cannot go on. Then it returns the reason, or nil after
	// false. If changes are missing that is [ErrCompacted].
	//
	// The first update comes as soon as the watch has begun, though there may be no change yet.
	// Another one comes soon after a value is received from signs, unless the watch still catches
	// up. A watch that has got stuck is recognized by that.
	Watch(ctx context.Context, after int64, signs <-chan struct{}, yield func(Update) bool) error
}

// An Update is all that has changed in a source at a revision, or, without events, a sign of life:
// all changes up to the revision have been yielded. It may be less than that of the watch: then who
// answers is late, or the servers have gone back.
type Update struct {
	Rev    int64
	Events []Event // in any order; only until yield returns
}

// An Event is a change of a line. What a store does not know as a line may have events as well.
type Event struct {
	Line string // its ID
	Change
}
