package fence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/farad-go/farad/fleet/fence"
)

// A program gets tokens from its permits; here they are made up. Lease 1 was lost before
// revision 20.
var (
	paused = fence.Token{Rev: 10, Seq: 1, Lease: 1, Survivors: []int64{1, 2}}
	slow   = fence.Token{Rev: 10, Seq: 1, Lease: 2, Survivors: []int64{1, 2}}
	newer  = fence.Token{Rev: 20, Seq: 1, Lease: 3, Survivors: []int64{2, 3}}
)

func ExampleToken() {
	text := paused.String() // or MarshalText: it fails if the token is malformed
	token, err := fence.Parse(text)
	fmt.Println(text, err)
	fmt.Println(token.Order(), token.Order() < newer.Order(), token.Compare(newer))
	// Output:
	// 000000000000000a-0000000000000001-0000000000000001:0000000000000001,0000000000000002 <nil>
	// 000000000000000a-0000000000000001 true -1
}

// Two permits. The holders of leases 1 and 2 are old, and only one of them is lost.
func ExampleGate() {
	gate := fence.NewGate(2)
	fmt.Println("paused begins:", gate.Begin(paused, 1))
	fmt.Println("slow begins:", gate.Begin(slow, 1))
	fmt.Println("newer begins:", gate.Begin(newer, 1))
	fmt.Println("paused acts:", errors.Is(gate.Check(paused), fence.ErrStale))
	fmt.Println("slow ends:", gate.End(slow, 1))
	// Output:
	// paused begins: <nil>
	// slow begins: <nil>
	// newer begins: <nil>
	// paused acts: true
	// slow ends: <nil>
}

func ExampleGate_Do() {
	gate := fence.NewGate(2)
	err := gate.Do(context.Background(), paused, 1, func(ctx context.Context) error {
		// Another holder arrives. The context of this one ends.
		_ = gate.Do(context.Background(), newer, 1, func(context.Context) error { return nil })
		<-ctx.Done()
		return context.Cause(ctx)
	})
	fmt.Println(errors.Is(err, fence.ErrStale))
	// Output: true
}

func ExampleStaleError() {
	gate := fence.NewGate(2)
	_ = gate.Check(newer)
	err := gate.Check(paused)
	if stale, ok := errors.AsType[*fence.StaleError](err); ok {
		fmt.Println("revision", stale.Token.Rev, "is outdated by revision", stale.By.Rev)
	}
	// Output: revision 10 is outdated by revision 20
}

// document is an object with a version that grows with each write.
type document struct {
	fence   string
	version int
}

func (d *document) Stat(context.Context) (stored, version string, err error) {
	return d.fence, fmt.Sprint(d.version), nil
}

func (d *document) Put(_ context.Context, order, version string) error {
	if version != fmt.Sprint(d.version) {
		return fence.ErrChanged
	}
	d.fence, d.version = order, d.version+1
	return nil
}

func ExampleObject() {
	d := &document{}
	fmt.Println(fence.Write(context.Background(), d, newer))
	fmt.Println(errors.Is(fence.Write(context.Background(), d, paused), fence.ErrStale))
	// Output:
	// <nil>
	// true
}
