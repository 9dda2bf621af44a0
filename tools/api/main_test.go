package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"github.com/farad-go/farad/tools/internal/repo"
)

// linesOfSource returns the lines of a package that imports nothing.
func linesOfSource(t *testing.T, source string) []string {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "p.go", "package p\n"+source, parser.SkipObjectResolution)
	require.NoError(t, err)
	var config types.Config
	p, err := config.Check(repo.Module+"/p", files, []*ast.File{f}, nil)
	require.NoError(t, err)
	return exported(p)
}

func TestLines(t *testing.T) {
	for source, want := range map[string][]string{
		`const A = 1 << 3`:            {"const A untyped int = 8"},
		`type A uint8; const B A = 2`: {"type A uint8", "const B A = 2"},
		`var A, b = 1, 2`:             {"var A int"},
		`func F(a, b int, c ...string) (err error) { return nil }`: {"func F(int, int, ...string) error"},
		`func F[K comparable](k K) {}`:                             {"func F[K comparable](K)"},
		`type A = []int`:                                           {"type A = []int"},
		`type I interface{ B(x int); a() }`:                        {"type I interface{B(int); a()}"},
		`type A struct{ b int }`:                                   {"type A struct", "type A comparable"},
		`type A struct{ B []int; c int }`:                          {"type A struct", "type A struct, B []int"},
		`type A[T any] struct{ B []T }`:                            {"type A[T any] struct", "type A[T any] struct, B []T"},
		`type b struct{ C []int }; type A struct{ b }`:             {"type A struct", "type A struct, C []int"},
		`type b struct{ c []int }; func (b) C() {}; func (*b) d() {}; type A struct{ b }`: {
			"type A struct", "method (A) C()",
		},
		`type A int; func (a A) B(n int) {}; func (a *A) C() {}`: {"type A int", "method (A) B(int)", "method (*A) C()"},
	} {
		for i := range want {
			want[i] = "pkg p, " + want[i] + "\n"
		}
		require.Equal(t, want, linesOfSource(t, source), source)
	}
}

func TestInsides(t *testing.T) {
	p := &packages.Package{Imports: map[string]*packages.Package{
		repo.Module + "/internal/a":       nil,
		repo.Module + "/fleet/internal/b": nil,
		repo.Module + "/sync":             nil,
		"example.com/internal":            nil,
	}}
	found := map[string]bool{}
	for _, module := range []string{"fleet", "fleet/embedded"} {
		for _, line := range insides(module, p) {
			found[line] = true
		}
	}
	require.Equal(t, map[string]bool{
		"fleet\t" + repo.Module + "/internal/a":                true,
		"fleet/embedded\t" + repo.Module + "/internal/a":       true,
		"fleet/embedded\t" + repo.Module + "/fleet/internal/b": true,
	}, found)

	var out bytes.Buffer
	require.True(t, compareInsides(map[string]bool{"a": true}, map[string]string{"a": "why"}, &out))
	require.Empty(t, out.String())
	require.False(t, compareInsides(map[string]bool{"a": true}, nil, &out))
	require.False(t, compareInsides(nil, map[string]string{"b": "why"}, &out))
	require.Contains(t, out.String(), ": a\n")
	require.Contains(t, out.String(), ": b\n")
}
