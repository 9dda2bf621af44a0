package snippets_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/snippets"
)

func TestCodeThatDoesNotCompileIsFound(t *testing.T) {
	compiler, err := snippets.Locks.Compiler(t.Context(), "", nil)
	require.NoError(t, err)
	for _, text := range []string{
		"sem.Release(1)\n",
		"func f() { sem.Release(1) }\n",
		"var sem = semaphore.New(1)\n\nfunc f() { sem.Release(1) }\n", // declares what the prelude has
		"import \"github.com/farad-go/farad/sync\" // was: \"sync\"\n",
	} {
		_, err := compiler.Compile(text)
		require.NoError(t, err, text)
	}
	for text, fault := range map[string]string{
		"sem.Free(1)\n":                    "Free",
		"func f() { semaphore.Make(1) }\n": "Make",
		"sem.Release(1\n":                  "missing ','",
		"if n := 1; true {\n}\n":           "not used: map",
	} {
		_, err := compiler.Compile(text)
		require.ErrorContains(t, err, fault, text)
	}
}

// The go command, which compiles the source, refuses what is not used.
func TestTheSourceUsesWhatItDeclares(t *testing.T) {
	compiler, err := snippets.Locks.Compiler(t.Context(), "", nil)
	require.NoError(t, err)
	source, err := compiler.Compile("for {\n\tn, err := compute()\n\tselect {\n\tcase <-quit:\n\t\tvar k int\n\t}\n}\n")
	require.NoError(t, err)
	require.Regexp(t, `(?s)n, err := compute\(\)\n\t\t_ = (n|err)\n\t\t_ = (n|err)\n.*var k int\n\t+_ = k\n`, string(source))
	require.NotContains(t, string(source), "import waiter")
}
