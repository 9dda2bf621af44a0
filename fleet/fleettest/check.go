package fleettest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// fatal notes what is wrong, and where, and ends the goroutine that finds it.
func (w *world) fatal(what ...any) {
	var callers [8]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if !strings.HasSuffix(f.File, "/check.go") && !strings.HasSuffix(f.File, "/fleettest.go") {
			what = append([]any{fmt.Sprintf("%s:%d:", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)}, what...)
			break
		}
	}
	w.Errorf("%s", strings.TrimSuffix(fmt.Sprintln(what...), "\n"))
	runtime.Goexit()
}

// check ends the test unless something is right.
func (w *world) check(right bool, what ...any) {
	if !right {
		w.fatal(append([]any{"it is not so:"}, what...)...)
	}
}

func (w *world) noError(err error, what ...any) {
	w.check(err == nil, append(what, err)...)
}

func (w *world) errorIs(err, target error, what ...any) {
	w.check(errors.Is(err, target), append(what, err, "is not:", target)...)
}

// equal compares what is printed.
func (w *world) equal(want, got any, what ...any) {
	w.check(fmt.Sprint(want) == fmt.Sprint(got), append(what, got, "is not", want)...)
}

// panics ends the test unless do panics, with a value if there is one.
func (w *world) panics(do func(), value ...any) {
	var with any
	func() {
		defer func() { with = recover() }()
		do()
	}()
	w.check(with != nil && (len(value) == 0 || slices.Contains(value, with)), "panic:", with)
}
