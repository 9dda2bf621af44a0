package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/farad-go/farad/fleet/fence"
)

var accounts = fence.Row{Table: "accounts", Key: "id", Fence: "fence"}

// open returns a database with two accounts. Others may use it as well: it is a file.
func open(t *testing.T) *sql.DB {
	t.Helper()
	name := "file:" + filepath.Join(t.TempDir(), "bank") + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)"
	db, err := sql.Open("sqlite", name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), `
		CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL DEFAULT 0,
			fence TEXT NOT NULL DEFAULT '');
		INSERT INTO accounts (id) VALUES (1), (2)`)
	require.NoError(t, err)
	return db
}

func token(rev, seq int64) fence.Token {
	return fence.Token{Rev: rev, Seq: seq, Lease: 7, Survivors: []int64{7}}
}

// set sets the balance of account 1, if t may.
func set(ctx context.Context, db *sql.DB, row fence.Row, t fence.Token, balance int64) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := row.Advance(ctx, tx, 1, t); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = ? WHERE id = 1", balance); err != nil {
		return err
	}
	return tx.Commit()
}

func stored(t *testing.T, db *sql.DB, id int) (balance int64, order string) {
	t.Helper()
	row := db.QueryRowContext(t.Context(), "SELECT balance, fence FROM accounts WHERE id = ?", id)
	require.NoError(t, row.Scan(&balance, &order))
	return balance, order
}

func TestARowTakesNoWriteWithASmallerToken(t *testing.T) {
	for _, placeholder := range []string{"", "?", "$1"} {
		t.Run(fmt.Sprintf("placeholder %q", placeholder), func(t *testing.T) {
			row := accounts
			row.Placeholder = placeholder
			db := open(t)
			ctx := t.Context()
			require.NoError(t, set(ctx, db, row, token(9, 9), 1))
			require.NoError(t, set(ctx, db, row, token(16, 1), 2))
			require.NoError(t, set(ctx, db, row, token(16, 1), 3), "the same permits may write again")
			for _, late := range []fence.Token{token(9, 9), token(16, 0), token(15, 20)} {
				err := set(ctx, db, row, late, 4)
				var stale *fence.StaleError
				require.ErrorAs(t, err, &stale)
				require.Equal(t, fence.StaleError{Token: late, By: fence.Token{Rev: 16, Seq: 1}}, *stale)
			}
			balance, order := stored(t, db, 1)
			require.Equal(t, int64(3), balance)
			require.Equal(t, token(16, 1).Order(), order)
			_, order = stored(t, db, 2)
			require.Empty(t, order, "each row has a fence of its own")
		})
	}
}

func TestNoRowNoTableNoToken(t *testing.T) {
	db := open(t)
	advance := func(row fence.Row, key any, u fence.Token) error {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback()) }()
		return row.Advance(t.Context(), tx, key, u)
	}
	require.NoError(t, advance(accounts, 1, token(1, 1)))
	require.ErrorIs(t, advance(accounts, 3, token(1, 1)), sql.ErrNoRows)
	require.ErrorIs(t, advance(accounts, 1, fence.Token{}), fence.ErrMalformed)
	require.ErrorContains(t, advance(fence.Row{Table: "none", Key: "id", Fence: "fence"}, 1, token(1, 1)), "none")
	_, order := stored(t, db, 1)
	require.Empty(t, order, "a transaction that is rolled back leaves no fence")

	// What a stranger wrote is never overwritten, and never taken for a fence.
	_, err := db.ExecContext(t.Context(), "UPDATE accounts SET fence = 'zzz' WHERE id = 1")
	require.NoError(t, err)
	require.ErrorIs(t, advance(accounts, 1, token(1, 1)), fence.ErrMalformed)
}

// Many writers, each with its token, in any order. Whatever the database makes of it, no balance is
// older than its fence; without the check the last writer wins.
func TestTheGreatestTokenWritesLast(t *testing.T) {
	for _, checked := range []bool{true, false} {
		t.Run(fmt.Sprintf("checked: %v", checked), func(t *testing.T) {
			const tokens = 40
			db := open(t)
			revs := rand.New(rand.NewPCG(1, 1)).Perm(tokens)
			revs[0], revs[tokens-1] = 0, tokens-1
			late := make(chan struct{}) // the greatest has written: the first one continues
			var writers sync.WaitGroup
			for _, rev := range revs {
				u := token(int64(rev)+1, 1)
				writers.Go(func() {
					if rev == 0 {
						<-late
					}
					if checked {
						if err := set(t.Context(), db, accounts, u, u.Rev); err != nil {
							assert.ErrorIs(t, err, fence.ErrStale)
						}
					} else {
						_, err := db.ExecContext(t.Context(), "UPDATE accounts SET balance = ? WHERE id = 1", u.Rev)
						assert.NoError(t, err)
					}
					if rev == tokens-1 {
						close(late)
					}
				})
			}
			writers.Wait()
			balance, order := stored(t, db, 1)
			if checked {
				require.Equal(t, int64(tokens), balance)
				require.Equal(t, token(tokens, 1).Order(), order)
			} else {
				require.Less(t, balance, int64(tokens), "the fault is real")
			}
		})
	}
}
