package main

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farad-go/farad/tools/internal/repo"
)

// readEquivalents reads the list of mutants that no test can kill, with the reason of each. Without
// a name it reads those of the default lists that exist below root.
func readEquivalents(root, name string) (map[string]string, error) {
	whole := func(columns []string) []string { return columns }
	if name != "" {
		return repo.ReadReasons(name, 1, whole)
	}
	all := map[string]string{}
	for _, name := range defaultEquivalents {
		listed, err := repo.ReadReasons(filepath.Join(root, filepath.FromSlash(name)), 1, whole)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		maps.Copy(all, listed)
	}
	return all, nil
}

// stale returns the listed ids that have no mutant: the file does not exist, it has no such mutant,
// or the mutant does not compile.
func stale(listed map[string]string, root string, files []*file, all []*mutant) []string {
	exists := map[string]bool{}
	for _, m := range all {
		exists[m.id] = !m.broken
	}
	var ids []string
	for id := range listed {
		name, _, _ := strings.Cut(id, ":")
		loaded := slices.ContainsFunc(files, func(f *file) bool { return f.name == name })
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		if loaded && !exists[id] || errors.Is(err, fs.ErrNotExist) {
			ids = append(ids, id)
		}
	}
	return ids
}
