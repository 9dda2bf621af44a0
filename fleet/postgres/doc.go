// Package postgres keeps the lines of a fleet in PostgreSQL.
package postgres
