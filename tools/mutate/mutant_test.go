package main

import (
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const world = `package p

type word struct{ v int64 }

func (w *word) Load() int64                    { return w.v }
func (w *word) Store(v int64)                  { w.v = v }
func (w *word) CompareAndSwap(a, b int64) bool { return false }
func (w *word) Swap(v int64) int64             { return 0 }
func (w *word) Add(d int64) int64              { return 0 }
func (w *word) Or(f int64) int64               { return 0 }

type mutex struct{}

func (*mutex) Lock()   {}
func (*mutex) Unlock() {}

type sum struct{}

func (sum) Add(int) {}

func call(...any) bool { return false }

type T struct {
	mu   mutex
	w    word
	p    *word
	n, m int
	s    string
}
`

// snippet returns the mutants of a file p/a.go with these declarations.
func snippet(t *testing.T, decls string) []*mutant {
	t.Helper()
	f := &file{name: "p/a.go", path: "a.go", src: []byte("package p\n\n" + decls + "\n")}
	p := &pkg{path: "p", fset: token.NewFileSet(), files: []*file{f, {path: "world.go", src: []byte(world)}}}
	require.NoError(t, p.check())
	return mutantsOf(f)
}

// changes returns, for the operators that match, each mutant in one line.
func changes(mutants []*mutant, op string) []string {
	match := regexp.MustCompile("^(" + op + ")$")
	var out []string
	for _, m := range mutants {
		if !match.MatchString(m.op) {
			continue
		}
		before, after := m.diff()
		line := m.op + ": " + joined(before) + " => " + joined(after)
		if m.broken {
			line += " (broken)"
		}
		out = append(out, line)
	}
	return out
}

func joined(lines []string) string {
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, " ¦ ")
}

func TestOperators(t *testing.T) {
	tests := []struct {
		name, op, body string
		want           []string
	}{
		{"statements that can go", "drop", `
			n := 1
			call(n)
			t.n = 2
			t.n += 3
			_ = n
			defer call()
			for {
				if t.n > 0 {
					break
				}
				t.n++
			}
			if t.m > 0 {
				return
			}`, []string{
			"drop: call(n) => ",
			"drop: t.n = 2 => ",
			"drop: t.n += 3 => ",
			"drop: defer call() => ",
			"drop: break => ",
			"drop: t.n++ => ",
			"drop: return => ",
		}},
		{"a dropped statement leaves no variable unused", "drop", `
			n := 1
			call(n, t.n)`, []string{"drop: call(n, t.n) => _, _ = n, t"}},
		{"several lines", "drop", `
			call(
				1,
			)`, []string{"drop: call( ¦ 1, ¦ ) => "}},
		{"neighbours of which one calls", "swap", `
			t.n = 1
			call()
			t.m = 2`, []string{
			"swap: t.n = 1 ¦ call() => call() ¦ t.n = 1",
			"swap: call() ¦ t.m = 2 => t.m = 2 ¦ call()",
		}},
		{"assignments that need each other", "swap", `
			t.n = 1
			t.m = t.n
			t.s = ""`, []string{"swap: t.n = 1 ¦ t.m = t.n => t.m = t.n ¦ t.n = 1"}},
		{"a declaration stays before its use", "swap", `
			b := call()
			call(b)`, nil},
		{"a comment stays where it is", "swap", `
			t.n = 1 // why
			call()`, []string{"swap: t.n = 1 // why ¦ call() => call() // why ¦ t.n = 1"}},
		{"unlock before what it guards", "swap", `
			t.mu.Lock()
			if t.n > 0 { t.n = 1 }
			t.mu.Unlock()`, []string{
			"swap: t.mu.Lock() ¦ if t.n > 0 { t.n = 1 } => if t.n > 0 { t.n = 1 } ¦ t.mu.Lock()",
			"swap: if t.n > 0 { t.n = 1 } ¦ t.mu.Unlock() => t.mu.Unlock() ¦ if t.n > 0 { t.n = 1 }",
		}},
		{"no unlock across a return", "swap", `
			t.mu.Lock()
			if t.n > 0 { t.mu.Unlock(); return }
			t.mu.Unlock()`, nil},
		{"a deferred unlock moves with its lock", "swap", `
			t.mu.Lock()
			defer t.mu.Unlock()
			if t.n > 0 { return }`, []string{
			"swap: t.mu.Lock() ¦ defer t.mu.Unlock() ¦ if t.n > 0 { return } => " +
				"if t.n > 0 { return } ¦ t.mu.Lock() ¦ defer t.mu.Unlock()",
		}},
		{"unlock after the returned call", "swap.late", `
			call(func() bool {
				t.mu.Unlock()
				return call()
			})`, []string{"swap.late: t.mu.Unlock() => defer t.mu.Unlock()"}},
		{"without locks", "nolock", `
			t.mu.Lock()
			if t.n > 0 { t.mu.Unlock(); return }
			t.mu.Unlock()`, []string{
			"nolock: t.mu.Lock() ¦ if t.n > 0 { t.mu.Unlock(); return } ¦ t.mu.Unlock() => if t.n > 0 { ; return }",
		}},
		{"an unlock alone has no lock to go with", "nolock", "t.mu.Unlock()", nil},
		{"atomics", "torn|blind", `
			t.w.CompareAndSwap(1, 2)
			t.p.Swap(1)
			t.w.Add(1)
			t.w.Or(1)
			sum{}.Add(1)`, []string{
			"torn: t.w.CompareAndSwap(1, 2) => mutateTornCompareAndSwap(&t.w, 1, 2)",
			"blind: t.w.CompareAndSwap(1, 2) => mutateBlindCompareAndSwap(&t.w, 1, 2)",
			"torn: t.p.Swap(1) => mutateTornSwap(t.p, 1)",
			"torn: t.w.Add(1) => mutateTornAdd(&t.w, 1)",
			"torn: t.w.Or(1) => mutateTornOr(&t.w, 1)",
		}},
		{"conditions", "skip.*|negate", `
			if call() { t.n = 1 }
			switch { case t.n > 0: }`, []string{
			"skip.true: if call() { t.n = 1 } => if (call()) || true { t.n = 1 }",
			"skip.false: if call() { t.n = 1 } => if (call()) && false { t.n = 1 }",
			"negate: if call() { t.n = 1 } => if !(call()) { t.n = 1 }",
			"skip.true: switch { case t.n > 0: } => switch { case (t.n > 0) || true: }",
			"skip.false: switch { case t.n > 0: } => switch { case (t.n > 0) && false: }",
			"negate: switch { case t.n > 0: } => switch { case !(t.n > 0): }",
		}},
		{"operands", "skip.(left|right)", `
			b := t.n > 0 &&
				t.m > 0
			_ = b`, []string{
			"skip.left: b := t.n > 0 && ¦ t.m > 0 => b := ( ¦ t.n > 0)",
			"skip.right: b := t.n > 0 && ¦ t.m > 0 => b := ( ¦ t.m > 0)",
		}},
		{"relations", "relational", `
			if t.n == 1 { t.n = 2 }
			call(t.n < 1, t.n <= 1, t.n == 1)`, []string{
			"relational: call(t.n < 1, t.n <= 1, t.n == 1) => call(t.n <= 1, t.n <= 1, t.n == 1)",
			"relational: call(t.n < 1, t.n <= 1, t.n == 1) => call(t.n < 1, t.n < 1, t.n == 1)",
			"relational: call(t.n < 1, t.n <= 1, t.n == 1) => call(t.n < 1, t.n <= 1, t.n != 1)",
		}},
		{"integers", "arith", `
			t.n += t.n - 1
			t.s += t.s + "x"
			t.m--`, []string{
			"arith: t.n += t.n - 1 => t.n -= t.n - 1",
			"arith: t.n += t.n - 1 => t.n += t.n + 1",
			"arith: t.m-- => t.m++",
		}},
		{"cases", "case", `
			switch t.n {
			case 1:
				t.n = 2
				call()
			case 2:
			}`, []string{"case: t.n = 2 ¦ call() => "}},
		{"results", "return", `
			_ = func() (bool, int) { return true, 1 }`, []string{
			"return: _ = func() (bool, int) { return true, 1 } => _ = func() (bool, int) { return false, 1 }",
		}},
		{"what does not compile is known", "case", `
			_ = func() int {
				switch {
				default:
					return 1
				}
			}`, []string{"case: return 1 =>  (broken)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mutants := snippet(t, "func (t *T) f() {\n"+tt.body+"\n}")
			assert.Equal(t, tt.want, changes(mutants, tt.op))
			for _, m := range mutants {
				assert.Equal(t, strings.Count(string(m.file.src), "\n"), strings.Count(string(m.source()), "\n"), m.id)
				assert.True(t, !m.broken || m.operator() == "case", "%s does not compile:\n%s", m.id, m.source())
			}
		})
	}
}

