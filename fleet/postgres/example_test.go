//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/farad-go/farad/fleet"
	"github.com/farad-go/farad/fleet/fence"
	"github.com/farad-go/farad/fleet/postgres"
)

// The lock and what it guards are in one database. The token is checked in the transaction that it
// protects, by its first statement.
func Example_fence() {
	ctx := context.Background()
	config := shared.Config("postgres") // your program: pgx.ParseConfig(url)
	db, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close(ctx) }()
	_, err = db.Exec(ctx, `
		CREATE TABLE accounts (id integer PRIMARY KEY, balance integer NOT NULL DEFAULT 0,
			fence text COLLATE "C" NOT NULL DEFAULT '');
		INSERT INTO accounts VALUES (17)`)
	if err != nil {
		fmt.Println(err)
		return
	}
	deposit := func(token fence.Token, amount int) error {
		return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, "UPDATE accounts SET fence = $1 WHERE id = 17 AND fence <= $1", token.Order())
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return fence.ErrStale // somebody has had the permit since
			}
			_, err = tx.Exec(ctx, "UPDATE accounts SET balance = balance + $1 WHERE id = 17", amount)
			return err
		})
	}

	f, err := fleet.New(ctx, postgres.New(config, "billing"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = f.Close(ctx) }()
	mutex, err := f.Mutex(ctx, "account 17")
	if err != nil {
		fmt.Println(err)
		return
	}
	before, err := mutex.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	before.Release() // or the process is paused here, and loses it
	permit, err := mutex.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer permit.Release()
	fmt.Println(deposit(permit.Token(), 100))
	fmt.Println(errors.Is(deposit(before.Token(), 100), fence.ErrStale))
	// Output:
	// <nil>
	// true
}
