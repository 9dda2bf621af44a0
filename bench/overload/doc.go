// Package overload measures who gets the permits when more is wanted than there is: tenants that
// share a semaphore, and a server of HTTP at twice the load that it can carry.
//
// It imports locks, measure and table. Read overload.go first, then tenants.go, flood.go and
// limiters.go; costs.go has workloads of package locks: what a semaphore pays for its order.
package overload
