// Package locktest has what the tests of the locks and of the executor share. It is for tests.
//
// Read locktest.go first: it waits for what must happen, and shows all stacks if that does not.
// context.go has contexts that end inside a call. costs.go counts allocations and blocked
// goroutines. wakers.go has wakers. leaks.go looks for goroutines that are left.
//
// The packages below it hold the suites that several packages run: semtest for semaphores,
// mutextest for mutexes, rwtest for read-write locks, futuretest for the futures of all of them.
// Package spec judges histories.
//
// The package may import the standard library and goleak. It imports no other package of this
// module, so that the tests of each can use it.
package locktest
