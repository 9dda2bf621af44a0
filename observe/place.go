package observe

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// module is what the functions of this module begin with, which are not the user's.
const module = "github.com/farad-go/farad/"

// placeOf returns the innermost place of a stack that is not in this module's locks, as file:line.
func placeOf(stack []uintptr) string {
	if len(stack) == 0 {
		return ""
	}
	frames := runtime.CallersFrames(stack)
	for {
		f, more := frames.Next()
		if f.File != "" && !strings.HasPrefix(f.Function, module) || !more {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
	}
}
