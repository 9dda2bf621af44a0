package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/farad-go/farad/tools/internal/repo"
)

// insides returns what a package of the module in a folder imports from the insides of other
// modules of the repository, as lines of inside.txt begin.
func insides(module string, p *packages.Package) (found []string) {
	for imported := range p.Imports {
		folder, own := strings.CutPrefix(imported, repo.Module+"/")
		if own && slices.Contains(strings.Split(folder, "/"), "internal") && moduleOf(folder) != module {
			found = append(found, module+"\t"+imported)
		}
	}
	return found
}

// moduleOf returns the folder of the module that ships the package in a folder.
func moduleOf(folder string) string {
	owner := "."
	for _, m := range repo.Shipped {
		if (folder == m || strings.HasPrefix(folder, m+"/")) && len(m) > len(owner) {
			owner = m
		}
	}
	return owner
}

// compareInsides reports whether the imports that were found are those of inside.txt, and says what
// differs.
func compareInsides(found map[string]bool, listed map[string]string, out io.Writer) (same bool) {
	same = true
	for _, line := range slices.Sorted(maps.Keys(found)) {
		if _, ok := listed[line]; !ok {
			fmt.Fprintf(out, "imports the insides of another module, see tools/api/inside.txt: %s\n", line)
			same = false
		}
	}
	for _, line := range slices.Sorted(maps.Keys(listed)) {
		if !found[line] {
			fmt.Fprintf(out, "tools/api/inside.txt: nothing imports this any more: %s\n", line)
			same = false
		}
	}
	return same
}
