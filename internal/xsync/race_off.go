//go:build !race || interleave

package xsync

// Races says whether the race detector watches this program. Scenarios have their own order.
const Races = false

// A RaceMark takes no memory here.
type RaceMark struct{}

// RaceDisable does nothing here.
func RaceDisable() {}

// RaceEnable does nothing here.
func RaceEnable() {}

// RaceAcquire does nothing here.
func RaceAcquire[T any](*T) {}

// RaceRelease does nothing here.
func RaceRelease[T any](*T) {}

// Glance32 is a load here.
func Glance32(x *Uint32) uint32 { return x.Load() }

// Glance64 is a load here.
func Glance64(x *Int64) int64 { return x.Load() }

// GlancePointer is a load here.
func GlancePointer[T any](x *Pointer[T]) *T { return x.Load() }

// Read does nothing here.
func (*RaceMark) Read() {}

// Write does nothing here.
func (*RaceMark) Write() {}
