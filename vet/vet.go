// Package vet has analyzers for the contracts of Farad's locks, futures and tasks. They find what
// compiles and breaks a contract: an error that says "not acquired" and is dropped, a release of
// what was not acquired, a permit that a return forgets.
//
// They know Farad's types only, and find them by import path and name. So this module imports
// nothing of Farad, and the analyzers work with any version of it that has those names. Locks of
// the standard library and of other modules are for other linters.
//
// A report is to be a defect. Where the code does not show that, an analyzer keeps silent: each
// says in its documentation what it does not find. docs/guides/vet.md in the repository shows how
// to run them.
package vet

import "golang.org/x/tools/go/analysis"

// Analyzers returns all analyzers. Command farad-vet runs them; a program with other drivers or
// other analyzers takes them from here.
func Analyzers() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		errDropped,
		failedRelease,
		missedRelease,
		unreleasedFuture,
		deferInLoop,
		blockInPoll,
		copiedLock,
	}
}
