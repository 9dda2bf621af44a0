// Package farad is the front page of a module of mutexes, read-write locks and semaphores whose
// waits end by context, timeout or select, in FIFO order, without allocating.
//
// The package itself contains nothing. Start with one of these:
//
//	sync               package sync, with waits that end by context or timeout
//	sync/semaphore     a counting semaphore: weights, timeouts, futures, Resize, Close
//
// The others:
//
//	sync/mutex          a mutex in strict order, and locks of four bytes and of two bits
//	sync/rwlock         a read-write lock in strict order: upgrade, downgrade, reader bias
//	sync/keyed          a mutex, a read-write lock or a semaphore for each key
//	sync/capacitor      bounded fairness for an existing lock
//	limit               adaptive concurrency limits
//	limit/httplimit     limits around HTTP handlers and transports
//	observe             which goroutines hold locks, and which ones wait, in a running program
//	observe/hook        for authors of locks in other modules, which observe then knows
//	observe/observetest tests that fail on deadlocks, inversions and leaks
//	observe/series      time series of what observe shows, for exporters of metrics
//	runtime             package rt: an executor of tasks that wait for all these
//	runtime/antspool    a pool of ants behind a semaphore
//	twa                 a semaphore and a mutex on tickets and a waiting array
//	waiter              the mechanism of waiting, for authors of locks and futures
//
// These are in modules of their own:
//
//	fleet                   permits and locks that many machines share
//	fleet/etcd              what the processes of a fleet share, in etcd
//	fleet/postgres          the same, in PostgreSQL
//	fleet/store             what a fleet needs of a store, for authors of stores
//	fleet/store/storetest   the tests that a store has to pass
//	fleet/fleettest         the tests that a fleet has to pass on each store
//	fleet/fence             tokens by which a resource refuses who has lost its permit
//	fleet/fence/grpcfence   tokens in the metadata of gRPC
//	fleet/fence/httpfence   tokens in the headers of HTTP
//	fleet/embedded          an etcd in this process, for development and tests
//	limit/grpclimit         limits around gRPC servers and clients
//	observe/otel            metrics of observed locks for OpenTelemetry
//	observe/prometheus      metrics of observed locks for Prometheus
//	vet                     analyzers for go vet: acquires and releases that break a contract
//
// # Waiting
//
// These hold for all waits of the module. A method says only what is different.
//
//   - A call that gets an error holds nothing. With nil it holds what it has asked for.
//   - A context that is done never acquires, even what is free. A nil context panics.
//   - A cancel that happened before the grant wins, and what was granted goes to the next in line.
//     The error is ctx.Err(). If a grant and the end of a timeout come together, either may win.
//   - A wait that ends early leaves the line in constant time, and the line is served again.
//   - In the steady state nothing is allocated, whatever the context: nodes are used again.
//
// docs/guides/choosing.md in the repository says which one to use. A farad is the unit of
// capacitance.
package farad
