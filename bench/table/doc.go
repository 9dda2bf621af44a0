// Package table has the tables of a report, and the targets whose verdicts stand in them.
//
// It imports measure. Read table.go first, then targets.go.
package table
