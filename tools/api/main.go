// Command api keeps the files api/*.txt, one for each module that ships: every line is something
// that a program can use. A change of the API is a change of these files, and reviewers see it.
//
//	go -C tools run ./api          says what differs: a step of .ci/run
//	go -C tools run ./api -write   writes the files: the same as make api
//
// The lines are like those of Go's own api/go1.txt, which no library makes: apidiff of
// golang.org/x/exp compares two versions and has no text. A line that is gone may break a program.
// A new line breaks none: whatever may not grow, such as an interface, stands in one line as a
// whole.
//
// It also compares inside.txt with what modules import from the insides of each other: versions
// that differ may not compile then.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/farad-go/farad/tools/internal/repo"
)

func main() {
	write := flag.Bool("write", false, "write the files")
	flag.Parse()
	same, err := false, repo.Enter()
	if err == nil {
		same, err = run(context.Background(), ".", *write, os.Stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(2)
	case !same:
		os.Exit(1)
	}
}

// run compares the files in root with the modules, or writes them. It reports whether they are the
// same.
func run(ctx context.Context, root string, write bool, out io.Writer) (same bool, err error) {
	same = true
	inside := map[string]bool{}
	for _, module := range repo.Shipped {
		lines, err := linesOf(ctx, root, module, inside)
		if err != nil {
			return false, fmt.Errorf("%s: %w", module, err)
		}
		name := repo.APIFile(module)
		if write {
			if err := os.WriteFile(filepath.Join(root, name), []byte(strings.Join(lines, "")), 0o644); err != nil {
				return false, err
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return false, err
		}
		gone, added := repo.CompareAPI(string(text), strings.Join(lines, ""))
		for _, l := range gone {
			fmt.Fprintf(out, "%s: gone: %s\n", name, l)
		}
		for _, l := range added {
			fmt.Fprintf(out, "%s: new: %s\n", name, l)
		}
		same = same && len(gone)+len(added) == 0
	}
	if write {
		return same, nil
	}
	if !same {
		fmt.Fprintln(out, "`make api` writes the files; CHANGELOG.md tells users")
	}
	listed, err := repo.ReadReasons(filepath.Join(root, "tools/api/inside.txt"), 2, func(columns []string) []string {
		return []string{strings.Join(columns, "\t")}
	})
	return compareInsides(inside, listed, out) && same, err
}

// linesOf returns the lines of the module in a folder, sorted. It adds to inside what the module
// imports from the insides of others.
func linesOf(ctx context.Context, root, module string, inside map[string]bool) ([]string, error) {
	config := packages.Config{
		Context: ctx,
		Dir:     filepath.Join(root, module),
		// The API is the one of the platform where most programs run, whatever this machine is.
		Env:  append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "GOWORK=off"),
		Mode: packages.NeedName | packages.NeedImports | packages.NeedTypes,
	}
	loaded, err := packages.Load(&config, "./...")
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range loaded {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
		for _, line := range insides(module, p) {
			inside[line] = true
		}
		if isPublic(p) {
			lines = append(lines, exported(p.Types)...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines), err
}

// isPublic reports whether a program may import p, and is meant to.
func isPublic(p *packages.Package) bool {
	folders := strings.Split(p.PkgPath, "/")
	return p.Name != "main" && !slices.Contains(folders, "internal") && !slices.Contains(folders, "examples")
}
