// Bubbles is a program with a test that makes a bubble.
package main

import "github.com/farad-go/farad/internal/linked"

func main() {
	if linked.Bubbles() {
		panic("a program with bubbles")
	}
}
