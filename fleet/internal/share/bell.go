package share

import "github.com/farad-go/farad/internal/xsync"

// A Bell calls a driver. However often it is rung before the driver hears it, the driver is called
// once.
type Bell struct {
	rung   xsync.Bool
	signal xsync.Signal
}

// Init makes b a bell that nobody has rung.
func (b *Bell) Init() { b.signal = xsync.NewSignal(1) }

// Ring calls the driver.
func (b *Bell) Ring() {
	if b.rung.CompareAndSwap(false, true) {
		b.signal.TrySend()
	}
}

// C returns where the driver waits for the bell: it receives once a call.
func (b *Bell) C() <-chan struct{} { return b.signal.C() }

// Clear is called by the driver before it looks. Who rings later calls it again.
func (b *Bell) Clear() { b.rung.Store(false) }
