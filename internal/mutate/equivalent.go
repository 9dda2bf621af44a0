package main

import (
	"fmt"
	"os"
	"strings"
)

// readEquivalents reads the list of mutants that no test can kill, with the reason of each.
func readEquivalents(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	listed := map[string]string{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, _ := strings.Cut(line, "\t")
		if reason = strings.TrimSpace(reason); reason == "" {
			return nil, fmt.Errorf("%s:%d: an id, a tab and a reason are wanted", path, n)
		}
		if _, ok := listed[id]; ok {
			return nil, fmt.Errorf("%s:%d: %s is listed twice", path, n, id)
		}
		listed[id] = reason
	}
	return listed, nil
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
