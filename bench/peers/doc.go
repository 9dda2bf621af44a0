// Package peers has what more than one family of workloads measures: the semaphore as an interface,
// its floor, a channel, and the names under which implementations stand in the tables.
//
// It imports nothing of bench. Read peers.go first.
package peers
