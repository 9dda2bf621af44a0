package interleave

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"unsafe"
)

// explain shortens the failing schedule of the execution that has just ended, and tells its story.
func (x *Run) explain(f *Failure, body func(*Run)) {
	steps := append([]choice(nil), x.trail...)
	f.Found = formatSchedule(steps)
	if RaceEnabled { // to be explained without the race detector
		f.Schedule = f.Found
		return
	}
	steps = x.shorten(steps, f.Kind, body)
	f.Schedule = formatSchedule(steps)
	x.tracing = true
	x.lines = nil
	x.execute(&script{steps: steps}, body)
	x.tracing = false
	f.Trace = strings.Join(x.lines, "\n")
	if x.failure != nil {
		f.Message = x.failure.Message
	} else {
		f.Message += "\n(It does not fail again: the body is not deterministic.)"
	}
}

// shorten looks for a schedule that fails in the same way with fewer switches, or as many and fewer steps. It takes
// away runs of steps, and joins those of one thread, as long as that helps.
func (x *Run) shorten(steps []choice, kind FailureKind, body func(*Run)) []choice {
	fails := func(candidate []choice) []choice {
		x.execute(&script{steps: candidate}, body)
		if x.failure == nil || x.failure.Kind != kind {
			return nil
		}
		return append([]choice(nil), x.trail...)
	}
	better := func(a, b []choice) bool {
		if s, t := switches(a), switches(b); s != t {
			return s < t
		}
		return len(a) < len(b)
	}
	const enough = 2000
	tries := 0
again:
	for tries < enough {
		runs := runsOf(steps)
		for _, size := range []int{len(runs) / 2, len(runs) / 4, 3, 2, 1} {
			for from := 0; size > 0 && from+size <= len(runs); from++ {
				for _, candidate := range [][]choice{
					join(runs[:from], runs[from+size:]),                                // leave them out
					join(runs[:from], runs[from+size:], runs[from:from+size]),          // do them last
					join(runs[:from], swapped(runs[from:from+size]), runs[from+size:]), // the other way round
				} {
					tries++
					if got := fails(candidate); got != nil && better(got, steps) {
						steps = got
						continue again
					}
				}
			}
		}
		break
	}
	return steps
}

// runsOf cuts a schedule where another thread goes on.
func runsOf(steps []choice) (runs [][]choice) {
	for i := 0; i < len(steps); {
		j := i + 1
		for j < len(steps) && steps[j].thread == steps[i].thread {
			j++
		}
		runs = append(runs, steps[i:j])
		i = j
	}
	return runs
}

func join(parts ...[][]choice) (steps []choice) {
	for _, p := range parts {
		for _, r := range p {
			steps = append(steps, r...)
		}
	}
	return steps
}

func swapped(runs [][]choice) [][]choice {
	r := make([][]choice, len(runs))
	for i := range runs {
		r[len(runs)-1-i] = runs[i]
	}
	return r
}

// A root is a variable of the scenario, from which objects get their names.
type root struct {
	name string
	v    reflect.Value
}

// Name has traces call what p points to, and what can be reached from there, by name.
func (x *Run) Name(name string, p any) {
	if x.tracing {
		x.roots = append(x.roots, root{name, reflect.ValueOf(p)})
	}
}

// Logf adds a line of the scenario's own to the trace.
func (x *Run) Logf(format string, args ...any) {
	if x.tracing && !x.quiet {
		x.say(nil, fmt.Sprintf(format, args...))
	}
}

// say adds a line to the trace: what the running thread did, to which object, and where.
func (x *Run) say(o *object, what ...any) {
	var b strings.Builder
	fmt.Fprintf(&b, "%4d  %-10s  ", x.steps, x.running.name)
	if o != nil {
		b.WriteString(x.nameOf(o))
		b.WriteByte('.')
	}
	for _, w := range what {
		b.WriteString(x.show(w))
	}
	if where, line := caller(); where != "" {
		fmt.Fprintf(&b, "%s%s: %s", strings.Repeat(" ", max(1, 72-b.Len())), where, line)
	}
	x.lines = append(x.lines, b.String())
}

// show formats a value: pointers by name.
func (x *Run) show(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Pointer {
		return fmt.Sprint(v)
	}
	if r.IsNil() {
		return "nil"
	}
	// A struct's address is that of its first field, so ask for the names of the objects inside.
	if s := x.structName(r); s != "" {
		return "&" + s
	}
	return r.Type().String()
}

