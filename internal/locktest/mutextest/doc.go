// Package mutextest has the tests that every mutex of this module must pass, whatever its policy
// inside: what the doc comments of the packages promise alike. It is for tests.
//
// A lock package calls [Run], [RunFair] for a mutex without futures, or [RunSmall] for one that
// promises no order either. Under the build tag interleave, RunModel and RunHistories are for fair
// mutexes, and RunSmallModel and RunSmallHistories for the others.
//
// Read mutextest.go first: it has the interfaces and the helpers. The lists of tests are in
// small.go (what every mutex does), order.go, future.go and bubble.go. model.go has scenarios for
// the explorer, histories.go those that package spec judges, and calls.go those of mutexes that
// promise no order.
//
// The package may import the standard library, require, goleak, locktest, futuretest, semtest,
// spec, interleave and waiter. It imports no lock package, so that each of them can use it.
package mutextest
