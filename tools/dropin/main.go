// Command dropin runs the tests of others with our packages in the place of those that they import:
// package sync in that of the standard library's, semaphore in that of golang.org/x/sync/semaphore.
//
//	go -C tools run ./dropin                 all modules: half an hour on two busy cores
//	go -C tools run ./dropin puddle library  those whose paths contain one of the words
//	go -C tools run ./dropin -bench          their benchmarks instead, with both imports in turns
//	go -C tools run ./dropin -observe        their tests with observe/observetest
//
// The modules are listed in modules.go; one of them is the standard library's own tests of package
// sync. The go command fetches them. Each is copied into a temporary folder, requires the working
// tree, and runs its tests under the race detector: as it is, and with the imports exchanged in
// each of its files. The go command gets the exchanged files as an overlay. So nothing of theirs is
// changed, and both runs have the same versions of everything else.
//
// What fails with ours, and not as it is, runs twice again, both ways. It counts if it fails with
// ours at least twice of three times, or hangs. Such a failure is listed with its reason in
// explained.txt, as a rule because a module relies on what package sync does not promise.
//
// The exit code is 1 if one is not listed, or if a line of the list is not true any more. It is 2
// if something else went wrong. (go run turns every failure into 1.)
//
// Read main.go first, then trial.go, and speed.go for the benchmarks; package subject makes the
// folders, exchange the overlays, and gotest runs tests.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/farad-go/farad/tools/internal/repo"
)

const listName = "tools/dropin/explained.txt"

func main() {
	ok, err := false, repo.Enter()
	if err == nil {
		ok, err = run(os.Args[1:], os.Stdout, os.Stderr)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "dropin:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// run tries the modules whose paths contain one of the words, and writes tables. It reports whether
// all that fails is explained.
func run(args []string, out, progress io.Writer) (ok bool, err error) {
	flags := flag.NewFlagSet("dropin", flag.ContinueOnError)
	flags.SetOutput(progress)
	bench := flags.Bool("bench", false, "compare benchmarks")
	watch := flags.Bool("observe", false, "look for deadlocks, inversions and leaks instead")
	var r race
	flags.IntVar(&r.rounds, "rounds", 5, "how often each benchmark runs, with either import")
	flags.DurationVar(&r.each, "time", 50*time.Millisecond, "how long a benchmark runs in a round")
	flags.StringVar(&r.procs, "cpu", "1,2,4", "values of GOMAXPROCS")
	if err := flags.Parse(args); err != nil {
		return false, err
	}
	chosen, err := choose(flags.Args())
	if err != nil {
		return false, err
	}
	root, err := os.Getwd()
	switch {
	case err != nil:
		return false, err
	case *bench:
		err = compare(chosen, root, r, out, progress)
		return err == nil, err
	case *watch:
		err = observe(chosen, root, out, progress)
		return err == nil, err
	}
	return test(chosen, out, progress)
}

// test runs the tests of modules.
func test(chosen []module, out, progress io.Writer) (ok bool, err error) {
	explained, err := readList(listName)
	if err != nil {
		return false, err
	}
	root, err := os.Getwd()
	if err != nil {
		return false, err
	}
	var trials []trial
	var errs []error
	for _, m := range chosen {
		ts, err := try(m, root, progress)
		trials = append(trials, ts...)
		errs = append(errs, err) // and go on with the next
	}
	r := report{trials: trials, explained: explained}
	_, err = io.WriteString(out, r.text())
	return len(r.problems()) == 0, errors.Join(append(errs, err)...)
}

// choose returns the modules whose paths contain one of the words, or all if there are none.
func choose(words []string) (chosen []module, err error) {
	for _, w := range words {
		if !slices.ContainsFunc(modules, func(m module) bool { return strings.Contains(m.path, w) }) {
			return nil, fmt.Errorf("no module has %q in its path", w)
		}
	}
	for _, m := range modules {
		if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(m.path, w) }) {
			chosen = append(chosen, m)
		}
	}
	return chosen, nil
}

// readList reads the failures that are explained: a line has the exchange, the package with the
// test, and the reason, with tabs between them.
func readList(name string) (map[string]string, error) {
	return repo.ReadReasons(name, 2, func(columns []string) []string {
		return []string{columns[0] + " " + columns[1]}
	})
}
