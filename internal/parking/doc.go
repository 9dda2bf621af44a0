// Package parking is a table of queues in which goroutines sleep that wait for locks too small to
// have a queue of their own. A lock finds its queue by its key.
//
// The locks of two bits (sync/mutex), the waiting array (twa), the capacitors and the semaphore's
// capacitor sleep here. Read the comment of [Table] in parking.go first, then package twobit, the
// lock of two bits.
package parking
