package main

import (
	"strings"

	"github.com/farad-go/farad/tools/internal/repo"
)

// readEquivalents reads the list of mutants that no test can kill, with the reason of each.
func readEquivalents(name string) (map[string]string, error) {
	return repo.ReadReasons(name, 1, func(columns []string) []string { return columns })
}

// stale returns the listed ids of files that have no such mutant, or one that does not compile.
func stale(listed map[string]string, files []*file, all []*mutant) []string {
	exists := map[string]bool{}
	for _, m := range all {
		exists[m.id] = !m.broken
	}
	var ids []string
	for _, f := range files {
		for id := range listed {
			if strings.HasPrefix(id, f.name+":") && !exists[id] {
				ids = append(ids, id)
			}
		}
	}
	return ids
}
