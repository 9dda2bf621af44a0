// Command proof proves algorithms of this module for any number of threads, permits and waiters.
//
//	go run ./internal/proof              proves everything: under two minutes on two cores
//	go run ./internal/proof NAME         proves one algorithm; words: 64-bit arithmetic
//	go run ./internal/proof -print NAME  prints the table of an algorithm, to read with its source
//	go run ./internal/proof -solver cvc5 asks another solver for the proofs
//
// Each algorithm is a table of atomic steps (package table). The solver shows that each step keeps
// each invariant, and that the theorems follow. Then the proof is distrusted: each step must be
// possible, each part of each invariant must be needed, and each planted defect must be refused.
// What ties a table to the source are the tests TestModelConforms… of the packages that it names.
// docs/design/proof.md says how to read a table.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/farad-go/farad/internal/proof/table"
)

func main() {
	solver := flag.String("solver", "z3", "z3 or cvc5")
	show := flag.String("print", "", "print the table of this `algorithm`")
	quick := flag.Bool("quick", false, "prove, and leave out what distrusts the proof")
	flag.Parse()
	if err := run(*solver, *show, *quick, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

var errOpen = errors.New("not everything is proved")

func run(solver, show string, quick bool, only []string) error {
	tables := table.Tables()
	if show != "" {
		for _, t := range tables {
			if t.Name == show {
				t.Print(os.Stdout)
				return nil
			}
		}
		return fmt.Errorf("no algorithm %q", show)
	}
	if _, err := exec.LookPath(solver); err != nil {
		return fmt.Errorf("no %s is installed (Debian: apt-get install %s): %w", solver, solver, err)
	}
	began := time.Now()
	ok := true
	for _, t := range tables {
		if len(only) > 0 && !slices.Contains(only, t.Name) {
			continue
		}
		good, err := algorithm(t, solver, quick)
		if err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		ok = ok && good
	}
	if len(only) == 0 || slices.Contains(only, "words") {
		good, err := words(solver)
		if err != nil {
			return fmt.Errorf("words: %w", err)
		}
		ok = ok && good
	}
	fmt.Printf("\n%.1f s in all\n", time.Since(began).Seconds())
	if !ok {
		return errOpen
	}
	return nil
}

// words proves what is said of machine words.
func words(solver string) (ok bool, err error) {
	s, err := table.Start(solver)
	if err != nil {
		return false, err
	}
	defer s.Close()
	fmt.Printf("\nwords of 64 bits\n")
	ok = true
	for _, w := range table.Words() {
		wrong, spent, err := w.Prove(s)
		switch {
		case err != nil:
			return false, fmt.Errorf("%s: %w", w.Name, err)
		case wrong != "":
			fmt.Printf("  FAILED  %s: %s\n", w.Name, wrong)
			ok = false
		default:
			fmt.Printf("  proved %5.2f s  %s (%s): %s %d planted defects are refused.\n",
				spent.Seconds(), w.Name, w.Source, w.Text, len(w.Planted))
		}
	}
	return ok, nil
}

// algorithm proves one, and prints what it has proved.
func algorithm(t *table.Table, solver string, quick bool) (bool, error) {
	fmt.Printf("\n%s (%s): %d steps, %d invariants in %d parts, %d properties, %d theorems\n",
		t.Name, t.Source, len(t.Steps), len(t.Invariants), len(t.Parts()), len(t.Properties), len(t.Theorems))
	for _, a := range t.Assume {
		fmt.Printf("  assumed: %s\n", a)
	}
	results, err := t.Prove(solver)
	if err != nil {
		return false, err
	}
	ok, queries := true, 0
	for _, r := range results {
		mark := "proved"
		if len(r.Open) > 0 {
			mark, ok = "OPEN  ", false
		}
		queries += r.Queries
		fmt.Printf("  %s %5.2f s  %s: %s\n", mark, r.Time.Seconds(), r.Name, r.Text)
		for _, o := range r.Open {
			fmt.Printf("      %s\n", o)
		}
	}
	fmt.Printf("  %d queries\n", queries)
	if quick || !ok {
		return ok, nil
	}
	s, err := table.Start(solver)
	if err != nil {
		return false, err
	}
	defer s.Close()
	never, err := t.Possible(s)
	if err != nil {
		return false, err
	}
	for _, o := range never {
		fmt.Println("  VACUOUS ", o)
		ok = false
	}
	fmt.Printf("  each of %d steps is possible\n", len(t.Steps)-len(never))
	err = table.Resolve(t.Doubts(), solver, func(d table.Doubt, answer string, err error) {
		if err != nil {
			fmt.Printf("  FAILED  %s: %v\n", d.Name, err)
			ok = false
			return
		}
		fmt.Printf("  %s: %s\n", d.Name, answer)
	})
	return ok, err
}
