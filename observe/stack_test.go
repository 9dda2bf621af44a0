package observe

import (
	"encoding/json"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// here returns the stack of its caller, as the locks take it.
//
//go:noinline
func here() []uintptr {
	pcs := make([]uintptr, 32)
	return pcs[:runtime.Callers(2, pcs)]
}

func TestAStackBeginsWithTheCallersCode(t *testing.T) {
	all := frames(here())
	require.Contains(t, all[0].Function, "TestAStackBeginsWithTheCallersCode")
	require.Equal(t, "testing.tRunner", all[len(all)-1].Function, "and ends before the runtime")
	require.Regexp(t, `^observe\.TestAStackBeginsWithTheCallersCode \(stack_test\.go:\d+\)$`, place(here()))
	require.Empty(t, frames(nil))
	require.Empty(t, place(nil))
}

// One line of a program takes a lock in several ways: at once, or after a wait.
func TestStacksThatLookTheSameAreFolded(t *testing.T) {
	user := here()
	calls := reflect.ValueOf(Handler).Pointer() + 1
	direct, other := append(Stack{calls}, user...), append(Stack{calls, calls}, user...)
	require.Equal(t, stackKey(user), stackKey(direct))
	require.Equal(t, stackKey(user), stackKey(other))
	require.NotEqual(t, stackKey(user), stackKey(append(Stack{reflect.ValueOf(time.Now).Pointer() + 1}, user...)))
	require.NotEqual(t, stackKey(Stack{calls}), stackKey(Stack{calls, calls}), "nothing of the caller is there")
	require.Equal(t, frames(user), frames(other))
}

func TestFramesOfTheModuleAreLeftOut(t *testing.T) {
	for function, is := range map[string]bool{
		"github.com/farad-go/farad/sync/semaphore.(*Semaphore).Acquire": true,
		"github.com/farad-go/farad/runtime.Await":                       true,
		"github.com/farad-go/farad/examples/incident.main":              false,
		"github.com/farad-go/farad/bench/locks.run":                     false,
		"github.com/other/farad/sync.(*Mutex).Lock":                     false,
		"main.main": false,
	} {
		require.Equal(t, is, ours(runtime.Frame{Function: function, File: "x.go"}), function)
		require.False(t, ours(runtime.Frame{Function: function, File: "x_test.go"}), function)
	}
}

func TestAStackIsWrittenAsCalls(t *testing.T) {
	text, err := json.Marshal(Stack(here()))
	require.NoError(t, err)
	require.Contains(t, string(text), `{"Function":"github.com/farad-go/farad/observe.TestAStackIsWrittenAsCalls","File":"`)
	stack := Stack(here())
	require.NoError(t, json.Unmarshal(text, &stack))
	require.Nil(t, stack, "another process could not read it")
	text, err = json.Marshal(Stack(nil))
	require.NoError(t, err)
	require.Equal(t, "[]", string(text))
}
