// Package sqltest tests fence.Row with a real database. It is a module of its own, so that the
// database is in nobody's go.sum.
package sqltest
