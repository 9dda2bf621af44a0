//go:build !faradcheck

package twa

// A ledger is a book of what is held, so that every over-release is noticed. It costs an addition
// each way, so it is kept only with the build tag faradcheck: ledger_check.go.
type ledger struct{}

func (*ledger) take(int64) {}

func (*ledger) give(int64) bool { return true }
