package fleet_test

import (
	"testing"
	"testing/synctest"

	"github.com/farad-go/farad/fleet/fleettest"
	"github.com/farad-go/farad/fleet/internal/memstore"
)

// The fleet keeps its contract in virtual time.
func TestContract(t *testing.T) {
	for _, test := range fleettest.Tests() {
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
