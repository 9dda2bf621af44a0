//go:build interleave

package mutex

// Observe sets or clears the bit O. Under the explorer the record drops everything.
func Observe(l *Mutex, on bool) { l.observe(on) }
