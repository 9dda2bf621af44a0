package memstore

import (
	"time"

	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// ForTests returns a server, and what the tests of all stores know of it. Its requests take a
// while.
func ForTests() (*Server, *storetest.Servers) {
	m := NewServer()
	return m, &storetest.Servers{
		Connect: func() store.Store { return m.Connect(time.Millisecond) },
		TTL:     2 * time.Second,
		Forget:  func() error { m.Forget(); return nil },
		Fill: func() (func() error, error) {
			m.Fill(true)
			return func() error { m.Fill(false); return nil }, nil
		},
		DeleteSize: func(kind, name string) error {
			m.DeleteSize(ID(kind, name))
			return nil
		},
		Forbid: func(s store.Store) (func() error, error) {
			c := s.(*Store)
			c.On(Refuse("txn"))
			return func() error { c.On(nil); return nil }, nil
		},
	}
}
