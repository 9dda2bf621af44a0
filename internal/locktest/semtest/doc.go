// Package semtest has the tests that every counting semaphore of this module must pass, whatever
// its policy inside: what the doc comments of the packages promise alike. It is for tests.
//
// A lock package calls [Run] with a [Kind], which says how to make the semaphores and their
// futures. Under the build tag interleave, RunHistories checks that every history is one of the
// sequential semaphore of package spec, and RunCompleteIsNotEarly checks what futures report. Task
// and Foreign are a poller and a context for scenarios of other packages.
//
// Read semtest.go first: it has the interfaces and the helpers. The lists of tests are in basics.go
// (order and numbers), cancel.go, resize.go, stress.go, futures.go and bubble.go. histories.go has
// the scenarios of the explorer.
//
// The package may import the standard library, require, locktest, futuretest, spec, interleave
// and waiter. It imports no lock package, so that each of them can use it.
package semtest
