package main

import (
	"path/filepath"
	"slices"

	"github.com/farad-go/farad/tools/internal/repo"
)

// changedFiles returns those of the files that have changed lines.
func changedFiles(root string, paths []string, changed map[string][]repo.Span) ([]string, error) {
	var files []string
	for _, path := range paths {
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		if len(changed[filepath.ToSlash(name)]) > 0 {
			files = append(files, path)
		}
	}
	return files, nil
}

// inChanged returns the mutants in functions, or other declarations, that have a changed line.
func inChanged(mutants []*mutant, changed map[string][]repo.Span) []*mutant {
	var in []*mutant
	for _, m := range mutants {
		f := m.file
		for _, decl := range f.syntax.Decls {
			d := repo.Span{First: f.pkg.fset.Position(decl.Pos()).Line, Last: f.pkg.fset.Position(decl.End()).Line}
			if d.First <= m.line && m.line <= d.Last {
				overlaps := func(s repo.Span) bool { return s.First <= d.Last && d.First <= s.Last }
				if slices.ContainsFunc(changed[f.name], overlaps) {
					in = append(in, m)
				}
				break
			}
		}
	}
	return in
}

// spread returns at most n of the mutants, at even distances. 0 stands for all.
func spread(mutants []*mutant, n int) []*mutant {
	if n == 0 || len(mutants) <= n {
		return mutants
	}
	some := make([]*mutant, n)
	for i := range some {
		some[i] = mutants[i*len(mutants)/n]
	}
	return some
}
