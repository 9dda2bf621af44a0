// Package cluster runs an etcd cluster whose members are processes of this machine, for tests and
// examples: members are killed, paused and started again, and cut off from each other and from
// clients.
//
// The program starts itself again for each member. Therefore its main function, or TestMain, begins
// with a call of Main.
//
// All bytes between members, and between clients and members, pass through this process. What is
// cut is not closed: the bytes stay where they are until Heal, as packets are sent again after a
// partition of a network.
package cluster
