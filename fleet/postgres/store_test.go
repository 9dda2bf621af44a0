//go:build unix

package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// Postgres keeps what a store has to promise, for a role that may only call functions.
func TestPostgresIsAStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *storetest.Servers {
		t.Parallel()
		ns := namespace()
		db := operator(t, shared)
		roles := map[store.Store]string{}
		return &storetest.Servers{
			Connect: func() store.Store {
				role := fmt.Sprintf("%s_%d", ns, len(roles))
				_, err := db.Exec(t.Context(), "CREATE ROLE "+role+" LOGIN IN ROLE worker")
				require.NoError(t, err)
				s := postgres.New(shared.Config(role), ns)
				roles[s] = role
				return s
			},
			TTL: 2 * time.Second,
			Forget: func() error {
				_, err := db.Exec(context.Background(),
					"DELETE FROM farad.change c USING farad.space s WHERE s.id = c.space AND s.name = $1", ns)
				return err
			},
			Forbid: func(s store.Store) (func() error, error) {
				_, err := db.Exec(context.Background(), "REVOKE worker FROM "+roles[s])
				return func() error {
					_, err := db.Exec(context.Background(), "GRANT worker TO "+roles[s])
					return err
				}, err
			},
		}
	})
}
