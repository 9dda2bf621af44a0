// Command unexplored lists the functions of the core that no scenario reaches.
//
//	go -C tools run ./unexplored       runs tier one of the model checks, judges coverage
//	go -C tools run ./unexplored FILE  judges an existing coverage profile of tier one
//
// A function that no scenario reaches is listed in unexplored.txt, with the reason. The exit code
// is 1 if a function is neither reached nor listed, and if a line lists one that a scenario reaches
// now, or that does not exist any more. So the list is true, and a new function without a scenario
// cannot go unnoticed.
//
// Reached means that one statement of it ran. What else must run, and whether anything is checked,
// is a matter of the mutants (tools/mutate).
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/farad-go/farad/tools/internal/repo"
)

const (
	module   = repo.Module
	listName = "tools/unexplored/unexplored.txt"
)

// core are the folders whose functions the explorer should reach.
var core = []string{
	"internal/engine", "internal/parking", "internal/parking/twobit", "internal/waiting", "runtime", "sync",
	"sync/capacitor", "sync/keyed", "sync/mutex", "sync/rwlock", "sync/semaphore", "twa", "waiter",
}

func main() {
	ok, err := false, repo.Enter()
	if err == nil {
		ok, err = run(".", os.Args[1:], os.Stdout)
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "unexplored:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// run judges the module in root, and reports whether everything is reached or listed.
func run(root string, args []string, out io.Writer) (ok bool, err error) {
	flags := flag.NewFlagSet("unexplored", flag.ContinueOnError)
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	var profile string
	switch flags.NArg() {
	case 0:
		dir, err := os.MkdirTemp("", "unexplored")
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		profile = filepath.Join(dir, "profile")
		if err := explore(root, profile, out); err != nil {
			return false, err
		}
	case 1:
		profile = flags.Arg(0)
	default:
		return false, errors.New("more than one profile")
	}

	functions, err := functionsOf(root, core)
	if err != nil {
		return false, err
	}
	list, err := readList(filepath.Join(root, filepath.FromSlash(listName)))
	if err != nil {
		return false, err
	}
	blocks, err := readProfile(profile)
	if err != nil {
		return false, err
	}
	v := judge(functions, blocks, list)
	for _, p := range v.problems {
		fmt.Fprintln(out, p)
	}
	_, err = fmt.Fprintf(out, "%d functions: scenarios reach %d, and %d are listed with a reason; %d problems\n",
		len(functions), v.reached, v.listed, len(v.problems))
	return len(v.problems) == 0, err
}

// explore runs tier one, and writes what it has reached to profile.
func explore(root, profile string, out io.Writer) error {
	args := []string{
		"test", "-tags", "interleave", "-short", "-run", "Model", "-cpu", "1",
		"-coverpkg", module + "/" + strings.Join(core, ","+module+"/"), "-coverprofile", profile,
	}
	for _, dir := range core {
		args = append(args, "./"+dir)
	}
	c := exec.Command("go", args...)
	c.Dir, c.Stdout, c.Stderr = root, out, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("tier one: %w", err)
	}
	return nil
}
