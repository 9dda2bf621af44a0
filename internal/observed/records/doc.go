// Package records makes the records of observed locks, which the hooks of package observed fill,
// and reads them for package observe. No lock imports it: a program that does not observe anything
// has none of it.
//
// The registry keeps no lock alive: it has weak pointers and addresses.
package records
