package interleave

import (
	"reflect"
	"unsafe"
)

// lineSize is how many bytes a line has.
const lineSize = 64

// Layout has the modelled words of p, a pointer or what has some, share lines as they do without
// the model: of the words of one allocation those whose addresses would be in the same 64 bytes, if
// it begins with a line. What leads on from there by pointers and slices is laid out, too. All
// other words have a line each, but for those that come from a [Pool].
//
//go:norace
func (x *Run) Layout(p any) {
	if x.sim != nil {
		x.sim.layout(reflect.ValueOf(p))
	}
}

func (s *simulation) layout(v reflect.Value) {
	l := &layout{s: s, met: map[place]bool{}, todo: []reflect.Value{v}}
	for len(l.todo) > 0 {
		v := l.todo[len(l.todo)-1]
		l.todo = l.todo[:len(l.todo)-1]
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			l.lines = map[int64]*line{}
			l.put(v.Elem(), 0)
		case reflect.Slice:
			l.lines = map[int64]*line{}
			for i := range v.Len() {
				l.put(v.Index(i), int64(i)*sizeOf(v.Type().Elem()).size)
			}
		default:
			l.put(v, 0)
		}
	}
}

type layout struct {
	s     *simulation
	met   map[place]bool
	todo  []reflect.Value
	lines map[int64]*line // of this allocation
}

// put puts v at an offset in the allocation.
func (l *layout) put(v reflect.Value, at int64) {
	switch v.Kind() {
	case reflect.Pointer:
		if to := (place{v.Pointer(), v.Type()}); !v.IsNil() && !l.met[to] {
			l.met[to] = true
			l.todo = append(l.todo, v)
		}
	case reflect.Interface:
		l.put(v.Elem(), 0)
	case reflect.Slice:
		l.todo = append(l.todo, v)
	case reflect.Array:
		for i := range v.Len() {
			l.put(v.Index(i), at+int64(i)*sizeOf(v.Type().Elem()).size)
		}
	case reflect.Struct:
		if o := headOf(v); o != nil {
			n := at / lineSize
			if l.lines[n] == nil {
				l.lines[n] = new(line)
			}
			l.s.laid[o] = l.lines[n]
			return
		}
		for i := range v.NumField() {
			e := sizeOf(v.Type().Field(i).Type)
			at = e.after(at)
			l.put(v.Field(i), at)
			at += e.size
		}
	default:
	}
}

// headOf returns the head of a modelled object, nil if v is none.
func headOf(v reflect.Value) *object {
	if _, ok := modelled[v.Type()]; !ok && !isPointer(v.Type()) || !v.CanAddr() {
		return nil
	}
	return (*object)(unsafe.Pointer(v.UnsafeAddr())) // which is the first field of all of them
}

// An extent is the size of a type without the model, and what its addresses are multiples of.
type extent struct{ size, align int64 }

func (e extent) after(at int64) int64 { return (at + e.align - 1) / e.align * e.align }

// modelled has what the modelled types are without the model. ([Pointer] has many types.)
var modelled = map[reflect.Type]extent{
	reflect.TypeFor[Bool]():    {4, 4},
	reflect.TypeFor[Int32]():   {4, 4},
	reflect.TypeFor[Int64]():   {8, 8},
	reflect.TypeFor[Uint32]():  {4, 4},
	reflect.TypeFor[Uint64]():  {8, 8},
	reflect.TypeFor[Uintptr](): {8, 8},
	reflect.TypeFor[Mutex]():   {8, 4},
	reflect.TypeFor[Signal]():  {96, 8},
	reflect.TypeFor[Pool]():    {64, 8},
}

func isPointer(t reflect.Type) bool {
	return t.PkgPath() == objectType.PkgPath() && len(t.Name()) > 8 && t.Name()[:8] == "Pointer["
}

func sizeOf(t reflect.Type) extent {
	if e, ok := modelled[t]; ok {
		return e
	}
	switch {
	case isPointer(t):
		return extent{8, 8}
	case t.Kind() == reflect.Array:
		e := sizeOf(t.Elem())
		return extent{e.size * int64(t.Len()), e.align}
	case t.Kind() == reflect.Struct:
		sum := extent{0, 1}
		for f := range t.Fields() {
			e := sizeOf(f.Type)
			sum.size, sum.align = e.after(sum.size)+e.size, max(sum.align, e.align)
		}
		sum.size = sum.after(sum.size)
		return sum
	}
	return extent{int64(t.Size()), int64(t.Align())}
}
