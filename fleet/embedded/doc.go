// Package embedded runs an etcd inside the process that uses it. It is meant for tests, for
// examples and for programs that share permits on one machine.
//
// It is a module of its own: a program whose etcd runs elsewhere does not depend on the server. A
// cluster of several members that can fail is in the package cluster.
package embedded
