// Package postgres keeps the lines of a fleet in PostgreSQL, 14 or newer.
//
//	config, err := pgx.ParseConfig(url)
//	f, err := fleet.New(ctx, postgres.New(config, "billing"))
//
// A migration, or an operator with psql, makes the [Schema] first; [Create] does it, too. Programs
// then need the right to call its functions, and to no table:
//
//	GRANT USAGE ON SCHEMA farad TO worker;
//	GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA farad TO worker;
//
// # Tokens
//
// Where the resource is in a database of the same kind, a token costs one line of SQL, in the
// transaction that it protects. The table has a column fence TEXT COLLATE "C" NOT NULL DEFAULT ”:
//
//	tag, err := tx.Exec(ctx, `UPDATE accounts SET fence = $2 WHERE id = $1 AND fence <= $2`,
//		id, permit.Token().Order())
//	if err == nil && tag.RowsAffected() == 0 {
//		err = fence.ErrStale // somebody has had the permit since: roll back
//	}
//
// This is the first statement of the transaction. It locks the row, so all that the transaction
// writes comes before the writes of a newer token, or not at all. fence.Row does the same for
// database/sql.
//
// # Order, cancellation, errors
//
// Whatever changes a line locks the row of its namespace: so transactions have an order, which is
// that of revisions, and the first one that gets the lock comes first. A request ends soon after
// its context. It is then unknown whether it was carried out, or will be: the connection is closed,
// the server is asked to cancel, and the guards and the epoch of the next transaction decide. The
// same holds if a connection breaks. What the server has rolled back for the sake of another
// transaction (serialization_failure, deadlock_detected) is tried again while the context lasts. A
// role without rights, or a schema that is not there, is store.ErrRefused; a full disk is
// store.ErrNoSpace.
//
// # Connections
//
// A process has two, however many locks it has. One is for requests, in turn; it is closed when it
// was not used for a minute. The other one listens, and renews the lease while it waits. Statements
// are not prepared and leave nothing behind, so the first may go by a pooler in transaction mode.
// The second may not: see [WithListen].
//
// Notifications are hints. When one is lost, the next renewal brings a revision that the watch does
// not have, and the watch reads what has changed: a third of the TTL later.
//
// # What PostgreSQL can promise, and what it cannot
//
//	one primary, fsync and full_page_writes on   all that package fleet promises
//	synchronous_commit = off                     the same: transactions here wait nevertheless
//	failover to a synchronous replica            the same, if clocks differ by less than TTL/5
//	failover to an asynchronous replica          commits may be lost, and a permit given twice:
//	                                             only tokens protect. They go on growing
//	two primaries at a time                      the same; only tokens protect, and not between
//	                                             resources that follow different ones
//	a restored backup                            what is held is lost, once processes notice;
//	                                             tokens go on growing
//	the server's clock is set forward            leases end early, by as much: beyond TTL/5 only
//	                                             tokens protect
//	the server's clock is set back               leases of the dead end late, by as much
//	long transactions, in the same database      pages are not pruned meanwhile: it gets slower.
//	                                             A database of its own has no such neighbours
//	vacuum                                       may run at any time. Rows are updated in place
//
// Tokens are monotonic where revisions fall because a revision is the time of its change, in
// microseconds, or one more than the one before. What was lost was before now. That needs a new
// primary whose clock is not behind the last change that anybody has seen.
package postgres
