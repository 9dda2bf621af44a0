// Package observed has the hooks by which locks record what happens to them. Package observe shows
// it.
//
// A lock that is observed has a bit O in its word, which keeps everybody off its fast paths. Its
// slow paths see the bit, look up the lock's [Record] by [Of], and call its hooks. A lock that is
// not observed knows nothing of this package, but for one load of [Everything] on slow paths.
//
// The registry keeps no lock alive: it has weak pointers and addresses.
package observed
