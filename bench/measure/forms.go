package measure

import (
	"context"
)

// A Form is the kind of context that the goroutines of a cell acquire with. It decides what a wait
// has to watch: nothing, one done channel that all watch, or one done channel each.
type Form string

// The context forms.
const (
	Background Form = "background"
	Shared     Form = "shared"
	Own        Form = "own"
)

// AllForms are all forms, in the order of the tables.
var AllForms = []Form{Background, Shared, Own}

// Contexts returns the contexts of n goroutines, and the function that ends each of them. Those of
// the form own have no parent in common, or they would share its lock.
func (f Form) Contexts(n int) ([]context.Context, []context.CancelFunc) {
	ctxs, cancels := make([]context.Context, n), make([]context.CancelFunc, n)
	for i := range ctxs {
		switch {
		case f == Background:
			ctxs[i], cancels[i] = context.Background(), func() {}
		case f == Own || i == 0:
			ctxs[i], cancels[i] = context.WithCancel(context.Background())
		default:
			ctxs[i], cancels[i] = ctxs[0], cancels[0]
		}
		// The done channel is made on first use: let that be here, and not in what is measured.
		_ = ctxs[i].Done()
	}
	return ctxs, cancels
}
