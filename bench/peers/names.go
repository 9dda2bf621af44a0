package peers

// The names that targets and tables refer to.
const (
	NameFloor   = "floor"
	NameXSync   = "x/sync"
	NameChannel = "channel"
	NameRing    = "ring"
	NameAnts    = "ants"
	NameMinimal = "minimal lock" // the floor under contention
	NameFifomu  = "fifomu"       // a mutex in strict order

	NameArray     = "farad, array" // for memory: on the waiting array
	NameTWA       = "farad, twa"
	NameCapacitor = "farad, capacitor"
)
