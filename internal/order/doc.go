// Package order decides which of the requests that wait comes next. It is a data structure: the
// user of an [Order] guards it with a lock, gives it the time, and delivers the outcomes.
//
// An Order has lanes, and each request waits in one. With shares, each tenant that waits has a lane
// (shares.go; accounts.go and tree.go if tenants have caps, debits or parents); with priorities,
// each class has one (priorities.go); otherwise there is one lane in all. What happens to a lane
// that is long is up to its [Queue]: it stays first-in-first-out, or sheds requests by CoDel
// (codel.go) or by adaptive LIFO (lifo.go). A request that would be too late is refused by the
// measured rate (rate.go).
//
// Read order.go first. The package imports the standard library, waiter and x/sys/cpu.
package order
