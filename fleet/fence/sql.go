package fence

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// A Row says which row of a SQL database one permit guards, and which of its columns has the order
// of the greatest token seen: text of at least 33 characters, empty at first, never NULL. Digits
// sort before small letters there, as they do in all collations but those of EBCDIC. The names are
// put into statements as they are: quote them if the database asks for it, and never take them from
// a user.
type Row struct {
	Table string // the table
	Key   string // its column that says which row
	Fence string // its column for the order of a token
	// Placeholder is how a statement names its first parameter: "?", which is the default, "$1" for
	// PostgreSQL, "@p1" for SQL Server, ":1" for Oracle.
	Placeholder string
}

// Advance is the first thing that a transaction does which writes to what the row guards. It raises
// the fence of the row with this key to t. Roll the transaction back on an error, which is
//
//   - ErrStale, as a [StaleError], if the row has seen a greater token,
//   - sql.ErrNoRows if there is no such row: insert rows with an empty fence before they are used,
//   - ErrMalformed, or what the database says.
//
// The update locks the row until the transaction ends. So writes with other tokens come before it
// as a whole, or after it and are refused if their token is smaller: no token can be checked before
// and written after a greater one's. This holds at every isolation level at which a database
// prevents dirty writes, from READ COMMITTED on.
//
// Advance may be called again with the same token, in this transaction or the next. MySQL must then
// count the rows it finds, not those it changes: clientFoundRows=true in the data source name.
func (r Row) Advance(ctx context.Context, tx *sql.Tx, key any, t Token) error {
	if err := t.check(); err != nil {
		return err
	}
	order := t.Order()
	result, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s = %s AND %[2]s <= %[6]s",
		r.Table, r.Fence, r.parameter(1), r.Key, r.parameter(2), r.parameter(3)), order, key, order)
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	if n, err := result.RowsAffected(); err != nil || n > 0 {
		return err
	}
	// What follows only looks for the reason. A snapshot may show a fence that is no longer there,
	// so nothing that it says makes the token good.
	var stored string
	err = tx.QueryRowContext(ctx, fmt.Sprintf("SELECT %s FROM %s WHERE %s = %s",
		r.Fence, r.Table, r.Key, r.parameter(1)), key).Scan(&stored)
	if err != nil {
		return fmt.Errorf("fence: %w", err)
	}
	if err := staleOrder(t, stored); err != nil {
		return err
	}
	return &StaleError{Token: t}
}

func (r Row) parameter(i int) string {
	if r.Placeholder == "" {
		return "?"
	}
	return strings.Replace(r.Placeholder, "1", strconv.Itoa(i), 1)
}
