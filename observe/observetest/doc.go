// Package observetest makes a test fail that has used locks of this module wrongly: taken them in
// both orders, waited for ever, or never given them back.
//
//	func TestMain(m *testing.M) { observetest.Main(m) } // for a package
//
//	func TestTransfer(t *testing.T) {
//		observetest.Check(t) // for one test
//		...
//	}
//
// Command [github.com/farad-go/farad/observe/observetest/farad-observe] does so for a whole module,
// by an environment variable, without a change of its code.
//
// All locks are observed from then on, as by [observe.All] at LevelHolders: each of package sync
// from its first use on; what a constructor makes, from then on; the others, and what was made
// before, from the first wait for it.
//
// # What makes a test fail
//
//   - An inversion: two locks that two goroutines have taken in both orders, although nothing has
//     deadlocked. See [observe.Inversion] for what is none.
//   - A deadlock. No test could end it, so it ends the test program at once, with status 2, as the
//     runtime ends one all of whose goroutines are asleep. What is not certain to be a deadlock is
//     shown shortly before the time of the tests is up.
//   - A leak: a permit, a future, or a lock was collected while it was held.
//   - A lock that is still held at the end, by a goroutine that has ended.
//
// The last two are looked for only if the tests have passed: one that fails need not tidy up.
//
// There are no reports of what is right by how the locks are used: a lock that others unlock than
// who locked it; permits from a place that hands them on; a semaphore that was dropped with all of
// it held, because somebody has waited so for all others. Two goroutines that take locks in both
// orders, and can never do so at the same time, are reported: nothing shows that.
//
// # Which test
//
// A report goes to the checked test whose function is in a stack of it. If there is none, it goes
// to the checked test that ends next, or to the package. Each report is made once in a process, and
// the places in the code say which it is: with -count only the first round fails.
//
// # Reasons
//
// The file testdata/observetest.txt beside the test has the reports that are no faults. Each line
// is the one that the report ends with, a tab, and a reason; a line that begins with # is a
// comment. [Main] fails if a line was not needed although all tests ran, unless its reason begins
// with "sometimes".
//
// # testing/synctest
//
// Check may be called in a bubble or outside of it. A bubble all of whose goroutines are blocked
// ends the program itself, before there is a report.
//
// # The race detector
//
// Under -race, do not write a new value over a lock that is idle: the monitor may be reading its
// state, and the race detector reports that.
//
// # Costs
//
// Fast paths of the locks of package sync are off in a program that this package is part of, as
// they are with testing/synctest. So benchmarks belong into another. [Main] observes nothing if
// -bench is given. docs/guides/ci.md has what tests cost.
package observetest
