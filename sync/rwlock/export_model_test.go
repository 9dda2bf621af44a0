//go:build interleave

package rwlock

// Observe sets or clears the bit O. Under the explorer the record drops everything.
func Observe(l *RWLock, on bool) { l.observe(on) }
