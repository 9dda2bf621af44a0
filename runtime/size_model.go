//go:build interleave

package rt

// They are small under the explorer, so that queues overflow, and turns come.
const (
	ringSize       = 4
	injectionEvery = 3
	few            = 1
)

// endsByItself is false: a cleanup would run in the middle of an exploration, unseen.
const endsByItself = false

// explored says whether the explorer runs the scenarios.
const explored = true
