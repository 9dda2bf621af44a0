// Measures is a program that imports package testing and has no tests.
package main

import (
	"fmt"
	"testing"

	"github.com/farad-go/farad/internal/linked"
)

func main() {
	if testing.AllocsPerRun(10, func() {}) == 0 {
		fmt.Println(linked.Bubbles())
	}
}
