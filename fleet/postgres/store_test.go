//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/fleettest"
	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// The fleet keeps its contract on Postgres.
func TestContract(t *testing.T) { fleettest.Run(t, servers) }

// Postgres keeps what a store has to promise, for a role that may only call functions.
func TestPostgresIsAStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *storetest.Servers {
		t.Parallel()
		return servers(t)
	})
}

// servers says what the tests of all stores have to know of a namespace of the shared server. Each
// process has a role.
func servers(t *testing.T) *storetest.Servers {
	ns := namespace()
	db := operator(t, shared)
	exec := func(sql string, args ...any) error {
		_, err := db.Exec(context.Background(), sql, args...)
		return err
	}
	roles := map[store.Store]string{}
	return &storetest.Servers{
		Connect: func() store.Store {
			role := fmt.Sprintf("%s_%d", ns, len(roles))
			require.NoError(t, exec("CREATE ROLE "+role+" LOGIN IN ROLE worker"))
			s := postgres.New(shared.Config(role), ns)
			roles[s] = role
			return s
		},
		TTL: 2 * time.Second,
		Forget: func() error {
			return exec("DELETE FROM farad.change c USING farad.space s WHERE s.id = c.space AND s.name = $1", ns)
		},
		Forbid: func(s store.Store) (func() error, error) {
			return func() error { return exec("GRANT worker TO " + roles[s]) }, exec("REVOKE worker FROM " + roles[s])
		},
	}
}
