//go:build !linux

package main

// futexPolicies are none: futexes are Linux's.
var futexPolicies []policy
