// Package etcd keeps the lines of a fleet in etcd.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: endpoints})
//	f, err := fleet.New(ctx, etcd.New(client, "billing"))
//
// A size, an entry and a session are a key each:
//
//	<namespace>/<kind>/<name>/size               of a semaphore: how many permits; no lease
//	<namespace>/<kind>/<name>/q/<lease>/<seq>    an entry: its weight; on the process's lease
//	<namespace>/member/<lease>                   a process, in JSON; on its lease
//
// Kind is semaphore, mutex or rwmutex. The name is escaped as in the path of a URL. Lease and seq
// are of 16 hexadecimal digits. Other keys are ignored. White space around a number is ignored,
// too: a shell adds a newline. A value that does not parse counts as none: an entry without weight
// is none, and a size is 0.
//
// etcd grants a lease of no less than one and a half election timeouts: 2 s if that is 1 s.
package etcd
