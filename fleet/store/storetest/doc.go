// Package storetest has the tests that a store of a fleet must pass. There is one or more for each
// promise of package store:
//
//	storetest.Run(t, func(t *testing.T) *storetest.Servers {
//		servers := start(t)
//		return &storetest.Servers{Connect: servers.connect, TTL: 2 * time.Second}
//	})
//
// They see what requests and watches bring. They do not see what a store does when a server dies,
// a disk is full or a copy of it is restored: that takes a laboratory of the store's own.
package storetest
