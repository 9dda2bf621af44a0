// Package fleet has semaphores, mutexes, read-write locks and elections that many machines share,
// and a semaphore for each key. A store keeps what they share: package fleet/etcd keeps it in etcd,
// package fleet/postgres in PostgreSQL.
//
//	f, err := fleet.New(ctx, etcd.New(client, "billing")) // client is a *clientv3.Client
//	sem, err := f.Semaphore(ctx, "exports", 40)           // 40 permits for the whole fleet
//	p, err := sem.AcquirePermit(ctx, 3)
//	defer p.Release()
//	... // p.Context() ends, and p.Lost() is closed, if the permits can no longer be relied on
//
// Permits of a fleet can be lost, and only a [Permit] knows that. So all locks of a fleet are held
// by Permits. Only a [Semaphore] also counts without one, because it stands where a semaphore of
// one process does: see [Permits].
//
// # What it promises
//
//   - At most Size permits are held in the fleet. This assumes that the store's transactions are
//     linearizable, that clocks drift by less than the margin, and that a holder stops when its
//     permits are Lost.
//   - A holder need not be trusted to stop if the resource checks the permit's [fence.Token].
//   - While the store answers, every request is served. The permits of a process that dies come
//     back when its lease ends: after the TTL, 5 s unless [WithTTL] says otherwise.
//
// # What it costs
//
// A process has a block of permits and hands them on to its goroutines without the network. An
// acquire from the block costs what a local one costs and a look at the clock. A new block is one
// round trip and one write. While others wait, a process keeps a block for its tenure at most
// ([WithTenure], 20 ms; more if many wait), and returns what is idle at once. While nobody waits it
// keeps the block. A lock stays open, and costs what it costs, until its Close or that of the
// [Fleet].
//
// # What is impossible
//
// A process can be paused between the look at the clock and the act, for any time. Then its lease
// ends, another process holds the permits, and the first one acts. No lock service can prevent
// that: only the resource can, by refusing a token that is older than one it has seen. Nor can
// anybody be granted permits while the store has no majority.
//
// Order: FIFO in a process, as in the package semaphore; first come, first served among blocks.
// There is no order between goroutines of two processes.
//
// Package observe shows the locks of a fleet like local ones, and which processes have permits.
//
// To understand the package read store first: what a line is, and which entries hold. Then read
// internal/line (what a process decides), internal/share (where goroutines wait), loop.go (the
// agent over a store) and session.go (for how long a lease can be relied on). docs/design/fleet.md
// has the properties, the faults and their outcomes; docs/guides/fleet.md how to run it.
package fleet
