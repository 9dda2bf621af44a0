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

// explain shortens the failing schedule of the execution that has just ended, unless it was given,
// and writes its trace.
func (x *Run) explain(f *Failure, asGiven bool, body func(*Run)) {
	steps := append([]choice(nil), x.trail...)
	f.Found = formatSchedule(steps)
	if RaceEnabled { // to be explained without the race detector
		f.Schedule = f.Found
		return
	}
	if !asGiven {
		steps = x.shorten(steps, f, body)
	}
	f.Schedule = formatSchedule(steps)
	x.tracing = true
	x.lines = nil
	x.execute(&script{steps: steps}, body)
	x.tracing = false
	f.Trace = strings.Join(append(x.lines, x.sleeping...), "\n")
	if x.failure != nil {
		f.Message = x.failure.Message
	} else {
		f.Message += "\n(It does not fail again: the body is not deterministic.)"
	}
}

// shorten looks for a schedule that fails in the same way with fewer switches, or as many and fewer
// steps. It takes away runs of steps, and joins those of one thread, as long as that helps.
func (x *Run) shorten(steps []choice, f *Failure, body func(*Run)) []choice {
	fails := func(candidate []choice) []choice {
		x.execute(&script{steps: candidate}, body)
		if x.failure == nil || x.failure.Kind != f.Kind || x.failure.class != f.class {
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
				candidates := [][]choice{
					join(runs[:from], runs[from+size:]),                                // leave them out
					join(runs[:from], runs[from+size:], runs[from:from+size]),          // do them last
					join(runs[:from], swapped(runs[from:from+size]), runs[from+size:]), // the other way round
				}
				if i := nextOfThread(runs, from); size == 1 && i > 0 {
					candidates = append(candidates,
						join(runs[:from], runs[from+1:i], runs[from:from+1], runs[i:]), // with the thread's next
						join(runs[:from+1], runs[i:i+1], runs[from+1:i], runs[i+1:]),   // do its next with them
					)
				}
				for _, candidate := range candidates {
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

// nextOfThread returns the index of the next run of the thread that makes run i, 0 if there is
// none.
func nextOfThread(runs [][]choice, i int) int {
	for j := i + 1; j < len(runs); j++ {
		if runs[j][0].thread == runs[i][0].thread {
			return j
		}
	}
	return 0
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

// say adds a line to the trace: what the running thread did, to which object, and where. Deferred
// functions that run while it is unwound are no part of the execution.
func (x *Run) say(o *object, what ...any) {
	if x.running.unwinding {
		return
	}
	var b strings.Builder
	if o != nil {
		b.WriteString(x.nameOf(o))
		b.WriteByte('.')
	}
	for _, w := range what {
		b.WriteString(x.show(w))
	}
	x.lines = append(x.lines, traceLine(fmt.Sprint(x.steps), x.running.name, b.String(), caller()))
}

func traceLine(step, thread, what, where string) string {
	return strings.TrimRight(fmt.Sprintf("%4s  %-10s  %-52s  %s", step, thread, what, where), " ")
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
	at := place{r.Pointer(), r.Type().Elem()}
	if _, ok := x.structs[at]; !ok {
		x.learn()
	}
	if s, ok := x.structs[at]; ok {
		return "&" + s
	}
	return r.Type().String()
}

// A place distinguishes a struct from its first field.
type place struct {
	at uintptr
	t  reflect.Type
}

func (x *Run) nameOf(o *object) string {
	switch o {
	case &x.history:
		return "history"
	case &x.forks:
		return "threads"
	}
	if _, ok := x.names[o]; !ok {
		x.learn()
	}
	if s, ok := x.names[o]; ok {
		return s
	}
	return fmt.Sprintf("object%d", o.ID)
}

// learn walks from the roots and names what it meets: first what belongs to them, then what they
// lead to through atomic pointers.
func (x *Run) learn() {
	if x.names == nil {
		x.names = make(map[*object]string)
		x.structs = make(map[place]string)
	}
	for _, through := range []bool{false, true} {
		for _, r := range x.roots {
			x.walk(r.name, r.v, 8, through)
		}
		for _, c := range x.contexts {
			x.walk("ctx", reflect.ValueOf(c), 3, through)
		}
	}
}

var objectType = reflect.TypeFor[object]()

func (x *Run) walk(name string, v reflect.Value, depth int, through bool) {
	if depth == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			x.walk(name, v.Elem(), depth-1, through)
		}
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
		at := place{v.UnsafeAddr(), v.Type()}
		if known, ok := x.structs[at]; !ok {
			x.structs[at] = name
		} else if known != name {
			return // met before, on another way
		}
		ours := v.Type().PkgPath() == types || v.Type().PkgPath() == self
		if ours && through {
			x.lookThrough(v, depth)
		}
		for i := range v.NumField() {
			field := name
			if f := v.Type().Field(i); !f.Anonymous && !ours {
				field += "." + f.Name
			}
			x.walk(field, v.Field(i), depth, through)
		}
	default:
	}
}

// lookThrough walks on behind v if that is an atomic pointer.
func (x *Run) lookThrough(v reflect.Value, depth int) {
	p := reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())) // the same variable, free of its field's name
	a, ok := reflect.TypeAssert[interface{ Peek() any }](p)
	if !ok {
		return
	}
	q := reflect.ValueOf(a.Peek())
	if q.Kind() != reflect.Pointer || q.IsNil() {
		return
	}
	// It belongs to no field.
	t := q.Type().Elem()
	name, known := x.structs[place{q.Pointer(), t}]
	if !known {
		x.met++
		name = fmt.Sprintf("%s%d", strings.ToLower(t.Name()), x.met)
	}
	x.walk(name, q, depth-1, true)
}

// The packages of the explorer, and of the types that it models.
var self, types = reflect.TypeFor[Run]().PkgPath(), objectType.PkgPath()

// caller returns where the code under test called the explorer, and what stands there.
func caller() string {
	var pcs [24]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		inside := (strings.HasPrefix(f.Function, self+".") || strings.HasPrefix(f.Function, types+".")) &&
			!strings.HasSuffix(f.File, "_test.go")
		if f.File == "" || strings.HasPrefix(f.Function, "runtime.") || strings.HasPrefix(f.Function, "iter.") {
			return ""
		}
		if !inside {
			// A function on one line says less than its caller.
			if line := sourceLine(f.File, f.Line); !strings.HasPrefix(line, "func ") || !more {
				return fmt.Sprintf("%s:%d: %s", filepath.Base(f.File), f.Line, line)
			}
		}
		if !more {
			return ""
		}
	}
}

func sourceLine(file string, n int) string {
	text, _ := os.ReadFile(file) // what cannot be read has no lines
	lines := strings.Split(string(text), "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[n-1])
}

// blocked describes which threads wait for what, in a word and, for the trace, line by line.
//
//go:norace
func (x *Run) blocked() (message, class string) {
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
		class += t.name + " "
		if x.tracing {
			x.sleeping = append(x.sleeping, traceLine("...", t.name, "waits "+what, t.where))
		}
	}
	return strings.Join(parts, "; "), class
}

func (x *Run) label(o *object) string {
	if x.tracing {
		return x.nameOf(o)
	}
	return fmt.Sprintf("object%d", o.ID)
}
