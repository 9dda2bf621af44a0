package main

import "io"

// startChart draws nothing: there is no terminal.
func startChart(io.Writer, policy, []*trial) (stop func()) { return func() {} }
