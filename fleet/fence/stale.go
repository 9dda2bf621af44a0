package fence

import (
	"errors"
	"fmt"
)

// ErrStale is the error of what comes with a token that a newer one has outdated. The caller has
// lost its permits: it gives up what it does, and acquires anew. The error is a [StaleError].
var ErrStale = errors.New("fence: stale token")

// A StaleError is an [ErrStale] with its reason.
type StaleError struct {
	Token Token // the token that is refused
	// By is the token that outdated it, without its survivors. A resource that stores no more than
	// the order knows no lease either.
	By Token
}

// Error says which token outdated which.
func (e *StaleError) Error() string {
	return fmt.Sprintf("%v: %s of lease %016x is outdated by %s",
		ErrStale, e.Token.Order(), e.Token.Lease, e.By.Order())
}

// Is reports whether target is [ErrStale].
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// staleOrder compares t with the order that a resource has stored. It is nil if t may act.
func staleOrder(t Token, stored string) error {
	if stored == "" {
		return nil
	}
	rev, seq, ok := parseOrder(stored)
	if !ok {
		return fmt.Errorf("%w: stored: %.60q", ErrMalformed, stored)
	}
	by := Token{Rev: rev, Seq: seq}
	if t.Compare(by) < 0 {
		return &StaleError{Token: t, By: by}
	}
	return nil
}
