// Tested is a program with tests, none of which makes a bubble.
package main

import "github.com/farad-go/farad/internal/linked"

func main() {
	if linked.Bubbles() {
		panic("a program with bubbles")
	}
}
