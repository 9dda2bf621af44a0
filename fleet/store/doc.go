// Package store is what package fleet needs of the servers that its processes share. It is for
// authors of stores. Users of a fleet choose one: fleet/etcd or fleet/postgres.
//
// A [Store] keeps lines and sessions. A [Line] has a size, which many processes know, and entries,
// each of which is on the lease of a process. Who holds permits is a function of the line's [State]
// alone. So a store decides nothing about permits: it keeps what it is given, guards what it is
// asked to guard, and says what has changed. Package storetest has the tests that it must pass.
//
// # What a store has to promise
//
//  1. Order. One sequence of revisions for all lines; each transaction that changes something gets
//     the next. Otherwise an old state says nothing about a newer one.
//  2. A line is a size, with the revision of its last change, and entries: lease, number, weight,
//     and the revisions at which each was made and last changed. The first of these decides the
//     place, and never changes; ties go by lease and number. Otherwise processes disagree about who
//     holds.
//  3. Transactions are all or nothing, and linearizable. An operation sets the weight of an entry,
//     or deletes it, guarded by the entry's last change or absence; further guards are the epoch
//     and, for a merge, the size's last change. The answer is the whole line afterwards, at its
//     revision, and the epoch. Otherwise more is held than there is.
//  4. Reads are linearizable. Otherwise a line that goes back looks like a late read, and a request
//     may wrongly be too large.
//  5. Leases. A lease has a number never used before, and entries are of one lease. A renewal makes
//     it last for its time from when the store got it, or longer. When it ends all its entries
//     vanish, in one revision or several, and no transaction with it is carried out afterwards.
//     Otherwise two processes rely on the same permits, although both clocks are right.
//  6. Epochs. A session can raise its epoch at any time. Once that was answered, no transaction
//     with an older epoch is carried out. Otherwise a closed line must be remembered for as long as
//     its session lives.
//  7. A request is carried out at most once, at any time from when it was sent until the epoch or
//     the lease ends. An agent that still exists survives duplicates. Otherwise a permit that
//     nobody knows of is missing until the lease ends.
//  8. A watch delivers changes from a given revision on, in order, each revision at once, or says
//     that it cannot. It may be late; one that has stopped can be distinguished from a quiet one.
//     Otherwise processes do not learn that others wait.
//  9. Refusals ([ErrRefused], [ErrEnded]) say that nothing was done. Any other error says nothing.
//     Otherwise permits are missing that a process believes it has not asked for.
//  10. Deletes need no space, or only ends of leases return what is held.
//  11. Revisions do not fall while anybody runs. If they do, all permits are lost, and until the
//     revision from before is reached again tokens are less than resources have seen.
//
// Not needed: a clock that agrees with any other; an order of requests beyond that of revisions;
// that one server answers for another; watches that are complete over reconnects.
//
// In SQL, 1 is a row that each transaction updates, not a sequence object, whose numbers are not in
// the order of commits; 3 and 4 need SERIALIZABLE, or that row locked first; 5 is a table with ends
// by the database's clock, checked in each transaction; 6 is a column there; 8 may be LISTEN as a
// hint, and a read after each.
package store
