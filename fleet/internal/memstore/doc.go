// Package memstore is a store in memory, for tests. Its processes are at a distance that tests
// choose, its requests fail and hang as they say, and it forgets and goes back.
package memstore