// structName returns the name of the struct that p points to, "" if nothing is known about it.
func (x *Run) structName(p reflect.Value) string {
	for _, again := range []bool{false, true} {
		if again {
			x.learn()
		}
		if s, ok := x.structs[p.Pointer()]; ok {
			return s
		}
	}
	return ""
}

func (x *Run) nameOf(o *object) string {
	switch o {
	case &x.history:
		return "history"
	case &x.forks:
		return "threads"
	}
	if s, ok := x.names[o]; ok {
		return s
	}
	x.learn()
	if s, ok := x.names[o]; ok {
		return s
	}
	s := fmt.Sprintf("object%d", o.id)
	x.names[o] = s
	return s
}

// learn walks from the roots and names what it meets.
func (x *Run) learn() {
	if x.names == nil {
		x.names = make(map[*object]string)
		x.structs = make(map[uintptr]string)
	}
	for _, r := range x.roots {
		x.walk(r.name, r.v, 8)
	}
	for _, c := range x.contexts {
		x.walk("ctx", reflect.ValueOf(c), 3)
	}
}

var objectType = reflect.TypeFor[object]()

func (x *Run) walk(name string, v reflect.Value, depth int) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return
		}
		if v.Elem().Type().PkgPath() != objectType.PkgPath() {
			if _, ok := x.structs[v.Pointer()]; ok {
				if x.structs[v.Pointer()] != name {
					return
				}
			} else {
				x.structs[v.Pointer()] = name
			}
		}
		x.walk(name, v.Elem(), depth-1)
	case reflect.Struct:
		if !v.CanAddr() {
			return
		}
		if v.Type() == objectType {
			o := (*object)(unsafe.Pointer(v.UnsafeAddr())) // v is a field of a live struct, of this very type
			if _, ok := x.names[o]; !ok {
				x.names[o] = name
			}
			return
		}
		// An atomic pointer is looked through.
		if v.Type().PkgPath() == objectType.PkgPath() {
			p := reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())) // the same variable, free of its field's name
			if a, ok := p.Interface().(interface{ peek() any }); ok {
				if q := reflect.ValueOf(a.peek()); q.Kind() == reflect.Pointer && !q.IsNil() {
					x.walk(shortType(q.Type().Elem(), q.Pointer(), x), q, depth-1)
				}
			}
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.Anonymous || v.Type().PkgPath() == objectType.PkgPath() {
				x.walk(name, v.Field(i), depth)
			} else {
				x.walk(name+"."+f.Name, v.Field(i), depth)
			}
		}
	}
}

// shortType names a struct that was reached through an atomic pointer: it belongs to nobody's field.
func shortType(t reflect.Type, at uintptr, x *Run) string {
	if s, ok := x.structs[at]; ok {
		return s
	}
	return fmt.Sprintf("%s%d", strings.ToLower(t.Name()), len(x.structs)+1)
}

var self = reflect.TypeFor[Run]().PkgPath()

// caller returns where the code under test called the explorer, and the line that stands there.
func caller() (where, line string) {
	var pcs [24]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, self+".") && f.File != "" || strings.HasSuffix(f.File, "_test.go") {
			if strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "iter.") {
				return "", ""
			}
			// A function on one line says less than its caller.
			if line = sourceLine(f.File, f.Line); !strings.HasPrefix(line, "func ") || !more {
				return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line), line
			}
		}
		if !more {
			return "", ""
		}
	}
}

func sourceLine(file string, n int) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	lines := strings.Split(string(text), "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[n-1])
}

// blocked says who waits for what.
//
//go:norace
func (x *Run) blocked() string {
	var parts []string
	for _, t := range x.threads {
		if !t.live {
			continue
		}
		what := "for a change of what it looks at"
		switch t.op.kind {
		case opLock:
			what = "to lock " + x.label(t.op.o)
		case opReceive, opReceiveOr:
			what = "to receive from " + x.label(t.op.o)
		case opJoin:
			what = "for the end of " + t.op.target.name
		default:
		}
		parts = append(parts, t.name+" waits "+what)
	}
	return strings.Join(parts, "; ")
}

func (x *Run) label(o *object) string {
	if x.tracing {
		return x.nameOf(o)
	}
	return fmt.Sprintf("object%d", o.id)
}
