// Package require has the assertions of the tests of the locks. Names, arguments and meanings are
// those of github.com/stretchr/testify/require.
//
// go mod tidy writes into each user's go.sum what the tests of the imported packages import. So
// the tests of what a program with locks compiles use this package, which imports the standard
// library alone, and so does what they import. All other tests use testify.
//
// A function reports whether its assertion holds. If not, the test fails and stops: a caller sees
// false only with [GoOn]. The last arguments describe the value: a format and its arguments, or one
// value of any type.
//
// Only an assertion that fails calls Helper: that walks the stack, and stress tests make millions.
package require

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// T is the part of testing.TB that assertions use.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	FailNow()
}

// GoOn returns t for assertions after which the test goes on, as those of testify's assert. Only
// these may be called in goroutines other than the test's.
func GoOn(t T) T { return goesOn{t} }

type goesOn struct{ T }

func (goesOn) FailNow() {}

// Fail is an assertion that does not hold.
func Fail(t T, failure string, about ...any) bool {
	t.Helper()
	switch {
	case len(about) == 1:
		failure += fmt.Sprintf("\n%+v", about[0])
	case len(about) > 1:
		failure += "\n" + fmt.Sprintf(about[0].(string), about[1:]...)
	}
	t.Errorf("%s", failure)
	t.FailNow()
	return false
}

func unequal(t T, want, got any, about []any) bool {
	t.Helper()
	return Fail(t, fmt.Sprintf("want: %+v (%[1]T)\ngot:  %+v (%[2]T)", want, got), about...)
}

// True asserts that a condition holds.
func True(t T, got bool, about ...any) bool {
	if got {
		return true
	}
	t.Helper()
	return Fail(t, "want: true\ngot:  false", about...)
}

// False asserts that a condition does not hold.
func False(t T, got bool, about ...any) bool {
	if !got {
		return true
	}
	t.Helper()
	return Fail(t, "want: false\ngot:  true", about...)
}

// Equal asserts that both have the same type and are deeply equal.
func Equal(t T, want, got any, about ...any) bool {
	if reflect.DeepEqual(want, got) {
		return true
	}
	t.Helper()
	return unequal(t, want, got, about)
}

// EqualValues asserts that both are equal, or each is what the other becomes in its own type.
func EqualValues(t T, want, got any, about ...any) bool {
	if reflect.DeepEqual(want, got) || becomes(want, got) && becomes(got, want) {
		return true
	}
	t.Helper()
	return unequal(t, want, got, about)
}

// becomes reports whether a is b in b's type.
func becomes(a, b any) bool {
	v, w := reflect.ValueOf(a), reflect.ValueOf(b)
	return v.IsValid() && w.IsValid() && v.CanConvert(w.Type()) && reflect.DeepEqual(v.Convert(w.Type()).Interface(), b)
}

