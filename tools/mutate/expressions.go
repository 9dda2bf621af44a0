package main

import (
	"go/ast"
	"go/token"
	"go/types"
)

func (g *generator) condition(c ast.Expr) {
	g.whole[ast.Unparen(c)] = true
	text := g.print(c)
	g.add("skip.true", text, g.wrap(c, "(", ") || true"), c)
	g.add("skip.false", text, g.wrap(c, "(", ") && false"), c)
	g.add("negate", text, g.wrap(c, "!(", ")"), c)
}

func (g *generator) binary(x *ast.BinaryExpr) {
	switch x.Op {
	case token.LAND, token.LOR:
		g.operand("skip.left", x, x.X)
		g.operand("skip.right", x, x.Y)
	case token.EQL, token.NEQ:
		if !g.whole[x] {
			g.flip(x, "relational", x.Op, x.OpPos, nil)
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		g.flip(x, "relational", x.Op, x.OpPos, nil)
	case token.ADD, token.SUB:
		g.flip(x, "arith", x.Op, x.OpPos, x)
	}
}

// operand leaves one operand of x. It stands in parentheses for the newlines of the other one.
func (g *generator) operand(op string, x *ast.BinaryExpr, kept ast.Expr) {
	e := g.replace(x.Pos(), x.End(), "(", g.text(kept.Pos(), kept.End())+")")
	g.add(op, g.print(x)+" -> "+g.print(kept), []edit{e}, x)
}

var flips = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS,
	token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.ADD: token.SUB, token.SUB: token.ADD,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

// flip replaces an operator of n by its opposite, if it has one and the operand, unless nil, is an
// integer.
func (g *generator) flip(n ast.Node, op string, tok token.Token, at token.Pos, operand ast.Expr) {
	other, ok := flips[tok]
	if !ok || operand != nil && !isInteger(g.file.pkg.info.TypeOf(operand)) {
		return
	}
	end := at + token.Pos(len(tok.String()))
	g.add(op, g.print(n)+" -> "+other.String(), []edit{g.replace(at, end, other.String(), "")}, n)
}

func isInteger(t types.Type) bool {
	if t == nil {
		return false
	}
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsInteger != 0
}

var atomicArgs = map[string]int{"CompareAndSwap": 2, "Swap": 1, "Add": 1, "Or": 1, "And": 1}

// atomic takes read-modify-write operations of variables that also have Load and Store apart.
func (g *generator) atomic(call *ast.CallExpr) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 || len(call.Args) != atomicArgs[sel.Sel.Name] {
		return
	}
	s := g.file.pkg.info.Selections[sel]
	if s == nil || s.Kind() != types.MethodVal {
		return
	}
	for _, name := range []string{"Load", "Store"} {
		m, _, _ := types.LookupFieldOrMethod(s.Recv(), true, s.Obj().Pkg(), name)
		if _, ok := m.(*types.Func); !ok {
			return
		}
	}
	x := g.text(sel.X.Pos(), sel.X.End())
	if _, ok := s.Recv().Underlying().(*types.Pointer); !ok {
		x = "&" + x
	}
	variant := func(op, prefix string) {
		head := g.replace(call.Pos(), call.Args[0].Pos(), prefix+sel.Sel.Name+"("+x+", ", "")
		g.add(op, "", []edit{head}, call)
	}
	variant("torn", "mutateTorn")
	if sel.Sel.Name == "CompareAndSwap" {
		variant("blind", "mutateBlind")
	}
}
