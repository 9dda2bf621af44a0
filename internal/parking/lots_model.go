//go:build interleave && !simulate

package parking

// lots has one bucket, so all sleepers meet there.
var lots = New(1)

// Default returns it.
func Default() *Table { return lots }

// handoffAfter is as small as can be.
const handoffAfter = 1
