package observe

import (
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"strings"
)

const module = "github.com/farad-go/farad/"

// A Stack is a stack of program counters, as runtime.Callers returns them.
type Stack []uintptr

// Frames returns the calls, the innermost first. It begins with the place that used the lock: the
// calls within this module are left out.
func (s Stack) Frames() []runtime.Frame { return frames(s) }

// String says in few words where the lock was used: "main.serve (server.go:41)".
func (s Stack) String() string { return place(s) }

// A call is a frame in JSON.
type call struct {
	Function, File string
	Line           int
}

// MarshalJSON writes the function, file and line of each call.
func (s Stack) MarshalJSON() ([]byte, error) {
	calls := []call{}
	for _, f := range frames(s) {
		calls = append(calls, call{f.Function, f.File, f.Line})
	}
	return json.Marshal(calls)
}

// UnmarshalJSON leaves the stack empty: program counters mean nothing in another process.
func (s *Stack) UnmarshalJSON([]byte) error {
	*s = nil
	return nil
}

// frames returns the frames of a stack, the innermost first, without those of this module that
// stand before the caller's code, and without the one that every goroutine begins with. What is
// left begins with the line that a reader looks for.
func frames(stack []uintptr) []runtime.Frame {
	if len(stack) == 0 {
		return nil
	}
	var all []runtime.Frame
	users := 0 // the index of the caller's first frame
	for next := runtime.CallersFrames(stack); ; {
		f, more := next.Next()
		if f.Function != "runtime.goexit" {
			if users == len(all) && ours(f) {
				users++
			}
			all = append(all, f)
		}
		if !more {
			break
		}
	}
	if users == len(all) {
		return all // the module's own: better than nothing
	}
	return all[users:]
}

// ours reports whether a frame is of this module, other than of its examples and tests.
func ours(f runtime.Frame) bool {
	rest, ok := strings.CutPrefix(f.Function, module)
	return ok && !strings.HasPrefix(rest, "examples/") && !strings.HasPrefix(rest, "bench/") &&
		!strings.HasSuffix(f.File, "_test.go")
}

// function returns the name of a frame's function with its package, but without the path of that.
func function(f runtime.Frame) string {
	name, types, _ := strings.Cut(f.Function, "[")
	name = name[strings.LastIndexByte(name, '/')+1:]
	if types != "" {
		name += "[" + types
	}
	return name
}

// place says in few words where a stack comes from: "main.serve (server.go:41)".
func place(stack []uintptr) string {
	all := frames(stack)
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s:%d)", function(all[0]), path.Base(all[0].File), all[0].Line)
}
