//go:build interleave

package engine

const columns = 1

// newBias gives a lock a table of its own: what an execution leaves behind must not reach the next. It is so small that
// readers collide.
func newBias() *Bias { return &Bias{table: newTable(2), id: 1} }
