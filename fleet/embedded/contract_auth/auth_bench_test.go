package contractauth_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/crypto/bcrypt"

	"github.com/farad-go/farad/fleet/embedded"
)

// A renewal of a lease is a stream of gRPC, and etcd's client logs in for each of them.
func BenchmarkRenewal(b *testing.B) {
	run := func(name string, client func(b *testing.B) *clientv3.Client) {
		b.Run(name, func(b *testing.B) {
			c := client(b)
			lease, err := c.Grant(b.Context(), 600)
			require.NoError(b, err)
			for b.Loop() {
				_, err := c.KeepAliveOnce(b.Context(), lease.ID)
				require.NoError(b, err)
			}
		})
	}
	run("open", func(b *testing.B) *clientv3.Client {
		s, err := embedded.Start("")
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, s.Close()) })
		c, err := s.Client()
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, c.Close()) })
		return c
	})
	withPassword := func(cost uint) func(b *testing.B) *clientv3.Client {
		return func(b *testing.B) *clientv3.Client {
			b.Helper()
			s, _ := server(b, func(c *embed.Config) { c.BcryptCost = cost })
			return login(b, s, user, password)
		}
	}
	run("password", withPassword(uint(bcrypt.DefaultCost)))
	run("cheap-password", withPassword(uint(bcrypt.MinCost)))
}
