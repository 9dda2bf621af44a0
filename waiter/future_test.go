package waiter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFutureWithoutInitPanics(t *testing.T) {
	var f Future
	for name, call := range map[string]func(){
		"Poll": func() { f.Poll(nil) },
		"Done": func() { f.Done() },
		"Err":  func() { _ = f.Err() },
	} {
		require.PanicsWithValue(t, "farad: future without Init", call, name)
	}
	require.True(t, f.Release(), "it has nothing")
	require.True(t, f.Cancel())
	require.False(t, f.Complete())
}
