// Package rwtest has the tests that every read-write lock of this module must pass. It is for
// tests.
//
// A lock package calls [Run] with a [Kind], which says how to make the locks and what they promise
// beyond [Lock]: first in, first out; futures; upgradable readers. Under the build tag interleave,
// RunHistories checks histories of fair locks against package spec. What only one package can test
// – its words, its machine code, its scenarios – stays in that package.
//
// Read rwtest.go first: it has the interfaces and the helpers. The lists of tests are in basics.go
// (no waiting), waits.go, order.go, upgrade.go, futures.go, exclusion.go and bubble.go.
//
// The package may import the standard library, require, goleak, locktest, futuretest, spec,
// interleave and waiter. It imports no lock package, so that each of them can use it.
package rwtest
