package interleave

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestLayout(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("offsets are those of 64 bits")
	}
	type inner struct {
		_ [56]byte
		c Pointer[int]
	}
	type outer struct {
		_    bool
		a    Uint32
		b    Int64
		in   inner    // from byte 16: c is at 72
		more [2]Int64 // at 80 and 88
		to   *inner
		list []Mutex // 8 a line
		mu   Mutex   // at 128
		next *outer
	}
	o := &outer{to: new(inner), list: make([]Mutex, 9)}
	o.next = o
	s := &simulation{laid: map[*object]*line{}}
	(&Run{sim: s}).Layout(o)
	at := func(x *object) *line {
		require.NotNil(t, s.laid[x])
		return s.laid[x]
	}
	first, second := at(&o.a.Object), at(&o.in.c.Object)
	require.Same(t, first, at(&o.b.Object))
	require.Same(t, second, at(&o.more[0].Object))
	require.Same(t, second, at(&o.more[1].Object))
	require.Same(t, at(&o.list[0].Object), at(&o.list[7].Object))
	lines := map[*line]bool{}
	for _, l := range s.laid {
		lines[l] = true
	}
	require.Len(t, lines, 6)
	require.Len(t, s.laid, 16)
	require.NotSame(t, first, second)
	require.NotSame(t, at(&o.list[7].Object), at(&o.list[8].Object))
	require.NotSame(t, at(&o.mu.Object), second)
}
