package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"go/types"
	"strings"
)

// A generator makes the mutants of one file. It changes bytes at positions that the syntax tree
// gives, and keeps every newline.
type generator struct {
	file  *file
	fn    string
	whole map[ast.Expr]bool // complete conditions, for which negate makes what relational would
	ids   map[string]int    // how often one was given
	out   []*mutant
}

func (g *generator) generate() {
	g.whole = map[ast.Expr]bool{}
	for _, d := range g.file.syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Body != nil {
				g.fn = functionName(d)
				g.noLock(d.Body)
				g.walk(d.Body)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
					g.fn = v.Names[0].Name
					g.walk(v)
				}
			}
		}
	}
}

func functionName(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		default:
			return types.ExprString(t) + "." + d.Name.Name
		}
	}
}

func (g *generator) walk(root ast.Node) {
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			g.list(n.List)
		case *ast.CaseClause:
			g.list(n.Body)
			g.dropCase(n)
		case *ast.CommClause:
			g.list(n.Body)
		case *ast.IfStmt:
			g.condition(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				g.condition(n.Cond)
			}
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					for _, cond := range c.(*ast.CaseClause).List {
						g.condition(cond)
					}
				}
			}
		case *ast.BinaryExpr:
			g.binary(n)
		case *ast.CallExpr:
			g.atomic(n)
		case *ast.AssignStmt:
			g.flip(n, "arith", n.Tok, n.TokPos, n.Lhs[0])
		case *ast.IncDecStmt:
			g.flip(n, "arith", n.Tok, n.TokPos, n.X)
		case *ast.ReturnStmt:
			g.results(n)
		}
		return true
	})
}

// add makes a mutant. The nodes are what its id depends on; it is at the line of the first.
func (g *generator) add(op, note string, edits []edit, nodes ...ast.Node) {
	var text []string
	for _, n := range nodes {
		text = append(text, g.print(n))
	}
	if note == "" {
		note = strings.Join(text, " / ")
	}
	sum := sha256.Sum256([]byte(strings.Join(text, "\n")))
	id := fmt.Sprintf("%s:%s:%s:%x", g.file.name, g.fn, op, sum[:3])
	g.ids[id]++
	if n := g.ids[id]; n > 1 {
		id = fmt.Sprintf("%s#%d", id, n)
	}
	if cut := 80; len(note) > cut {
		note = strings.ToValidUTF8(note[:cut], "") + "…"
	}
	g.out = append(g.out, &mutant{
		id: id, file: g.file, fn: g.fn, op: op, note: note, edits: edits,
		line: g.file.pkg.fset.Position(nodes[0].Pos()).Line,
	})
}

// print returns a node's text in one line and without comments, so that neither layout nor comments
// change an id.
func (g *generator) print(n ast.Node) string {
	var out bytes.Buffer
	if err := printer.Fprint(&out, g.file.pkg.fset, n); err != nil {
		panic(err) // the tree comes from the parser
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

func (g *generator) offset(p token.Pos) int { return g.file.pkg.fset.Position(p).Offset }

func (g *generator) text(from, to token.Pos) string {
	return string(g.file.src[g.offset(from):g.offset(to)])
}

// replace puts two texts in the place of one, and between them the newlines that they lack: before
// ends, or after starts, where a newline ends no statement.
func (g *generator) replace(from, to token.Pos, before, after string) edit {
	missing := strings.Count(g.text(from, to), "\n") - strings.Count(before+after, "\n")
	return edit{g.offset(from), g.offset(to), before + strings.Repeat("\n", missing) + after}
}

func (g *generator) remove(from, to token.Pos) edit { return g.replace(from, to, "", "") }

func (g *generator) wrap(x ast.Node, before, after string) []edit {
	from, to := g.offset(x.Pos()), g.offset(x.End())
	return []edit{{from, from, before}, {to, to, after}}
}
