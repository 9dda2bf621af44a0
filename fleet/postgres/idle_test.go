//go:build unix

package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/postgres"
)

// A connection that the server has ended because nobody used it costs no request.
func TestAnIdleConnectionIsEndedByTheServer(t *testing.T) {
	w := onShared(t)
	role := w.ns
	w.exec("CREATE ROLE " + role + " LOGIN IN ROLE worker")
	w.exec("ALTER ROLE " + role + " SET idle_session_timeout = 1000")
	s := postgres.New(w.server.Config(role), w.ns)
	for range 3 {
		_, _, err := s.Grant(w.ctx, time.Minute)
		require.NoError(t, err)
		w.eventually(func() bool {
			return w.count("SELECT count(*) FROM pg_stat_activity WHERE usename = $1", role) == 0
		}, "the server has ended it")
	}
}
