//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/fleet/postgres"
	"github.com/farad-go/farad/fleet/postgres/internal/pgtest"
)

// shared is the server of tests that do not harm it.
var shared *pgtest.Server

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait most of the time, for leases to end.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	s, err := pgtest.Start()
	if errors.Is(err, pgtest.ErrMissing) && os.Getenv("CI") == "" {
		fmt.Println("SKIPPED:", err)
		os.Exit(0)
	}
	if err == nil {
		shared = s
		err = prepare(context.Background(), s)
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Println(err)
	}
	if s != nil {
		_ = s.Close()
	}
	os.Exit(code)
}

// prepare makes the schema and a role that may call its functions.
func prepare(ctx context.Context, s *pgtest.Server) error {
	c, err := pgx.ConnectConfig(ctx, s.Config("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(ctx) }()
	if err := postgres.Create(ctx, c); err != nil {
		return err
	}
	_, err = c.Exec(ctx, `
		CREATE ROLE worker LOGIN;
		GRANT USAGE ON SCHEMA farad TO worker;
		GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA farad TO worker;`)
	return err
}

var namespaces atomic.Int64

// namespace returns a new one.
func namespace() string { return "test" + strconv.FormatInt(namespaces.Add(1), 10) }

// operator returns a connection that may do everything.
func operator(t *testing.T, s *pgtest.Server) *pgx.Conn {
	t.Helper()
	c, err := pgx.ConnectConfig(t.Context(), s.Config("postgres"))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}
