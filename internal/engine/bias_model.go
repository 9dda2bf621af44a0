//go:build interleave && !simulate

package engine

const columns = 1

// init gives a lock a table of its own: what an execution leaves behind must not reach the next. It
// is so small that readers collide.
func (b *bias) init() { b.table, b.id = newTable(2), 1 }
