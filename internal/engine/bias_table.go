//go:build !interleave || simulate

package engine

import (
	"runtime"

	"github.com/farad-go/farad/internal/xsync"
)

const columns = 64 // rows of 512 bytes: neighbours share no cache line

var (
	shared xsync.Pointer[table] // made on first use: 8 kB for each four processors
	lastID xsync.Int64
)

// init gives a lock a column of the table that all share.
func (b *bias) init() {
	if shared.Load() == nil {
		rows := 16
		for rows < 4*runtime.NumCPU() {
			rows *= 2
		}
		t := newTable(rows)
		shared.CompareAndSwap(nil, &t)
	}
	b.table = *shared.Load()
	b.id = lastID.Add(1)
	b.column = uintptr(b.id % columns)
}
