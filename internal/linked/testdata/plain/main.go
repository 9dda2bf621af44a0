// Plain is a program without package testing.
package main

import (
	"fmt"

	"github.com/farad-go/farad/internal/linked"
)

func main() { fmt.Println(linked.Bubbles()) }
