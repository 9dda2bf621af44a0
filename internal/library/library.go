// Package library cuts the standard library's tests of its package sync so that they run outside of
// it. They are read where Go is installed: nothing of them is kept.
//
// The package imports the standard library only.
package library

import (
	"fmt"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Folder returns where the sources of package sync are.
func Folder() (string, error) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "sync")
	if _, err := os.Stat(filepath.Join(folder, "mutex_test.go")); err != nil {
		return "", fmt.Errorf("no sources of the standard library: %w", err)
	}
	return folder, nil
}

// Drop takes the declarations out of f that use a foreign name, or a function or method that has
// gone for that reason. It does not look at imports.
func Drop(f *ast.File, foreign func(name string) bool) {
	gone := map[string]bool{}
	for again := true; again; {
		again = false
		f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
			if isImport(d) {
				return false
			}
			uses := false
			ast.Inspect(d, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				uses = uses || ok && (foreign(id.Name) || gone[id.Name])
				return true
			})
			if fn, ok := d.(*ast.FuncDecl); uses && ok && fn.Name.Name != "init" {
				gone[fn.Name.Name] = true
			}
			again = again || uses
			return uses
		})
	}
}

func isImport(d ast.Decl) bool {
	g, ok := d.(*ast.GenDecl)
	return ok && g.Tok == token.IMPORT
}

// Import has f import those of its own packages and of the others that it uses, and no more. A
// package's name is the last element of its path, unless the file gives it another. What it imports
// by a dot stays.
func Import(f *ast.File, others ...string) {
	used := map[string]bool{}
	for _, d := range f.Decls {
		if isImport(d) {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				name, _, _ := strings.Cut(id.Name, ".")
				used[name] = true
			}
			return true
		})
	}
	var specs []ast.Spec
	add := func(name *ast.Ident, quoted string) {
		spec := &ast.ImportSpec{Path: &ast.BasicLit{Kind: token.STRING, Value: quoted}}
		as := path.Base(strings.Trim(quoted, `"`))
		if name != nil {
			as = name.Name
			spec.Name = ast.NewIdent(as)
		}
		if used[as] || as == "." {
			specs = append(specs, spec)
		}
	}
	for _, i := range f.Imports {
		add(i.Name, i.Path.Value)
	}
	for _, p := range others {
		add(nil, strconv.Quote(p))
	}
	f.Decls = slices.DeleteFunc(f.Decls, isImport)
	f.Decls = slices.Insert(f.Decls, 0, ast.Decl(&ast.GenDecl{Tok: token.IMPORT, Lparen: 1, Specs: specs}))
}
