//go:build interleave

package semaphore

// Observe sets or clears the bit O. Under the explorer the record drops everything.
func Observe(l *Semaphore, on bool) { l.observe(on) }
