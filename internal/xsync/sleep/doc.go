// Package sleep is where the goroutines of this module sleep.
//
// A [Sleeper] has two ways. By gopark and goready, which the runtime's own locks use, a sleep costs
// half of what it costs in a channel. They are used behind a gate: see gopark.go for the gate, and
// docs/design/parking.md for the reasons. Whatever the gate excludes sleeps in channels, and so do
// the bubbles of testing/synctest, the waits that select, and programs that ask for it.
//
// It imports package time, internal/xsync/signal and, for the explorer, internal/xsync/model. Read
// sleeper.go first.
package sleep
