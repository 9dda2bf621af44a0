package contractauth_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/etcd"
	"github.com/farad-go/farad/fleet/store"
	"github.com/farad-go/farad/fleet/store/storetest"
)

// Who logs in with a role on the namespace has a store; and what etcd refuses it does not do.
func TestEtcdWithRolesIsAStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) *storetest.Servers {
		s, root := server(t)
		ctx := patient(t)
		names := map[store.Store]string{}
		return &storetest.Servers{
			Connect: func() store.Store {
				name := fmt.Sprintf("worker%d", len(names))
				_, err := root.UserAdd(ctx, name, password)
				require.NoError(t, err)
				_, err = root.UserGrantRole(ctx, name, "fleet")
				require.NoError(t, err)
				one := etcd.New(login(t, s, name, password), namespace)
				names[one] = name
				return one
			},
			TTL: 2 * time.Second,
			Forbid: func(one store.Store) (func() error, error) {
				_, err := root.UserRevokeRole(ctx, names[one], "fleet")
				return func() error {
					_, err := root.UserGrantRole(ctx, names[one], "fleet")
					return err
				}, err
			},
		}
	})
}
