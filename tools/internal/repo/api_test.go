package repo

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompareAPI(t *testing.T) {
	gone, added := CompareAPI("a\nb\nc\n", "a\nc\nd\n")
	require.Equal(t, []string{"b"}, gone)
	require.Equal(t, []string{"d"}, added)
	gone, added = CompareAPI("a\nb\n", "b\na\n")
	require.Empty(t, gone)
	require.Empty(t, added)
}

func TestAPIFilesHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Shipped {
		names[APIFile(m)] = true
	}
	require.Len(t, names, len(Shipped))
	require.True(t, names["api/farad.txt"])
}
