package measure

import (
	"testing"
)

func TestCommandLineCanBePasted(t *testing.T) {
	got := CommandLine([]string{"go", "run", "."}, []string{"-run", "8x1|64x1", "-rounds=5", "it's"})
	if want := `go run . -run '8x1|64x1' -rounds=5 'it'\''s'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
