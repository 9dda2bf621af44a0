//go:build !interleave

package xsync

// A package that imports xsync and not sync/atomic can inline a method of an aliased type only if
// xsync exports the method's body, and the compiler lets a package export what it has inlined
// itself. Without this function, which is never called, every atomic operation of the core is a
// call. TestDoorCompilesToTheLibrarysCode sees what is missing.
var _ = func(b *Bool, i *Int64, u *Uint32, p *Uintptr, m *Mutex, k *Sleeper) {
	k.SleepInline()
	k.Sleep()

	m.Lock()
	b.Load()
	b.Store(true)
	b.Swap(true)
	b.CompareAndSwap(true, true)

	i.Load()
	i.Store(0)
	i.Swap(0)
	i.CompareAndSwap(0, 0)
	i.Add(0)
	i.Or(0)
	i.And(0)

	u.Load()
	u.Store(0)
	u.Swap(0)
	u.CompareAndSwap(0, 0)
	u.Add(0)
	u.Or(0)

	p.Load()
	p.Store(0)
	p.Swap(0)
	p.CompareAndSwap(0, 0)
	p.Add(0)
	p.Or(0)
	m.Unlock()
	m.TryLock()
}
