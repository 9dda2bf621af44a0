package waiting

import (
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

func TestFutureWithoutBind(t *testing.T) {
	var f Future
	for name, call := range map[string]func(){
		"Poll": func() { f.Poll(nil) },
		"Done": func() { f.Done() },
	} {
		require.PanicsWithValue(t, "farad: future without Bind", call, name)
	}
	f.Release() // it has nothing
	require.ErrorIs(t, f.Err(), ErrPending)
	require.ErrorIs(t, f.Take(), ErrPending)
	require.False(t, f.Complete())
	require.False(t, f.Bound())
}
