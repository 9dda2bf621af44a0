//go:build interleave && !simulate

package parking

import "github.com/farad-go/farad/internal/xsync"

// lots has one bucket, which all sleepers share.
var lots = New(1)

// Default returns it.
func Default() *Table { return lots }

// handoffAfter is as small as can be.
const handoffAfter = 1

// Mutex returns the lock of the bucket of l: it is for checks that follow the code step by step.
func (l Line) Mutex() *xsync.Mutex { return &l.b.mu }
