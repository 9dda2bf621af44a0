// Package locks measures mutexes and read-write locks, and storms of cancelled acquisitions. The
// packages array and capacitor add workloads of their own, in the same form.
//
// It imports measure, peers and table. Read locks.go first: a [Bench] is a workload with its
// implementations, a [Result] a line of the table. Then workloads.go and storm.go; targets.go says
// what farad is held to.
package locks
