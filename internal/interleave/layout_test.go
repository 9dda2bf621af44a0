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
	first, second := at(&o.a.object), at(&o.in.c.object)
	require.Same(t, first, at(&o.b.object))
	require.Same(t, second, at(&o.more[0].object))
	require.Same(t, second, at(&o.more[1].object))
	require.Same(t, at(&o.list[0].object), at(&o.list[7].object))
	lines := map[*line]bool{}
	for _, l := range s.laid {
		lines[l] = true
	}
	require.Len(t, lines, 6)
	require.Len(t, s.laid, 16)
	require.NotSame(t, first, second)
	require.NotSame(t, at(&o.list[7].object), at(&o.list[8].object))
	require.NotSame(t, at(&o.mu.object), second)
}
