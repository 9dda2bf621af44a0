//go:build !amd64

package array

// instructionPolicies are none: PAUSE and LFENCE are amd64's. What other processors have for it is
// not measured.
var instructionPolicies []policy
