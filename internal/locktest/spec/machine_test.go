package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sets and sees are calls of a register.
func sets(v int, call, ret int64) Call[int] {
	return Call[int]{
		Name:   "set" + string(rune('0'+v)),
		Call:   call,
		Return: ret,
		Step:   func(s *int) bool { *s = v; return true },
	}
}

func sees(v int, call, ret int64) Call[int] {
	return Call[int]{
		Name:   "see" + string(rune('0'+v)),
		Call:   call,
		Return: ret,
		Step:   func(s *int) bool { return *s == v },
	}
}

// Histories of a register, each with some that differ in little, and are not.
func TestMachineHistories(t *testing.T) {
	m := NewMachine[int]() // one for all: what it remembers of one must not be taken for another
	for name, c := range map[string]struct {
		ok      bool
		calls   []Call[int]
		perhaps [][]Call[int]
	}{
		"nothing":                   {true, nil, nil},
		"begins with zero":          {true, []Call[int]{sees(0, 1, 2)}, nil},
		"begins with something":     {false, []Call[int]{sees(1, 1, 2)}, nil},
		"set and seen":              {true, []Call[int]{sets(1, 1, 2), sees(1, 3, 4)}, nil},
		"set and not seen":          {false, []Call[int]{sets(1, 1, 2), sees(0, 3, 4)}, nil},
		"seen before it is set":     {false, []Call[int]{sees(1, 1, 2), sets(1, 3, 4)}, nil},
		"seen meanwhile":            {true, []Call[int]{sets(1, 1, 6), sees(0, 2, 3), sees(1, 4, 5)}, nil},
		"seen meanwhile, back":      {false, []Call[int]{sets(1, 1, 6), sees(1, 2, 3), sees(0, 4, 5)}, nil},
		"perhaps":                   {true, []Call[int]{sees(1, 3, 4)}, [][]Call[int]{{sets(1, 1, 2)}}},
		"perhaps not":               {true, []Call[int]{sees(0, 3, 4)}, [][]Call[int]{{sets(1, 1, 2)}}},
		"perhaps later":             {false, []Call[int]{sees(1, 1, 2)}, [][]Call[int]{{sets(1, 3, 4)}}},
		"perhaps both of a list":    {true, []Call[int]{sees(2, 5, 6)}, [][]Call[int]{{sets(1, 1, 2), sets(2, 3, 4)}}},
		"perhaps one of a list":     {false, []Call[int]{sees(1, 5, 6)}, [][]Call[int]{{sets(1, 1, 2), sets(2, 3, 4)}}},
		"perhaps one of the lists":  {true, []Call[int]{sees(1, 5, 6)}, [][]Call[int]{{sets(1, 1, 2)}, {sets(2, 3, 4)}}},
		"perhaps none of the lists": {true, []Call[int]{sees(0, 5, 6)}, [][]Call[int]{{sets(1, 1, 2)}, {sets(2, 3, 4)}}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				assert.Equal(t, c.ok, m.Linearizable(c.calls, c.perhaps...))
			}
		})
	}
}

// Histories that differ in the length of waits only are one.
func TestMachineRemembers(t *testing.T) {
	m := NewMachine[int]()
	require.True(t, m.Linearizable([]Call[int]{sets(1, 1, 2), sees(1, 3, 4)}))
	require.True(t, m.Linearizable([]Call[int]{sets(1, 10, 20), sees(1, 30, 40)}))
	require.Equal(t, 1, m.Judged())
	require.True(t, m.Linearizable([]Call[int]{sets(1, 1, 3), sees(1, 2, 4)}))
	require.Equal(t, 2, m.Judged())
	require.False(t, m.Linearizable([]Call[int]{sees(1, 1, 2), sets(1, 3, 4)}))
	require.Equal(t, "0: see1 [1, 2]\n0: set1 [3, 4]", DescribeCalls([]Call[int]{sees(1, 1, 2), sets(1, 3, 4)}))
}
