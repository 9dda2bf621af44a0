//go:build !linux

package cluster

func memory() string { return "" }
