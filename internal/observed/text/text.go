// Package text has keys, tenants and functions as the records of locks show them.
package text

import (
	"reflect"
	"runtime"
	"strconv"
	"strings"
)

// mostText is how long the text of a key or tenant is at most, but for what stands behind it.
const mostText = 64

// Key returns a key of a table of locks as the records have it. Two keys have different texts:
// behind one that does not say all of its key stands the hash. So no text is empty: "" is that of a
// key that was not asked for. No method of the key is called: it may want a lock.
func Key[K comparable](k K, hash uint64) string {
	switch k := any(&k).(type) { // of the type K, so that a 1 in an interface is none of these
	case *string:
		if *k != "" && len(*k) <= mostText {
			return *k
		}
	case *int:
		return strconv.Itoa(*k)
	default:
	}
	return keySlow(k, hash)
}

func keySlow[K comparable](k K, hash uint64) string {
	b, all := appendKey(nil, reflect.ValueOf(&k).Elem())
	if len(b) > mostText {
		b, all = b[:mostText], false
	}
	if !all || len(b) == 0 {
		b = strconv.AppendUint(append(b, '#'), hash, 16)
	}
	return string(b)
}

// Tenant returns a tenant as the records have it: for people to read, cut if it is long. Those of
// two may be the same. No method of the tenant is called.
func Tenant(tenant any) string {
	switch t := tenant.(type) {
	case nil:
		return ""
	case string:
		if len(t) <= mostText {
			return t
		}
	case int:
		return strconv.Itoa(t)
	default:
	}
	b, _ := appendKey(nil, reflect.ValueOf(tenant))
	if len(b) > mostText {
		b = append(b[:mostText], "…"...)
	}
	return string(b)
}

// appendKey appends what can be said of v, and reports whether that is all.
func appendKey(b []byte, v reflect.Value) (text []byte, all bool) {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(b, v.Bool()), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.AppendUint(b, v.Uint(), 10), true
	case reflect.Float32, reflect.Float64:
		return strconv.AppendFloat(b, v.Float()+0, 'g', -1, 64), true // -0 is the key 0
	case reflect.Complex64, reflect.Complex128:
		return append(b, strconv.FormatComplex(v.Complex()+0, 'g', -1, 128)...), true
	case reflect.String:
		s := v.String()
		return append(b, s[:min(len(s), mostText+1)]...), true
	case reflect.Struct:
		b = append(b, '{')
		for i := range int(v.NumField()) {
			if i > 0 {
				b = append(b, ' ')
			}
			if b, _ = appendKey(b, v.Field(i)); len(b) > mostText {
				break
			}
		}
		return append(b, '}'), false
	case reflect.Array:
		b = append(b, '[')
		for i := range int(v.Len()) {
			if i > 0 {
				b = append(b, ' ')
			}
			if b, _ = appendKey(b, v.Index(i)); len(b) > mostText {
				break
			}
		}
		return append(b, ']'), false
	case reflect.Interface:
		if !v.IsNil() {
			b, _ = appendKey(b, v.Elem())
		}
		return b, false
	case reflect.Pointer, reflect.Chan, reflect.UnsafePointer:
		return strconv.AppendUint(append(b, "0x"...), uint64(v.Pointer()), 16), true
	default:
		return b, false
	}
}

// Function returns the name of a frame's function with its package, but without the path of that.
func Function(f runtime.Frame) string {
	name, _, _ := strings.Cut(f.Function, "[") // the types may have paths, too
	return f.Function[strings.LastIndexByte(name, '/')+1:]
}
