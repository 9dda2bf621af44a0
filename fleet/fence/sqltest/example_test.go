package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/farad-go/farad/fleet/fence"
)

func ExampleRow() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // the database is in the memory of its connection
	ctx := context.Background()
	_, err = db.ExecContext(ctx, `
		CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL DEFAULT 0,
			fence TEXT NOT NULL DEFAULT '');
		INSERT INTO accounts (id) VALUES (1)`)
	if err != nil {
		fmt.Println(err)
		return
	}

	// The row of the account is what the lock guards. For PostgreSQL, add Placeholder: "$1".
	row := fence.Row{Table: "accounts", Key: "id", Fence: "fence"}
	deposit := func(token fence.Token, amount int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		if err := row.Advance(ctx, tx, 1, token); err != nil { // first of all
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE accounts SET balance = balance + ? WHERE id = 1", amount); err != nil {
			return err
		}
		return tx.Commit()
	}

	// A program gets tokens from its permits.
	newer := fence.Token{Rev: 20, Seq: 1, Lease: 2, Survivors: []int64{2}}
	older := fence.Token{Rev: 10, Seq: 1, Lease: 1, Survivors: []int64{1}}
	fmt.Println(deposit(newer, 100))
	fmt.Println(errors.Is(deposit(older, 100), fence.ErrStale))
	// Output:
	// <nil>
	// true
}
