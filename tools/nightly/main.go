// Command nightly keeps the two pages that say what the nightly checks found: docs/nightly.md, with
// a row for each step, and docs/design/scenarios.md, with a row for each explored package.
//
//	bash .ci/run -steps | go -C tools run ./nightly check          judges the pages
//	bash .ci/run -steps | go -C tools run ./nightly list           says which rows are stale
//	bash .ci/run -steps | go -C tools run ./nightly record FILE    merges outcomes into the pages
//
// A row has a hash of what its step read when it ran: the code of the packages and of what they
// import, their tests and the data of these, go.mod and go.sum, and the step's own definition in
// .ci/run. A row is stale if the hash is not that of the working tree, or if the step did not pass.
// Comments and prose do not count, unless they instruct a tool.
//
// check fails if a step has no row, if a row has no step, if a package has no step of its own, and
// if an explored package has no row among the scenarios. With -fresh it fails if a row is stale,
// too: for a release. It is not a check of every change, because nobody can run all night before
// each.
//
// Read main.go first, then steps.go for the hashes, and pages.go for the tables.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/farad-go/farad/tools/internal/repo"
)

const (
	nightlyPage   = "docs/nightly.md"
	scenariosPage = "docs/design/scenarios.md"
)

func main() {
	ok, err := false, repo.Enter()
	if err == nil {
		ok, err = run(context.Background(), ".", os.Args[1:], os.Stdin, os.Stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "nightly:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// run is the command. It reports whether the pages are as they should be.
func run(ctx context.Context, root string, args []string, stdin io.Reader, out io.Writer) (bool, error) {
	if len(args) == 0 {
		return false, errors.New("no command: check, check -fresh, list, record FILE")
	}
	tree, err := repo.Load(ctx, root)
	if err != nil {
		return false, err
	}
	steps, err := readSteps(root, tree, stdin)
	if err != nil {
		return false, err
	}
	pages, err := readPages(root)
	if err != nil {
		return false, err
	}
	switch command := strings.Join(args, " "); {
	case command == "check":
		return tell(out, append(pages.faults(steps), without(tree, steps)...)), nil
	case command == "check -fresh":
		faults := append(pages.faults(steps), without(tree, steps)...)
		return tell(out, append(faults, pages.stale(steps)...)), nil
	case command == "list":
		for _, s := range steps {
			state := "fresh"
			if pages.staleRow(s) != "" {
				state = "stale"
			}
			fmt.Fprintf(out, "%s\t%s\t%s\t%s\n", state, s.hash, s.group, s.name)
		}
		return true, nil
	case len(args) == 2 && args[0] == "record":
		text, err := os.ReadFile(args[1])
		if err != nil {
			return false, err
		}
		if err := pages.merge(steps, string(text)); err != nil {
			return false, err
		}
		return true, pages.write(root, steps)
	}
	return false, fmt.Errorf("no command %q", args)
}

// tell prints the faults, and reports whether there are none.
func tell(out io.Writer, faults []string) bool {
	for _, f := range faults {
		fmt.Fprintln(out, f)
	}
	return len(faults) == 0
}

// without returns the packages with tests that no step runs. A step that names a package runs it; a
// package that is only imported is not named.
func without(tree *repo.Tree, steps []*step) (faults []string) {
	named := map[*repo.Package]bool{}
	explored := map[*repo.Package]bool{}
	for _, s := range steps {
		for _, p := range s.packages {
			named[p] = true
			explored[p] = explored[p] || s.scenarios != ""
		}
	}
	for _, p := range tree.Packages {
		if p.HasTests() && !named[p] {
			faults = append(faults, p.Dir+": no step of the nightly checks runs it")
		}
		if p.Explored() && !explored[p] {
			faults = append(faults, p.Dir+": no step of the nightly checks explores its scenarios")
		}
	}
	slices.Sort(faults)
	return faults
}
