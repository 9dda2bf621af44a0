package observe

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a page with what it was, without what a machine is called.
func golden(t *testing.T, name, got string) {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	got = strings.ReplaceAll(got, filepath.ToSlash(dir), "/srv/shop")
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test ./observe -run %s -update, and read the change", t.Name())
}

// testView is a view of a program that is always the same.
func testView(s *Snapshot) *view {
	v := newView(s)
	v.Program, v.PID = "shop", 4711
	return v
}

func TestTextIsMadeForReaders(t *testing.T) {
	golden(t, "shop.txt", testView(shop()).text(""))
	golden(t, "lock.txt", testView(shop()).only(4).text(""))
	golden(t, "empty.txt", testView(&Snapshot{At: shopTime}).text(""))
}

func TestTextHasBoundedLinesAndNothingThatATerminalObeys(t *testing.T) {
	for _, s := range []*Snapshot{shop(), crowd(), hostile(), {}} {
		text := s.String()
		require.Less(t, len(text), 200_000)
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			require.LessOrEqual(t, utf8.RuneCountInString(line), textWidth, line)
			require.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", line)
		}
	}
}
