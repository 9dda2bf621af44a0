//go:build !interleave

package sleep

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

// gates returns the build constraints of the two files.
func gates(t *testing.T) (parks, portable constraint.Expr) {
	t.Helper()
	of := func(file string) constraint.Expr {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		line, _, _ := strings.Cut(string(text), "\n")
		e, err := constraint.Parse(line)
		require.NoError(t, err)
		return e
	}
	return of("gopark.go"), of("portable.go")
}

func TestTheGateExcludesWhatIsUnknown(t *testing.T) {
	gate, portable := gates(t)
	require.Equal(t, (&constraint.NotExpr{X: gate}).String(), portable.String(), "one file or the other, in every build")
	for _, c := range []struct {
		tags string
		want bool
	}{
		{"gc linux amd64 go1.26", true},
		{"gc linux 386 go1.26", true},
		{"gc linux arm64 go1.26 go1.27", true},
		{"gc linux amd64", false},                      // an older Go
		{"gc linux amd64 go1.26 go1.27 go1.28", false}, // a newer one
		{"gccgo linux amd64 go1.26", false},
		{"gc tinygo linux amd64 go1.26", false}, // it says gc, too
		{"gc linux android arm64 go1.26", false},
		{"gc darwin arm64 go1.26", false},
		{"gc windows amd64 go1.26", false},
		{"gc js wasm go1.26", false},
		{"gc linux riscv64 go1.26", false},
		{"gc linux amd64 go1.26 race", false},
		{"gc linux amd64 go1.26 msan", false},
		{"gc linux amd64 go1.26 asan", false},
		{"gc linux amd64 go1.26 farad_portable", false},
		{"gc linux amd64 go1.26 interleave", false},
	} {
		has := map[string]bool{}
		for tag := range strings.FieldsSeq(c.tags) {
			has[tag] = true
		}
		require.Equal(t, c.want, gate.Eval(func(tag string) bool { return has[tag] }), c.tags)
	}
}

// The source of this toolchain's runtime is what gopark.go relies on: the three functions with
// their signatures and the promise to keep them, the numbers, and the reasons that the leak profile
// takes for waits on a channel.
func TestTheRuntimeIsTheOneOfTheGate(t *testing.T) {
	folder := filepath.Join(runtime.GOROOT(), "src", "runtime") //nolint:staticcheck // the toolchain that runs this test
	files := map[string]*ast.File{}
	fset := token.NewFileSet()
	for _, name := range []string{"proc.go", "runtime2.go", "traceruntime.go", "mgc.go"} {
		f, err := parser.ParseFile(fset, filepath.Join(folder, name), nil, parser.ParseComments)
		require.NoError(t, err)
		files[name] = f
	}
	for name, signature := range map[string]string{
		"gopark":  "func(unlockf func(*g, unsafe.Pointer) bool, lock unsafe.Pointer, reason waitReason, traceReason traceBlockReason, traceskip int)",
		"goready": "func(gp *g, traceskip int)",
		"goyield": "func()",
	} {
		f := function(t, files["proc.go"], name)
		require.Equal(t, signature, typeText(f.Type))
		require.Contains(t, f.Doc.Text(), "Do not remove or change the type signature.")
		var linkname bool
		for _, c := range f.Doc.List {
			linkname = linkname || c.Text == "//go:linkname "+name
		}
		require.True(t, linkname, name)
	}
	require.Equal(t, "uint8", typeOf(t, files["runtime2.go"], "waitReason"))
	require.Equal(t, "uint8", typeOf(t, files["traceruntime.go"], "traceBlockReason"))
	require.Equal(t, 13, number(t, files["runtime2.go"], "waitReasonSemacquire"))
	require.Equal(t, 5, number(t, files["traceruntime.go"], "traceBlockSync"))

	// The leak profile knows the reason of a goroutine that waits. Ours must not be among those for
	// which it looks for a record of the wait.
	ast.Inspect(function(t, files["mgc.go"], "isMaybeRunnable"), func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			require.True(t, id.Name != "waitReasonSemacquire")
		}
		return true
	})
}

func function(t *testing.T, f *ast.File, name string) *ast.FuncDecl {
	t.Helper()
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == name {
			return fn
		}
	}
	require.Fail(t, "the runtime has no function "+name)
	return nil
}

// typeOf returns the underlying type in the declaration of a type.
func typeOf(t *testing.T, f *ast.File, name string) string {
	t.Helper()
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.Name == name {
				return typeText(ts.Type)
			}
		}
	}
	require.Fail(t, "the runtime has no type "+name)
	return ""
}

// number returns the value of a constant that counts by iota from 0.
func number(t *testing.T, f *ast.File, name string) int {
	t.Helper()
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for i, s := range g.Specs {
			if v := s.(*ast.ValueSpec); v.Names[0].Name == name {
				first := g.Specs[0].(*ast.ValueSpec)
				require.Len(t, first.Values, 1)
				require.Equal(t, "iota", typeText(first.Values[0]))
				return i
			}
		}
	}
	require.Fail(t, "the runtime has no constant "+name)
	return 0
}

// typeText returns a type as gofmt writes it, on one line.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeText(e.X)
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	case *ast.FuncType:
		var params []string
		for _, p := range e.Params.List {
			text := typeText(p.Type)
			if len(p.Names) > 0 {
				text = p.Names[0].Name + " " + text
			}
			params = append(params, text)
		}
		text := "func(" + strings.Join(params, ", ") + ")"
		if e.Results != nil {
			text += " " + typeText(e.Results.List[0].Type)
		}
		return text
	default:
		return fmt.Sprintf("%T", e)
	}
}
