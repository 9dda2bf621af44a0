package clitest_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

func TestTreeHasItsFiles(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": nil, "b/c/d": {1, 2}})
	empty, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.Empty(t, empty)
	content, err := os.ReadFile(filepath.Join(dir, "b", "c", "d"))
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2}, content)
}

func TestRandomBytesDependOnTheSeedOnly(t *testing.T) {
	require.Equal(t, clitest.RandomBytes(300, 50), clitest.RandomBytes(300, 50))
	require.NotEqual(t, clitest.RandomBytes(300, 50), clitest.RandomBytes(300-256, 50))
}

func TestMethodsOfAFileAreReplacedOneByOne(t *testing.T) {
	dir := clitest.WriteTree(t, map[string][]byte{"a": {1, 2}})
	open := func() *clitest.File {
		f, err := os.Open(filepath.Join(dir, "a"))
		require.NoError(t, err)
		return &clitest.File{File: f}
	}
	plain := open()
	content, err := io.ReadAll(plain)
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2}, content)
	require.NoError(t, plain.Close())

	f, closed := open(), false
	f.OnRead = func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
	f.OnClose = func() { closed = true }
	_, err = f.Read(nil)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, f.Close())
	require.True(t, closed)
	require.ErrorIs(t, f.Close(), os.ErrClosed, "the file itself was closed, too")
}

func TestHighWaterRemembersThePeak(t *testing.T) {
	var h clitest.HighWater
	for _, n := range []int64{2, 3, -4, 2} {
		h.Add(n)
	}
	require.EqualValues(t, 3, h.Now())
	require.EqualValues(t, 5, h.Peak())
}

func TestTerminalTellsAllThatWasDrawn(t *testing.T) {
	for range 50 { // A loss would be seldom.
		terminal, drawn := clitest.Terminal(t, 40)
		want := strings.Repeat("\r"+strings.Repeat(" ", 38)+"\r", 20) + "the end"
		_, err := terminal.WriteString(want)
		require.NoError(t, err)
		require.Equal(t, want, drawn())
	}
}
