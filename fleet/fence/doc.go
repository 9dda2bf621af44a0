// Package fence is what a resource checks, so that nobody acts on it with permits that are lost.
//
// # What is impossible without it
//
// A process may stop at any point, for any time: the machine is suspended, a virtual machine
// migrates, memory is swapped. It may stop after it has seen that its permits are valid, and before
// it writes. While it is stopped its lease expires, another process gets the permits and writes.
// Then the first one continues and writes too. The same happens to a write that waits in a network.
// No lease, no margin and no check at the holder prevents this, because each of them comes before
// the stop. Only the resource can: it sees both writes, and must know which of the two is from the
// past. So each grant carries a [Token], the holder sends it along, and the resource refuses what a
// newer token has outdated. A resource that cannot check anything cannot be protected.
//
// # Which check
//
//	the resource                                             use
//	a row of a SQL database, one permit                      Row
//	an object of a store with conditional writes, one permit Object, Write
//	a server in Go, one permit or several                    Gate
//	a server behind HTTP or gRPC                             packages httpfence and grpcfence
//	anything else, one permit                                store Order, refuse what is less
//
// Check every write, also those that seem to be harmless. A resource has one lock or semaphore that
// guards it: tokens of two of them do not compare.
//
// # One permit
//
// Tokens of a mutex grow with every grant. A resource stores the greatest that it has seen, and
// refuses smaller ones. [Token.Order] is a text of 33 characters for that, in one column or header;
// texts compare as the tokens do.
//
// # Several permits
//
// Of a semaphore, many tokens are good at a time, and an older one may well be good: its holder
// works slowly. So a token names the survivors: the leases that held permits when it was granted. A
// token is dead as soon as the resource has seen a newer one that does not list its lease. [Gate]
// applies this rule. For one permit it comes to the same as the comparison, but for two requests of
// the same process: Seq distinguishes these.
//
// # What a token is not
//
// A token is no credential. A client that may present one may present a great one and lock all
// others out: authenticate clients first. Tokens of a restored backup of etcd are smaller than
// those that were granted after the backup, unless the restore raised the revisions (etcdutl
// snapshot restore --bump-revision). Those of PostgreSQL go on growing.
package fence
