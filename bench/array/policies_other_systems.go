//go:build !linux

package array

// futexPolicies are none: futexes are Linux's.
var futexPolicies []policy
