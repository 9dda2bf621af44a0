package require_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/farad-go/farad/internal/locktest/require"
)

// A witness is a test that may fail.
type witness struct {
	said    string
	stopped bool
	helpers int
}

func (w *witness) Helper()                           { w.helpers++ }
func (w *witness) Errorf(format string, args ...any) { w.said += fmt.Sprintf(format, args...) }
func (w *witness) FailNow()                          { w.stopped = true }

type assertion = func(t require.T) bool

// Each pair differs in little: the first holds, and the second does not.
var pairs = []struct {
	name         string
	holds, fails assertion
	says         string // what the second says
}{
	{
		"True",
		func(t require.T) bool { return require.True(t, true) },
		func(t require.T) bool { return require.True(t, false) }, "want: true\ngot:  false",
	},
	{
		"False",
		func(t require.T) bool { return require.False(t, false) },
		func(t require.T) bool { return require.False(t, true) }, "want: false\ngot:  true",
	},
	{
		"Equal",
		func(t require.T) bool { return require.Equal(t, []int{1, 2}, []int{1, 2}) },
		func(t require.T) bool { return require.Equal(t, []int{1, 2}, []int{2, 1}) },
		"want: [1 2] ([]int)\ngot:  [2 1] ([]int)",
	},
	{
		"Equal: types",
		func(t require.T) bool { return require.Equal(t, int64(1), int64(1)) },
		func(t require.T) bool { return require.Equal(t, 1, int64(1)) }, "want: 1 (int)\ngot:  1 (int64)",
	},
	{
		"Equal: nil",
		func(t require.T) bool { return require.Equal(t, nil, nil) },
		func(t require.T) bool { return require.Equal(t, nil, (*int)(nil)) }, "want: <nil> (<nil>)\ngot:  <nil> (*int)",
	},
	{
		"EqualValues",
		func(t require.T) bool { return require.EqualValues(t, 1, int64(1)) },
		func(t require.T) bool { return require.EqualValues(t, 1, int64(2)) }, "want: 1 (int)\ngot:  2 (int64)",
	},
	{
		"EqualValues: what does not fit",
		func(t require.T) bool { return require.EqualValues(t, 255, uint8(255)) },
		func(t require.T) bool { return require.EqualValues(t, -1, uint8(255)) }, "want: -1 (int)\ngot:  255 (uint8)",
	},
	{
		"EqualValues: a part",
		func(t require.T) bool { return require.EqualValues(t, 1, 1.0) },
		func(t require.T) bool { return require.EqualValues(t, 1, 1.5) }, "want: 1 (int)\ngot:  1.5 (float64)",
	},
	{
		"EqualValues: text",
		func(t require.T) bool { return require.EqualValues(t, "a", text("a")) },
		func(t require.T) bool { return require.EqualValues(t, 97, "a") }, "want: 97 (int)\ngot:  a (string)",
	},
	{
		"EqualValues: nil",
		func(t require.T) bool { return require.EqualValues(t, nil, nil) },
		func(t require.T) bool { return require.EqualValues(t, nil, 0) }, "want: <nil> (<nil>)\ngot:  0 (int)",
	},
	{
		"Same",
		func(t require.T) bool { return require.Same(t, one, one) },
		func(t require.T) bool { return require.Same(t, one, other) }, fmt.Sprintf("want: %p (*int)\ngot:  %p (*int)", one, other),
	},
	{
		"Same: no pointers",
		func(t require.T) bool { return require.Same(t, (*int)(nil), (*int)(nil)) },
		func(t require.T) bool { return require.Same(t, 1, 1) }, "want: %!p(int=1) (int)\ngot:  %!p(int=1) (int)",
	},
	{
		"Zero",
		func(t require.T) bool { return require.Zero(t, struct{ n int }{}) },
		func(t require.T) bool { return require.Zero(t, struct{ n int }{1}) },
		"want: zero\ngot:  {n:1} (struct { n int })",
	},
	{
		"Zero: nil",
		func(t require.T) bool { return require.Zero(t, nil) && require.Zero(t, []int(nil)) },
		func(t require.T) bool { return require.Zero(t, []int{}) }, "want: zero\ngot:  [] ([]int)",
	},
	{
		"NotZero",
		func(t require.T) bool { return require.NotZero(t, 1) },
		func(t require.T) bool { return require.NotZero(t, 0) }, "want: not zero\ngot:  0 (int)",
	},
	{
		"Nil",
		func(t require.T) bool { return require.Nil(t, nil) && require.Nil(t, (*int)(nil)) },
		func(t require.T) bool { return require.Nil(t, 0) }, "want: nil\ngot:  0 (int)",
	},
	{
		"Nil: of a function",
		func(t require.T) bool { return require.Nil(t, (func())(nil)) && require.Nil(t, (map[int]int)(nil)) },
		func(t require.T) bool { return require.Nil(t, map[int]int{}) }, "want: nil\ngot:  map[] (map[int]int)",
	},
	{
		"Empty",
		func(t require.T) bool { return require.Empty(t, []int{}) && require.Empty(t, map[int]int{}) },
		func(t require.T) bool { return require.Empty(t, []int{0}) }, "want: nothing\ngot:  [0] ([]int)",
	},
	{
		"Empty: others",
		func(t require.T) bool { return require.Empty(t, "") && require.Empty(t, nil) && require.Empty(t, 0) },
		func(t require.T) bool { return require.Empty(t, " ") }, "want: nothing\ngot:    (string)",
	},
	{
		"Len",
		func(t require.T) bool { return require.Len(t, []int{7, 8}, 2) },
		func(t require.T) bool { return require.Len(t, []int{7, 8}, 1) }, "want: 1 elements\ngot:  [7 8] ([]int)",
	},
	{
		"Len: others",
		func(t require.T) bool { return require.Len(t, "ab", 2) && require.Len(t, map[int]int{}, 0) },
		func(t require.T) bool { return require.Len(t, nil, 0) }, "want: 0 elements\ngot:  <nil> (<nil>)",
	},
	{
		"Contains: text",
		func(t require.T) bool { return require.Contains(t, "abc", "bc") },
		func(t require.T) bool { return require.Contains(t, "abc", "ac") }, "want: something with ac (string)\ngot:  abc",
	},
	{
		"Contains: a list",
		func(t require.T) bool { return require.Contains(t, []string{"a", "b"}, "b") },
		func(t require.T) bool { return require.Contains(t, []string{"a", "b"}, "c") },
		"want: something with c (string)\ngot:  [a b]",
	},
	{
		"Contains: a map",
		func(t require.T) bool { return require.Contains(t, map[string]int{"a": 1}, "a") },
		func(t require.T) bool { return require.Contains(t, map[string]int{"a": 1}, 1) },
		"want: something with 1 (int)\ngot:  map[a:1]",
	},
	{
		"Contains: nothing",
		func(t require.T) bool { return require.Contains(t, [1]any{nil}, nil) },
		func(t require.T) bool { return require.Contains(t, nil, nil) }, "want: something with <nil> (<nil>)\ngot:  <nil>",
	},
	{
		"Less",
		func(t require.T) bool { return require.Less(t, 1, 2) },
		func(t require.T) bool { return require.Less(t, 2, 2) }, "want: less than 2\ngot:  2",
	},
	{
		"LessOrEqual",
		func(t require.T) bool { return require.LessOrEqual(t, 2, 2) },
		func(t require.T) bool { return require.LessOrEqual(t, 3, 2) }, "want: at most 2\ngot:  3",
	},
	{
		"Greater",
		func(t require.T) bool { return require.Greater(t, 2.5, 2) },
		func(t require.T) bool { return require.Greater(t, 2.0, 2) }, "want: more than 2\ngot:  2",
	},
	{
		"GreaterOrEqual",
		func(t require.T) bool { return require.GreaterOrEqual(t, time.Second, time.Second) },
		func(t require.T) bool { return require.GreaterOrEqual(t, time.Second, time.Hour) },
		"want: at least 1h0m0s\ngot:  1s",
	},
	{
		"InDelta",
		func(t require.T) bool { return require.InDelta(t, 10, 11.5, 1.5) && require.InDelta(t, 10, 8.5, 1.5) },
		func(t require.T) bool { return require.InDelta(t, 10, 11.75, 1.5) }, "want: 10 ± 1.5\ngot:  11.75",
	},
	{
		"InDelta: no number",
		func(t require.T) bool { return require.InDelta(t, time.Second, time.Second, 0) },
		func(t require.T) bool { return require.InDelta(t, 1, "1", math.Inf(1)) }, "want: 1 ± +Inf\ngot:  1",
	},
	{
		"InDelta: NaN",
		func(t require.T) bool { return require.InDelta(t, 1, 2, math.Inf(1)) },
		func(t require.T) bool { return require.InDelta(t, 1, math.NaN(), math.Inf(1)) }, "want: 1 ± +Inf\ngot:  NaN",
	},
	{
		"InEpsilon",
		func(t require.T) bool { return require.InEpsilon(t, 8, 10, 0.25) && require.InEpsilon(t, -8, -6, 0.25) },
		func(t require.T) bool { return require.InEpsilon(t, 8, 10.5, 0.25) },
		"want: 8, or a share of 0.25 more or less\ngot:  10.5",
	},
	{
		"InEpsilon: of nothing",
		func(t require.T) bool { return require.InEpsilon(t, 1, 1, 0) },
		func(t require.T) bool { return require.InEpsilon(t, 0, 0, 1) },
		"want: 0, or a share of 1 more or less\ngot:  0",
	},
	{
		"NoError",
		func(t require.T) bool { return require.NoError(t, nil) },
		func(t require.T) bool { return require.NoError(t, io.EOF) }, "want: no error\ngot:  EOF",
	},
	{
		"ErrorIs",
		func(t require.T) bool { return require.ErrorIs(t, fmt.Errorf("at the end: %w", io.EOF), io.EOF) },
		func(t require.T) bool { return require.ErrorIs(t, errors.New("EOF"), io.EOF) },
		"want: the error EOF\ngot:  EOF",
	},
	{
		"ErrorIs: none",
		func(t require.T) bool { return require.ErrorIs(t, nil, nil) },
		func(t require.T) bool { return require.ErrorIs(t, nil, io.EOF) }, "want: the error EOF\ngot:  <nil>",
	},
	{
		"Panics",
		func(t require.T) bool { return require.Panics(t, func() { panic(nil) }) },
		func(t require.T) bool { return require.Panics(t, func() {}) }, "want: a panic\ngot:  none",
	},
	{
		"PanicsWithValue",
		func(t require.T) bool { return require.PanicsWithValue(t, "a", func() { panic("a") }) },
		func(t require.T) bool { return require.PanicsWithValue(t, "a", func() { panic("b") }) },
		"want: a panic with a\ngot:  b",
	},
	{
		"PanicsWithValue: none",
		func(t require.T) bool { return require.PanicsWithValue(t, io.EOF, func() { panic(io.EOF) }) },
		func(t require.T) bool { return require.PanicsWithValue(t, nil, func() {}) },
		"want: a panic with <nil>\ngot:  <nil>",
	},
}

