package exchange

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Observe adds to an overlay what has package observetest run the tests of each package of a
// module: a TestMain, or what changes those that are there. It writes into a folder. It returns the
// files whose TestMain it cannot change.
func (o Overlay) Observe(module, folder, observetest string) (left []string, err error) {
	err = filepath.WalkDir(module, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if err := skipped(module, path, d); err != nil {
			return err
		}
		tests, err := filepath.Glob(filepath.Join(path, "*_test.go"))
		if err != nil || len(tests) == 0 {
			return err
		}
		pkg, added := "", true
		for _, test := range tests {
			source, err := os.ReadFile(o.at(test))
			if err != nil {
				return err
			}
			text, of, has, err := observed(test, source, observetest)
			if err != nil {
				return err
			}
			pkg = of
			if !has {
				continue
			}
			added = false
			if text == nil {
				left = append(left, test)
			} else if err := o.add(module, folder, test, text); err != nil {
				return err
			}
		}
		if !added {
			return nil
		}
		return o.add(module, folder, filepath.Join(path, "farad_observetest_test.go"), fmt.Appendf(nil,
			"package %s\n\nimport (\n\t\"testing\"\n\n\t%q\n)\n\nfunc TestMain(m *testing.M) { observetest.Main(m) }\n",
			pkg, observetest))
	})
	return left, err
}

// at returns where the text of a file is.
func (o Overlay) at(name string) string {
	if to, ok := o[name]; ok {
		return to
	}
	return name
}

// observed returns the package of a test file, and whether it has the TestMain. If that runs the
// tests itself, or by goleak, the text is one that has observetest do so. All stays in its line.
func observed(name string, source []byte, observetest string) (text []byte, pkg string, has bool, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, "", false, err
	}
	for _, d := range f.Decls {
		main, ok := d.(*ast.FuncDecl)
		if !ok || main.Recv != nil || main.Name.Name != "TestMain" || len(main.Type.Params.List) != 1 ||
			len(main.Type.Params.List[0].Names) != 1 {
			continue
		}
		m := main.Type.Params.List[0].Names[0]
		if !runs(main.Body, m.Name) {
			return nil, f.Name.Name, true, nil
		}
		const own = "faradM"
		var out bytes.Buffer
		end := 0
		put := func(at token.Pos, skip int, what string) {
			offset := set.PositionFor(at, false).Offset
			out.Write(source[end:offset])
			out.WriteString(what)
			end = offset + skip
		}
		put(f.Name.End(), 0, fmt.Sprintf("; import faradtest %q", observetest))
		put(m.Pos(), len(m.Name), own)
		put(main.Body.Lbrace, 1, fmt.Sprintf("{ %s := faradtest.Wrap(%s);", m.Name, own))
		out.Write(source[end:])
		return out.Bytes(), f.Name.Name, true, nil
	}
	return nil, f.Name.Name, false, nil
}

// runs reports whether all that a function does with m is to call its Run, or goleak with it.
func runs(body *ast.BlockStmt, m string) bool {
	good, all := 0, 0
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if n.Name == m {
				all++
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == m && n.Sel.Name == "Run" {
				good++
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(f.Sel.Name, "VerifyTestMain") {
				if x, ok := n.Args[0].(*ast.Ident); ok && x.Name == m {
					good++
				}
			}
		}
		return true
	})
	return good > 0 && good == all
}
