package share

// A Bell calls a driver. However often it is rung before the driver hears it, the driver is called
// once.
type Bell struct {
	rung atomicBool
	call func()
}

// Init makes b a bell that nobody has rung. The first to ring it calls call, which must not
// wait.
func (b *Bell) Init(call func()) { b.call = call }

// Ring calls the driver.
func (b *Bell) Ring() {
	if b.rung.CompareAndSwap(false, true) {
		b.call()
	}
}

// Clear is called by the driver before it looks. A later ring calls the driver again.
func (b *Bell) Clear() { b.rung.Store(false) }
