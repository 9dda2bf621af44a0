// Tested is a program with tests.
package main

import "github.com/farad-go/farad/internal/linked"

func main() {
	if linked.TestBinary() {
		panic("taken for a test binary")
	}
}
