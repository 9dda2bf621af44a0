// Package fleettest has the tests that a fleet must pass on each store, by its public API alone.
// Package storetest has those of the store itself, and describes the servers for both:
//
//	fleettest.Run(t, func(t *testing.T) *storetest.Servers {
//		servers := start(t)
//		return &storetest.Servers{Connect: servers.connect, TTL: 2 * time.Second}
//	})
//
// What an operator does, and faults of requests, go through the interface of the store. So a store
// has to provide nothing for them.
package fleettest
