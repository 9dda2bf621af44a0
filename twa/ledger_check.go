//go:build faradcheck

package twa

import "github.com/farad-go/farad/internal/xsync"

// A ledger counts the permits that have been granted and not returned.
type ledger struct{ held xsync.Int64 }

// take enters n permits, before their owner knows that it has them.
func (l *ledger) take(n int64) { l.held.Add(n) }

// give strikes n permits out, or reports false if not so many are held.
func (l *ledger) give(n int64) bool {
	for { // A retry follows only another's success.
		held := l.held.Load()
		if held < n {
			return false
		}
		if l.held.CompareAndSwap(held, held-n) {
			return true
		}
	}
}
