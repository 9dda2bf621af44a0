package peers

// The names that targets and tables refer to.
const (
	NameFloor   = "floor"
	NameXSync   = "x/sync"
	NameChannel = "channel"
	NameRing    = "ring"
	NameAnts    = "ants"

	NameArray     = "farad, array" // for memory: on the waiting array
	NameTWA       = "farad, twa"
	NameCapacitor = "farad, capacitor"
)
