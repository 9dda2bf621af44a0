package storetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// memory returns servers in memory, whose requests take a while.
func memory() (*memstore.Server, *storetest.Servers) {
	m := memstore.NewServer()
	return m, &storetest.Servers{
		Connect: func() store.Store { return m.Connect(time.Millisecond) },
		TTL:     2 * time.Second,
		Forget:  func() error { m.Forget(); return nil },
		Fill: func() (func() error, error) {
			m.Fill(true)
			return func() error { m.Fill(false); return nil }, nil
		},
		Forbid: func(s store.Store) (func() error, error) {
			c := s.(*memstore.Store)
			c.On(memstore.Refuse("txn"))
			return func() error { c.On(nil); return nil }, nil
		},
	}
}

func TestTheStoreInMemory(t *testing.T) {
	for _, test := range storetest.Tests() {
		t.Run(test.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := memory()
				defer m.Close()
				if err := test.Run(t.Context(), s); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
