package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/farad-go/farad/tools/internal/repo"
)

// A printer makes the lines of one package.
type printer struct {
	pkg   *types.Package
	lines []string
}

// exported returns a line for everything that p exports.
func exported(p *types.Package) []string {
	w := &printer{pkg: p}
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			w.object(o)
		}
	}
	return w.lines
}

func (w *printer) line(format string, args ...any) {
	where := strings.TrimPrefix(strings.TrimPrefix(w.pkg.Path(), repo.Module), "/")
	w.lines = append(w.lines, "pkg "+where+", "+fmt.Sprintf(format, args...)+"\n")
}

// text returns a type as the package writes it, without the names of parameters: they may change.
func (w *printer) text(t types.Type) string {
	return types.TypeString(unnamed(t), types.RelativeTo(w.pkg))
}

func (w *printer) object(o types.Object) {
	switch o := o.(type) {
	case *types.Const:
		w.line("const %s %s = %s", o.Name(), w.text(o.Type()), o.Val().ExactString())
	case *types.Var:
		w.line("var %s %s", o.Name(), w.text(o.Type()))
	case *types.Func:
		w.line("func %s%s", o.Name(), strings.TrimPrefix(w.text(o.Type()), "func"))
	case *types.TypeName:
		w.typeName(o)
	}
}

func (w *printer) typeName(o *types.TypeName) {
	if a, ok := o.Type().(*types.Alias); ok {
		w.line("type %s%s = %s", o.Name(), w.parameters(a.TypeParams()), w.text(a.Rhs()))
		return
	}
	named := o.Type().(*types.Named)
	head := o.Name() + w.parameters(named.TypeParams())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		w.line("type %s struct", head)
		if types.Comparable(u) {
			w.line("type %s comparable", head)
		}
		w.fields(head, u)
	default:
		w.line("type %s %s", head, w.text(u))
	}
	if !types.IsInterface(named) {
		w.methods(named)
	}
}

// parameters returns type parameters in brackets.
func (w *printer) parameters(list *types.TypeParamList) string {
	var all []string
	for p := range list.TypeParams() {
		all = append(all, p.Obj().Name()+" "+w.text(p.Constraint()))
	}
	if len(all) == 0 {
		return ""
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// fields adds the exported fields, and those that an unexported embedded struct has.
func (w *printer) fields(head string, s *types.Struct) {
	for f := range s.Fields() {
		inner, isStruct := f.Type().Underlying().(*types.Struct)
		switch {
		case f.Exported() && f.Embedded():
			w.line("type %s struct, embedded %s", head, w.text(f.Type()))
		case f.Exported():
			w.line("type %s struct, %s %s", head, f.Name(), w.text(f.Type()))
		case f.Embedded() && isStruct:
			w.fields(head, inner)
		}
	}
}

// methods adds the exported methods, with those of embedded types.
func (w *printer) methods(t *types.Named) {
	values := types.NewMethodSet(t)
	for m := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if !m.Obj().Exported() {
			continue
		}
		star := "*"
		if values.Lookup(m.Obj().Pkg(), m.Obj().Name()) != nil {
			star = ""
		}
		w.line("method (%s%s) %s%s", star, t.Obj().Name(), m.Obj().Name(), strings.TrimPrefix(w.text(m.Type()), "func"))
	}
}

// unnamed returns t without the names of parameters and results, where it is a function or an
// interface.
func unnamed(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Interface:
		var methods []*types.Func
		for m := range t.ExplicitMethods() {
			methods = append(methods, types.NewFunc(m.Pos(), m.Pkg(), m.Name(), withoutNames(m.Signature())))
		}
		return types.NewInterfaceType(methods, slices.Collect(t.EmbeddedTypes())).Complete()
	case *types.Signature:
		return withoutNames(t)
	}
	return t
}

func withoutNames(f *types.Signature) *types.Signature {
	strip := func(list *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range list.Variables() {
			vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), "", unnamed(v.Type())))
		}
		return types.NewTuple(vars...)
	}
	var params []*types.TypeParam
	for p := range f.TypeParams().TypeParams() {
		params = append(params, types.NewTypeParam(p.Obj(), p.Constraint()))
	}
	return types.NewSignatureType(nil, nil, params, strip(f.Params()), strip(f.Results()), f.Variadic())
}
