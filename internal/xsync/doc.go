// Package xsync is the only door through which the core of this module reaches atomics, mutexes,
// pools and sleep.
//
// In a normal build every name is an alias of the standard library's, or of a type of
// internal/xsync/signal or internal/xsync/sleep. So the compiler emits the very code that it would
// emit without the package. The indirection exists for model checking: under the tag interleave the
// names are those of the types of internal/xsync/model, and an explorer of interleavings runs the
// shipped source under them.
package xsync
