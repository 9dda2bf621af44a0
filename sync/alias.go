package sync

import std "sync"

// What the standard library has, and what needs no wait that ends early.
type (
	// Locker is the standard library's.
	Locker = std.Locker
	// Once is the standard library's.
	Once = std.Once
	// Map is the standard library's.
	Map = std.Map
	// Pool is the standard library's.
	Pool = std.Pool
)

// OnceFunc is the standard library's.
func OnceFunc(f func()) func() { return std.OnceFunc(f) }

// OnceValue is the standard library's.
func OnceValue[T any](f func() T) func() T { return std.OnceValue(f) }

// OnceValues is the standard library's.
func OnceValues[T1, T2 any](f func() (T1, T2)) func() (T1, T2) { return std.OnceValues(f) }

// noCopy has vet complain about copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