// Same asserts that both are one pointer.
func Same(t T, want, got any, about ...any) bool {
	if reflect.ValueOf(want).Kind() == reflect.Pointer && want == got {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: %p (%[1]T)\ngot:  %p (%[2]T)", want, got), about...)
}

// Zero asserts that a value is the zero value of its type, or no value.
func Zero(t T, got any, about ...any) bool {
	if isZero(got) {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: zero\ngot:  %+v (%[1]T)", got), about...)
}

// NotZero asserts that a value is not the zero value of its type.
func NotZero(t T, got any, about ...any) bool {
	if !isZero(got) {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: not zero\ngot:  %+v (%[1]T)", got), about...)
}

func isZero(x any) bool {
	return x == nil || reflect.DeepEqual(x, reflect.Zero(reflect.TypeOf(x)).Interface())
}

// Nil asserts that a value is nil, of whatever type.
func Nil(t T, got any, about ...any) bool {
	switch v := reflect.ValueOf(got); v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Chan, reflect.Func, reflect.Map, reflect.Pointer, reflect.Slice, reflect.UnsafePointer:
		if v.IsNil() {
			return true
		}
	default:
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: nil\ngot:  %+v (%[1]T)", got), about...)
}

// Empty asserts that a value is the zero value of its type, or has no elements.
func Empty(t T, got any, about ...any) bool {
	switch v := reflect.ValueOf(got); v.Kind() {
	case reflect.Chan, reflect.Map, reflect.Slice:
		if v.Len() == 0 {
			return true
		}
	default:
		if isZero(got) {
			return true
		}
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: nothing\ngot:  %+v (%[1]T)", got), about...)
}

// Len asserts that a value has want elements.
func Len(t T, got any, want int, about ...any) bool {
	switch v := reflect.ValueOf(got); v.Kind() {
	case reflect.Array, reflect.Chan, reflect.Map, reflect.Slice, reflect.String:
		if v.Len() == want {
			return true
		}
	default:
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: %d elements\ngot:  %+v (%[2]T)", want, got), about...)
}

// Contains asserts that a string has a part, a map a key, or a slice an element.
func Contains(t T, got, want any, about ...any) bool {
	if has(reflect.ValueOf(got), want) {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: something with %+v (%[1]T)\ngot:  %v", want, got), about...)
}

func has(all reflect.Value, want any) bool {
	switch all.Kind() {
	case reflect.String:
		part, ok := want.(string)
		return ok && strings.Contains(all.String(), part)
	case reflect.Map:
		for _, key := range all.MapKeys() {
			if reflect.DeepEqual(key.Interface(), want) {
				return true
			}
		}
	case reflect.Array, reflect.Slice:
		for i := range all.Len() {
			if reflect.DeepEqual(all.Index(i).Interface(), want) {
				return true
			}
		}
	default:
	}
	return false
}

// Less asserts that a < b.
func Less[V cmp.Ordered](t T, a, b V, about ...any) bool {
	if a < b {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: less than %v\ngot:  %v", b, a), about...)
}

// LessOrEqual asserts that a <= b.
func LessOrEqual[V cmp.Ordered](t T, a, b V, about ...any) bool {
	if a <= b {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: at most %v\ngot:  %v", b, a), about...)
}

// Greater asserts that a > b.
func Greater[V cmp.Ordered](t T, a, b V, about ...any) bool {
	if a > b {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: more than %v\ngot:  %v", b, a), about...)
}

// GreaterOrEqual asserts that a >= b.
func GreaterOrEqual[V cmp.Ordered](t T, a, b V, about ...any) bool {
	if a >= b {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: at least %v\ngot:  %v", b, a), about...)
}

// InDelta asserts that two numbers differ by at most delta.
func InDelta(t T, want, got any, delta float64, about ...any) bool {
	if math.Abs(float(want)-float(got)) <= delta {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: %v ± %v\ngot:  %v", want, delta, got), about...)
}

// InEpsilon asserts that two numbers differ by at most epsilon times the first, which is not 0.
func InEpsilon(t T, want, got any, epsilon float64, about ...any) bool {
	if math.Abs(float(want)-float(got))/math.Abs(float(want)) <= epsilon {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: %v, or a share of %v more or less\ngot:  %v", want, epsilon, got), about...)
}

// float returns a number, or NaN, which is near nothing.
func float(x any) float64 {
	v, to := reflect.ValueOf(x), reflect.TypeFor[float64]()
	if !v.IsValid() || !v.CanConvert(to) {
		return math.NaN()
	}
	return v.Convert(to).Float()
}

// NoError asserts that err is nil.
func NoError(t T, err error, about ...any) bool {
	if err == nil {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: no error\ngot:  %+v", err), about...)
}

// ErrorIs asserts that err is want or wraps it.
func ErrorIs(t T, err, want error, about ...any) bool {
	if errors.Is(err, want) {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: the error %v\ngot:  %v", want, err), about...)
}

// Panics asserts that a call panics.
func Panics(t T, call func(), about ...any) bool {
	if PanicOf(call) != nil {
		return true
	}
	t.Helper()
	return Fail(t, "want: a panic\ngot:  none", about...)
}

// PanicsWithValue asserts that a call panics with a value.
func PanicsWithValue(t T, want any, call func(), about ...any) bool {
	got := PanicOf(call)
	if got != nil && got == want {
		return true
	}
	t.Helper()
	return Fail(t, fmt.Sprintf("want: a panic with %+v\ngot:  %+v", want, got), about...)
}

// PanicOf returns the value with which a call panics, nil if it does not. testify has no such
// function.
func PanicOf(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}
