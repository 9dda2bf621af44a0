package observe

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/farad-go/farad/internal/observed/text"
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
func frames(stack Stack) (all []runtime.Frame) {
	stack = stack.users()
	if len(stack) == 0 {
		return nil
	}
	for next, more := runtime.CallersFrames(stack), true; more; {
		var f runtime.Frame
		if f, more = next.Next(); f.Function != goexit {
			all = append(all, f)
		}
	}
	return all
}

// essential returns the frames from the user's innermost to the user's outermost, those of the
// standard library between them included. So a reader sees the line that matters first, and not
// the server or the profiler that has called it. If all are the library's it returns all.
func (s Stack) essential() []runtime.Frame {
	all := frames(s)
	users := func(f runtime.Frame) bool { return !isStandard(f.Function) }
	first := slices.IndexFunc(all, users)
	if first < 0 {
		return all
	}
	last := len(all) - 1
	for !users(all[last]) {
		last--
	}
	return all[first : last+1]
}

// isStandard reports whether a function is of the standard library: the first element of its
// package's path has no dot, and is that of a folder in it.
func isStandard(function string) bool {
	pkg := function
	if i := strings.LastIndexByte(pkg, '/'); i >= 0 {
		pkg = pkg[:i]
	}
	top, _, _ := strings.Cut(pkg, "/")
	top, _, _ = strings.Cut(top, ".")
	_, found := slices.BinarySearch(standard, top)
	return found
}

// standard has the folders of the standard library.
var standard = []string{
	"archive", "bufio", "bytes", "cmp", "compress", "container", "context", "crypto", "database", "debug", "embed",
	"encoding", "errors", "expvar", "flag", "fmt", "go", "hash", "html", "image", "index", "internal", "io", "iter",
	"log", "maps", "math", "mime", "net", "os", "path", "plugin", "reflect", "regexp", "runtime", "slices", "sort",
	"strconv", "strings", "structs", "sync", "syscall", "testing", "text", "time", "unicode", "unique", "unsafe",
	"vendor", "weak",
}

// goexit is what every goroutine begins with.
const goexit = "runtime.goexit"

// users returns the stack from the caller's code on, or all of it if that is not there: the
// module's own calls are better than nothing.
func (s Stack) users() Stack {
	for i, pc := range s { // one for each call, inlined or not
		own, known := ownCalls.Load(pc)
		if !known {
			f, _ := runtime.CallersFrames(s[i : i+1]).Next()
			own = ours(f) || f.Function == goexit
			ownCalls.Store(pc, own)
		}
		if !own.(bool) {
			return s[i:]
		}
	}
	return s
}

// ownCalls says which program counters are of this module. There are as many as the program has
// calls of its locks and in them.
var ownCalls sync.Map

// ours reports whether a frame is of this module, other than of its examples and tests.
func ours(f runtime.Frame) bool {
	rest, ok := strings.CutPrefix(f.Function, module)
	return ok && !strings.HasPrefix(rest, "examples/") && !strings.HasPrefix(rest, "bench/") &&
		!strings.HasSuffix(f.File, "_test.go")
}

// place says in few words where a stack comes from: "main.serve (server.go:41)".
func place(stack []uintptr) string {
	all := frames(stack)
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s:%d)", text.Function(all[0]), path.Base(all[0].File), all[0].Line)
}

// stackKey is the same for stacks that look the same: a lock has several ways to take it.
func stackKey(s Stack) string {
	b := make([]byte, 0, 8*len(s))
	for _, pc := range s.users() {
		b = binary.LittleEndian.AppendUint64(b, uint64(pc))
	}
	return string(b)
}
