package text

import (
	"runtime"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

func TestAFunctionIsNamedWithItsPackageOnly(t *testing.T) {
	for long, short := range map[string]string{
		"main.main":                        "main.main",
		"github.com/a/b.v2/c.(*T).M.func1": "c.(*T).M.func1",
		"github.com/a/b.F[...]":            "b.F[...]",
		"github.com/a/b.(*T[go.shape.struct { example.com/p/q.X }]).M": "b.(*T[go.shape.struct { example.com/p/q.X }]).M",
	} {
		require.Equal(t, short, Function(runtime.Frame{Function: long}))
	}
}
