// Command affected runs the checks that a change can make fail: make affected.
//
//	go -C tools run ./affected                what differs from origin/main, or from main
//	go -C tools run ./affected -since HEAD~3  what differs from another commit
//	go -C tools run ./affected -n             prints the commands, and runs nothing
//
// A package is changed if one of its files differs, other than by comments, and affected if changed
// code is compiled into its tests. It runs
//
//   - the quick tests of all affected packages;
//   - those of the changed ones under the race detector;
//   - tier one of the scenarios of all affected packages;
//   - some mutants of the functions that differ.
//
// It does not replace bash .ci/run: other platforms and Go versions, lint and go.mod files are not
// looked at.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/farad-go/farad/tools/internal/repo"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	ok, err := false, repo.Enter()
	if err == nil {
		ok, err = run(ctx, ".", os.Args[1:], os.Stdout)
	}
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "affected:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// run is the command. It reports whether all checks passed.
func run(ctx context.Context, root string, args []string, out io.Writer) (bool, error) {
	flags := flag.NewFlagSet("affected", flag.ContinueOnError)
	since := flags.String("since", "",
		"the `commit` to compare with (default: where this branch left origin/main, or main)")
	dry := flags.Bool("n", false, "print the commands, and run nothing")
	mutants := flags.Int("mutants", 6, "at most so many mutants")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	ref, err := base(ctx, root, *since)
	if err != nil {
		return false, err
	}
	files, err := repo.ChangedFiles(ctx, root, ref)
	if err != nil {
		return false, err
	}
	tree, err := repo.Load(ctx, root)
	if err != nil {
		return false, err
	}
	c := consequences(tree, files)
	fmt.Fprintf(out, "since %s: %d files, %d changed packages, %d affected\n",
		ref, len(files), len(c.changed), len(c.affected))
	for _, name := range c.others {
		fmt.Fprintf(out, "no package reads %s: bash .ci/run\n", name)
	}
	right := true
	for _, command := range c.commands(ref, *mutants) {
		fmt.Fprintf(out, "\n%s\n", strings.Join(command, " "))
		if *dry {
			continue
		}
		began := time.Now()
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = root, out, out
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(out, "FAILED:", err)
			right = false
		}
		fmt.Fprintf(out, "(%.0f s)\n", time.Since(began).Seconds())
	}
	return right, ctx.Err()
}

// base returns the commit to compare with.
func base(ctx context.Context, root, since string) (string, error) {
	if since != "" {
		return since, nil
	}
	for _, branch := range []string{"origin/main", "main"} {
		cmd := exec.CommandContext(ctx, "git", "merge-base", branch, "HEAD")
		cmd.Dir = root
		if out, err := cmd.Output(); err == nil {
			return strings.TrimSpace(string(out))[:12], nil
		}
	}
	return "", errors.New("there is neither origin/main nor main: use -since")
}

// A consequence is what a change can make fail.
type consequence struct {
	changed, affected []*repo.Package // by folder; the changed ones are affected as well
	mutated           []string        // folders with changed code that tests judge
	others            []string        // files that belong to no package
}

func consequences(tree *repo.Tree, files []string) consequence {
	var c consequence
	changed := map[*repo.Package]bool{} // by anything
	code := map[*repo.Package]bool{}    // by more than its tests
	mutated := map[string]bool{}
	for _, name := range files {
		p := tree.Owner(name)
		switch {
		case p != nil:
			changed[p] = true
			code[p] = code[p] || !strings.HasSuffix(name, "_test.go")
			test := strings.HasSuffix(name, "_test.go")
			if path.Ext(name) == ".go" && !test && path.Dir(name) == p.Dir && judged(p.Dir) {
				mutated[p.Dir] = true
			}
		case path.Base(name) == "go.mod" || path.Base(name) == "go.sum":
			for _, p := range tree.Packages {
				if slices.Contains(p.ModuleFiles(), name) {
					changed[p] = true
				}
			}
		case path.Ext(name) != ".md":
			c.others = append(c.others, name)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(tree.Packages)) {
		p := tree.Packages[dir]
		if changed[p] {
			c.changed = append(c.changed, p)
		}
		// The tests at the root read all documents and all code.
		affected := changed[p] || dir == "." && len(files) > 0
		for q := range tree.Closure(p) {
			affected = affected || code[q]
		}
		if affected {
			c.affected = append(c.affected, p)
		}
	}
	c.mutated = slices.Sorted(maps.Keys(mutated))
	return c
}

// judged reports whether mutants of a folder mean something: tests need not kill those of programs.
func judged(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	return top != "bench" && top != "examples" && top != "tools" && !strings.HasPrefix(dir, "internal/locktest") &&
		!strings.HasPrefix(dir, "fleet/embedded/") && !strings.HasPrefix(dir, "fleet/postgres/") &&
		!strings.HasPrefix(dir, "vet/cmd/") &&
		dir != "fleet/internal/memstore" && dir != "fleet/store/storetest" && dir != "fleet/fleettest"
}

// commands returns the commands to run, the quickest first.
func (c *consequence) commands(ref string, mutants int) (commands [][]string) {
	tested := func(packages []*repo.Package) []*repo.Package {
		return slices.DeleteFunc(slices.Clone(packages), func(p *repo.Package) bool { return !p.HasTests() })
	}
	explored := slices.DeleteFunc(slices.Clone(c.affected), func(p *repo.Package) bool { return !p.Explored() })
	commands = append(commands, goTest(tested(c.affected), "-short")...)
	commands = append(commands, goTest(tested(c.changed), "-short", "-race")...)
	commands = append(commands, goTest(explored, "-short", "-tags", "interleave", "-run", "Model")...)
	if len(c.mutated) > 0 && mutants > 0 {
		command := []string{"go", "-C", "tools", "run", "./mutate", "-changed", ref, "-max", strconv.Itoa(mutants)}
		commands = append(commands, append(command, c.mutated...)) // the command works at the root
	}
	return commands
}

// goTest returns a command for each module that the packages are of.
func goTest(packages []*repo.Package, flags ...string) (commands [][]string) {
	byModule := map[string][]string{}
	for _, p := range packages {
		byModule[p.Module] = append(byModule[p.Module], p.Pattern())
	}
	for _, module := range slices.Sorted(maps.Keys(byModule)) {
		command := []string{"go", "test"}
		if module != "." {
			command = []string{"go", "-C", module, "test"}
		}
		commands = append(commands, append(append(command, flags...), byModule[module]...))
	}
	return commands
}