func TestMutantsOfVariablesAreFound(t *testing.T) {
	mutants := snippet(t, "var v, _ = func() (int, bool) { return 1, true }()")
	require.Len(t, mutants, 1)
	assert.Regexp(t, `^p/a\.go:v:return:[0-9a-f]{6}$`, mutants[0].id)
}

func TestNoTwoMutantsAreTheSame(t *testing.T) {
	mutants := snippet(t, "func (t *T) f() {\n\tswitch t.n {\n\tcase 1:\n\t\tcall()\n\t}\n\tcall()\n\tcall()\n}")
	sources := map[string]bool{}
	for _, m := range mutants {
		assert.False(t, sources[string(m.source())], m.id)
		assert.NotEqual(t, string(m.file.src), string(m.source()), m.id)
		sources[string(m.source())] = true
	}
	assert.NotEmpty(t, changes(mutants, "drop"))
	assert.Empty(t, changes(mutants, "case"), "the case's only statement is dropped already")
	assert.Empty(t, changes(mutants, "swap"), "the statements are equal")
}

func TestIDsSurviveEditsElsewhere(t *testing.T) {
	const f = "func (t *T) f() {\n\tif t.n > 0 && t.m > 0 {\n\t\tcall(1)\n\t\tcall(1)\n\t}\n}"
	const edited = "// f is new here.\nfunc (t *T) f() {\n\tt.s = \"\" // first\n\n\tif t.n > 0 &&\n\t\tt.m > 0 {\n" +
		"\t\tcall(1)\n\n\t\t// twice\n\t\tcall(1)\n\t}\n}"
	ids := func(decls string) map[string]bool {
		out := map[string]bool{}
		for _, m := range snippet(t, decls) {
			assert.False(t, out[m.id], "twice: %s", m.id)
			out[m.id] = true
		}
		return out
	}
	before, after := ids(f), ids("func g() { call() }\n\n"+edited)
	require.NotEmpty(t, before)
	for id := range before {
		assert.Contains(t, after, id)
	}
}
