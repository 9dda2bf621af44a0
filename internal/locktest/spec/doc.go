// Package spec says, as a sequential program, what a FIFO counting semaphore is, and judges whether
// it could have given the results of a concurrent history. It is for tests.
//
// Read spec.go first: [Check] says what a history is and when it is linearizable. state.go is the
// sequential semaphore. recorder.go records histories. judge.go remembers the histories it has
// judged. machine.go does the same for any other sequential program. search.go looks for
// the order.
//
// The package may import the standard library. Its tests compare the search with porcupine, and
// do so for the histories of five locks.
package spec
