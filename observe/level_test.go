package observe

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLevelsAreWrittenAsText(t *testing.T) {
	for _, l := range []Level{LevelOff, LevelCounts, LevelHolders} {
		text, err := json.Marshal(l)
		require.NoError(t, err)
		require.Equal(t, `"`+l.String()+`"`, string(text))
		var back Level
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, l, back)
	}
	require.Equal(t, "Level(9)", Level(9).String())
	var l Level
	require.Error(t, json.Unmarshal([]byte(`"much"`), &l))
}
