package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A fault that only one system or one word size has is found there, and nowhere else.
func TestFaultsOfAPlatformAreFound(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module m\n\ngo 1.26.0\n",
		"m.go":              "package m\n\nimport \"strings\"\n\nvar _ = strings.ToUpper(name())\n",
		"name_linux.go":     "package m\n\nfunc name() string { return \"linux\" }\n",
		"name_windows.go":   "package m\n\nfunc name() string { return 1 }\n",
		"m_test.go":         "package m\n\nconst large int = bits\n",
		"bits_amd64.go":     "package m\n\nconst bits = 1 << 40\n",
		"bits_386.go":       "package m\n\nconst bits = 1 << 40\n",
		"body_js.go":        "package m\n\nfunc _() { _ = 1 + name() }\n\nfunc name() string { return \"\" }\n",
		"asm_amd64_test.go": "package m\n\nfunc implementedElsewhere()\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	for platform, want := range map[string]string{
		"linux/amd64":   "",
		"linux/386":     "m_test.go:3:19: cannot use bits",
		"windows/amd64": "name_windows.go:3:29: cannot use 1",
		"darwin/amd64":  "undefined: name",
		"js/wasm":       "body_js.go:3:16: invalid operation",
	} {
		var out bytes.Buffer
		ok, err := run(t.Context(), root, []string{platform}, &out)
		require.NoError(t, err)
		require.Equal(t, want == "", ok, "%s: %s", platform, &out)
		require.Contains(t, out.String(), want)
		require.Contains(t, out.String(), platform+": 3 packages and tests")
	}
	_, err := run(t.Context(), root, []string{"linux"}, &bytes.Buffer{})
	require.ErrorContains(t, err, "not GOOS/GOARCH")
	_, err = run(t.Context(), root, nil, &bytes.Buffer{})
	require.ErrorContains(t, err, "no platform")
}
