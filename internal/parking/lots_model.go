//go:build interleave && !simulate

package parking

// lots has one bucket: whoever sleeps meets everybody else who does.
var lots = New(1)

// Default returns it.
func Default() *Table { return lots }

// patience is at an end at once.
const patience = 1
