package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5/pgconn"
)

//go:embed schema.sql
var schema string

// Schema returns the SQL that makes what stores need in a database: the schema farad, with tables
// and functions. An operator can review it. It may be carried out again.
func Schema() string { return schema }

// Create carries out [Schema] in one transaction. Several programs may call it at a time. The db is
// a *pgx.Conn, a *pgxpool.Pool or a pgx.Tx, of a role that may create a schema. Create fails if the
// database has a newer version.
func Create(ctx context.Context, db interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
},
) error {
	_, err := db.Exec(ctx, schema)
	return err
}
