package store

import "errors"

// By these errors a store says what an error means for a fleet. See [Mark]. All others mean that
// nobody knows whether the request was carried out, or will be.
var (
	// ErrEnded means that the session has ended: there is no such lease. Nothing was done.
	ErrEnded = errors.New("farad: the session has ended")

	// ErrRefused means that the store has understood the request, and that this process must not
	// make it. Nothing was done, nor will be. The fleet asks again, but seldom.
	ErrRefused = errors.New("farad: the store refuses that")

	// ErrNoSpace means that the store had no space. The request may be carried out all the same.
	// The fleet then returns whole entries before it tries anything else.
	ErrNoSpace = errors.New("farad: the store has no space")

	// ErrCompacted means that the store has forgotten changes that a watch should yield. The fleet
	// reads its lines, and watches from now on.
	ErrCompacted = errors.New("farad: the store has forgotten older changes")
)

// Mark returns err, so that errors.Is finds both what and err in it. Users of a fleet see the text
// of err, and can ask for what it is in terms of the store.
func Mark(err, what error) error { return &marked{err, what} }

type marked struct{ err, what error }

func (m *marked) Error() string   { return m.err.Error() }
func (m *marked) Unwrap() []error { return []error{m.what, m.err} }
