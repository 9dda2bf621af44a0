// Package sim runs processes of a fleet in virtual time: the agents of package line, over models of
// etcd, of the network, of clocks and of the goroutines that want permits. A run is a function of
// its seed. It has one goroutine, and checks the properties of the line after every event.
//
// Read config.go first (what a run consists of), then check.go (what must hold).
package sim
