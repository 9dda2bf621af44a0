// Command farad-vet checks that programs keep the contracts of Farad's locks, futures and tasks.
// The go command runs it, one package at a time:
//
//	go install github.com/farad-go/farad/vet/cmd/farad-vet@latest
//	go vet -vettool=$(which farad-vet) ./...
//
// Called with packages it does the same by itself, and -fix applies the fixes that are certain:
//
//	farad-vet -fix ./...
//
// Farad-vet help lists the analyzers, and farad-vet help NAME shows what one of them finds. A flag
// of an analyzer's name runs only those that are named: -errdropped. With -errdropped=false it runs
// all others.
package main

import (
	"golang.org/x/tools/go/analysis/multichecker"

	"github.com/farad-go/farad/vet"
)

func main() { multichecker.Main(vet.Analyzers()...) }
