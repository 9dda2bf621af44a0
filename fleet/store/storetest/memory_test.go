package storetest_test

import (
	"testing"
	"testing/synctest"

	"github.com/farad-go/farad/fleet/internal/memstore"
	"github.com/farad-go/farad/fleet/store/storetest"
)

func TestTheStoreInMemory(t *testing.T) {
	for _, test := range storetest.Tests() {
		t.Run(test.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := memstore.ForTests()
				defer m.Close()
				if err := test.Run(t.Context(), s); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
