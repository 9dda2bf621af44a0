package measure

import (
	"testing"
)

func TestContextForms(t *testing.T) {
	const n = 3
	for _, f := range AllForms {
		ctxs, cancels := f.Contexts(n)
		cancels[1]()
		for i, ctx := range ctxs {
			ended := ctx.Err() != nil
			if want := f == Shared || f == Own && i == 1; ended != want {
				t.Errorf("%s: context %d ended: %v, want %v", f, i, ended, want)
			}
		}
		for _, cancel := range cancels {
			cancel()
		}
	}
}
