package rwlock_test

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/rwtest"
)

// What all read-write locks promise but for their order. The tests beside this one are of the
// order, of futures, and of upgradable readers.
func TestContract(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			rwtest.Run(t, func() rwtest.Lock { return k.make() })
		})
	}
}