type text string

var one, other = new(int), new(int)

func TestEachAssertionFailsWhenItShould(t *testing.T) {
	for _, p := range pairs {
		t.Run(p.name, func(t *testing.T) {
			var w witness
			if !p.holds(&w) || w.said != "" || w.stopped {
				t.Errorf("it fails: %s", w.said)
			}
			if w.helpers > 0 {
				t.Error("an assertion that holds looks for its caller: a stress makes millions")
			}
			if p.fails(&w) || !w.stopped || w.said != p.says || w.helpers < 2 {
				t.Errorf("want: a failure of the caller that says\n%s\ngot (stopped: %t, %d helpers):\n%s",
					p.says, w.stopped, w.helpers, w.said)
			}
			w = witness{}
			if p.fails(require.GoOn(&w)) || w.stopped || w.said != p.says {
				t.Errorf("want: a failure that goes on and says\n%s\ngot (stopped: %t):\n%s", p.says, w.stopped, w.said)
			}
		})
	}
}

// The last arguments are a format with its arguments, a text without any, or a value.
func TestFailuresSayWhatTheyAreAbout(t *testing.T) {
	for want, about := range map[string][]any{
		"failure":         nil,
		"failure\n1 of a": {"%d of %s", 1, "a"},
		"failure\n100%":   {"100%"},
		"failure\n[1 2]":  {[]int{1, 2}},
	} {
		var w witness
		if require.Fail(&w, "failure", about...) || w.said != want || !w.stopped {
			t.Errorf("want: %q\ngot (stopped: %t): %q", want, w.stopped, w.said)
		}
	}
}
