// Command mutate breaks Go code on purpose, one place at a time, and looks whether the tests
// notice. It makes mutants of source files, of the kinds that matter to locks, and runs the tests
// on each. A mutant that survives is code that no test needs.
//
//	go -C tools run ./mutate                           all mutants of the core: hours
//	go -C tools run ./mutate -list waiter              lists those of one folder, and runs none
//	go -C tools run ./mutate -run ':Engine\.Release:'  those of one function
//	go -C tools run ./mutate -every 10 -offset 3       a tenth of them
//	go -C tools run ./mutate -changed main -max 12     twelve of functions that differ from main
//
// The last form is for CI. It takes the functions in which a line of code differs between the
// commit and the working tree, and spreads the number over their mutants, in the order of files and
// lines. So its time is bounded: a mutant takes from a second, if the model kills it, to a minute
// or two, if it survives. Commits that change no function of the core cost a second. On a branch,
// compare with where it left: -changed "$(git merge-base origin/main HEAD)". On main, compare with
// HEAD~1 or with what was last pushed. -changed and -max go together with all other flags.
//
// A mutant is never written into the tree: the go command gets it as an overlay (go help build,
// -overlay). Line numbers stay as they are.
//
// The operators:
//
//	drop        a statement is removed: a call, an assignment, ++, a send, a break, continue or
//	            bare return, a defer
//	swap        two adjacent statements change places; a Lock or Unlock also with a neighbouring
//	            if, for or switch; a Lock together with its deferred Unlock; an Unlock before a
//	            returned call is deferred. Two assignments without calls are swapped only if one
//	            uses what the other sets
//	nolock      a function loses its locks and unlocks
//	torn        CompareAndSwap, Swap, Add, Or and And become a Load and a Store
//	blind       a CompareAndSwap stores without comparing
//	skip        a condition is always true, or never; an operand of && or || is left out
//	negate      a condition is inverted
//	relational  < and <=, > and >=, == and != stand for each other
//	arith       + and -, += and -=, ++ and -- stand for each other, on integers
//	case        the body of a case goes
//	return      a returned true is false, and a false true
//
// An id is the file, the function, the operator with its variant, a hash of the code that is
// changed, and a number where a function has the same code twice. So it survives edits elsewhere.
// Mutants that do not compile do not count. A mutant that no test can tell from the original is
// listed with a reason in a file of equivalents. It is run all the same, because the list must be
// true.
//
// The exit code is 1 if a mutant survives that is not listed, or if the list has an id that does
// not exist any more or that was killed. It is 2 if something else went wrong. (go run turns every
// failure into 1.) A mutant leaves a few megabytes in the build cache, which the go command drops
// after some days.
//
// Read main.go first, then operators.go and statements.go for the operators, runner.go for the
// tests that judge, and changed.go for the choice of what has changed. The command imports the
// standard library and internal/repo.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/farad-go/farad/tools/internal/repo"
)

// defaultEquivalents are the lists that are read if none is named.
var defaultEquivalents = []string{
	"tools/mutate/equivalent.txt",
	"runtime/testdata/equivalent.txt",
	"internal/interleave/equivalent.txt",
}

// testsOf returns the tests that judge the mutants of a file, the quickest first: those of the file
// itself, and then those of its folder.
func testsOf(root, name string) []string {
	return append(ownTests(root, name), testsOfFolder(root, path.Dir(name))...)
}

// inModule returns what go test needs to find a package: if it is not of the root's module, -C and
// the folder of its module; and the package, relative to that.
func inModule(root, dir string) (flags, pkg string) {
	module, err := filepath.Rel(root, moduleOf(root, filepath.Join(root, filepath.FromSlash(dir))))
	if err != nil || module == "." {
		return "", "./" + dir
	}
	module = filepath.ToSlash(module)
	return "-C " + module + " ", "." + strings.TrimPrefix(dir, module)
}

// testHead is the head of a test in a test file.
var testHead = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// ownTests returns the tests of x.go: those in x_test.go and in x_…_test.go. They take a fraction
// of the time of all, and kill most mutants.
func ownTests(root, name string) []string {
	var models, others []string
	stem := filepath.Join(root, filepath.FromSlash(strings.TrimSuffix(name, ".go")))
	for _, pattern := range []string{"_test.go", "_*_test.go"} {
		files, _ := filepath.Glob(stem + pattern) // The only error is that of a bad pattern.
		for _, f := range files {
			text, _ := os.ReadFile(f) // A file that cannot be read is missed when it is compiled.
			for _, head := range testHead.FindAllSubmatch(text, -1) {
				if name := string(head[1]); strings.HasPrefix(name, "TestModel") {
					models = append(models, name)
				} else {
					others = append(others, name)
				}
			}
		}
	}
	var tests []string
	module, pkg := inModule(root, path.Dir(name))
	add := func(flags string, names []string) {
		if len(names) > 0 {
			tests = append(tests, module+flags+"-short -run ^("+strings.Join(names, "|")+")$ "+pkg)
		}
	}
	add("-tags interleave ", models)
	add("", others)
	add("-race ", others)
	return tests
}

// testsOfFolder returns the tests that judge the mutants of a folder. The model finds what needs an
// unlikely interleaving. The tests find what is wrong in any interleaving, or too slow. The model
// under the race detector finds what is not protected. What all locks stand on is judged by the
// locks' tests, too, and what a fleet stands on by its simulator and by real clusters.
func testsOfFolder(root, dir string) []string {
	switch dir {
	case "internal/engine", "internal/waiting", "waiter":
		return []string{
			"-tags interleave -run Model -short ./internal/engine",
			"-short ./internal/engine ./internal/waiting ./waiter",
			"-tags interleave -run Model -short ./internal/waiting ./waiter ./sync/... ./twa",
			"-short ./sync/... ./twa",
			"-race -tags interleave -run Model/(future|waiting|lock/2x1|cancel)|ModelWaits -short " +
				"./internal/engine ./internal/waiting ./waiter",
		}
	case "internal/parking", "internal/parking/twobit":
		return []string{
			"-tags interleave -run Model -short ./internal/parking/... ./sync/mutex",
			"-short ./internal/parking/... ./sync/mutex",
			"-tags interleave -run Model -short ./twa ./sync ./sync/capacitor ./sync/semaphore",
			"-short ./twa ./sync ./sync/capacitor",
			"-tags interleave -run ModelBit ./sync/mutex",
			"./sync",
			"-race -short ./internal/parking/... ./sync/mutex ./twa",
			"-race -tags interleave -run ModelTable|ModelBits|ModelArray -short ./internal/parking ./sync/mutex ./twa",
		}
	case "runtime":
		return []string{
			"-short ./runtime",
			"-tags interleave -run Model -short ./runtime",
			"-race -short ./runtime",
		}
	case "internal/interleave", "internal/xsync/model":
		return []string{"-short ./internal/interleave"}
	case "fleet/internal/line", "fleet/store":
		return []string{
			"-C fleet -short ./store ./internal/line ./internal/sim",
			"-C fleet ./internal/sim",
		}
	case "fleet/internal/share":
		return []string{
			"-C fleet -short ./internal/share",
			"-C fleet -tags interleave -run Model -short ./internal/share",
			"-C fleet -short .",
		}
	}
	module, pkg := inModule(root, dir)
	tests := []string{
		module + "-tags interleave -run Model -short " + pkg,
		module + "-short " + pkg,
		module + "-race -short " + pkg,
		module + "-race -tags interleave -run Model -short " + pkg,
	}
	if dir == "twa" {
		tests = append(tests,
			"-short -tags faradcheck ./twa",
			"-tags interleave -run TestModelTicketHistories/close/seen ./twa", // tier two
		)
	}
	return tests
}

var defaultTargets = []string{
	"fleet/internal/line",
	"fleet/internal/share",
	"fleet/store",
	"internal/engine",
	"internal/order",
	"internal/parking",
	"internal/parking/twobit",
	"internal/waiting",
	"internal/xsync/sleep",
	"waiter",
	"runtime",
	"sync",
	"sync/capacitor",
	"sync/keyed",
	"sync/mutex",
	"sync/rwlock",
	"sync/semaphore",
	"twa",
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := false, repo.Enter()
	if err == nil {
		ok, err = run(ctx, os.Args[1:], os.Stdout)
	}
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(0)
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

type config struct {
	list          bool
	selected      *regexp.Regexp
	every, offset int
	changed       string
	most          int
	parallel      int
	timeout       time.Duration
	tests         []string
	equivalents   string
	markdown      string
	targets       []string
}

func parse(args []string) (*config, error) {
	c := &config{}
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.BoolVar(&c.list, "list", false, "print the mutants and run nothing")
	run := flags.String("run", "", "only the mutants whose id matches this `regexp`")
	flags.IntVar(&c.every, "every", 1, "only each `n`th of the mutants")
	flags.IntVar(&c.offset, "offset", 0, "with -every: the first one, counted from 0")
	flags.StringVar(&c.changed, "changed", "",
		"only the mutants of functions that differ between this `commit` and the working tree")
	flags.IntVar(&c.most, "max", 0, "at most `n` of the mutants that the other flags choose, evenly spread; 0: all")
	flags.IntVar(&c.parallel, "p", 2, "mutants that run at the same time")
	flags.DurationVar(
		&c.timeout,
		"timeout",
		0,
		"for each command; a mutant on which a test hangs, or a search that no other command judges, "+
			"counts as killed; "+
			"0: 10 s plus three times what it takes on the unchanged tree",
	)
	flags.Func(
		"tests",
		"`arguments` of a go test that is to kill the mutants; may be repeated: the next one is run if one passes "+
			"(default: those of the mutant's file, and those of its folder; of what all locks stand on, also theirs)",
		func(s string) error {
			c.tests = append(c.tests, s)
			return nil
		},
	)
	flags.StringVar(&c.equivalents, "equivalent", "",
		"`file` of mutants that no test can kill: id, tab, reason (default: those of the repository)")
	flags.StringVar(&c.markdown, "md", "", "write the summary to this `file`, in Markdown")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if c.every < 1 || c.offset < 0 || c.offset >= c.every || c.parallel < 1 || c.most < 0 {
		return nil, errors.New("-every and -p start at 1, -offset lies between 0 and -every, -max is not negative")
	}
	var err error
	if c.selected, err = regexp.Compile(*run); err != nil {
		return nil, fmt.Errorf("-run: %w", err)
	}
	c.targets = flags.Args()
	return c, nil
}

// run is the command. It reports whether the mutants that it ran, and the list of equivalents, are
// as they should be.
func run(ctx context.Context, args []string, out io.Writer) (bool, error) {
	c, err := parse(args)
	if err != nil {
		return false, err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return false, err
	}
	if len(c.targets) == 0 {
		for _, dir := range defaultTargets {
			c.targets = append(c.targets, filepath.Join(root, filepath.FromSlash(dir)))
		}
	}
	paths, err := pathsOf(c.targets)
	if err != nil {
		return false, err
	}
	var changed map[string][]repo.Span
	if c.changed != "" {
		if changed, err = repo.ChangedLines(ctx, root, c.changed); err != nil {
			return false, err
		}
		if paths, err = changedFiles(root, paths, changed); err != nil {
			return false, err
		}
	}
	files, err := load(ctx, root, paths)
	if err != nil {
		return false, err
	}
	listed, err := readEquivalents(root, c.equivalents)
	if err != nil {
		return false, err
	}
	var all []*mutant
	for _, f := range files {
		all = append(all, mutantsOf(f)...)
	}
	eligible := all
	if c.changed != "" {
		eligible = inChanged(all, changed)
	}
	chosen := choose(c, eligible)
	if c.list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%s\t%d\t%s\n", m.id, m.line, m.describe())
		}
		gone := stale(listed, root, files, all)
		for _, id := range gone {
			fmt.Fprintf(os.Stderr, "mutate: listed as equivalent, but does not exist any more: %s\n", id)
		}
		return len(gone) == 0, nil
	}

	r := &runner{root: root, limit: c.timeout, tests: func(m *mutant) []string {
		if len(c.tests) > 0 {
			return c.tests
		}
		return testsOf(root, m.file.name)
	}}
	if r.dir, err = os.MkdirTemp("", "mutate"); err != nil {
		return false, err
	}
	defer os.RemoveAll(r.dir)
	if err := r.baseline(ctx, chosen, out); err != nil {
		return false, err
	}
	rep := &report{stale: stale(listed, root, files, all)}
	for i, res := range r.all(ctx, chosen, c.parallel) {
		if res.err != nil {
			return false, fmt.Errorf("%s: %w", res.mutant.id, res.err)
		}
		_, res.listed = listed[res.mutant.id]
		rep.add(res)
		fmt.Fprintf(out, "[%*d/%d] %s\n", len(fmt.Sprint(len(chosen))), i, len(chosen), res)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	fmt.Fprintf(out, "\n%s", rep.markdown())
	if c.markdown != "" {
		if err := os.WriteFile(c.markdown, []byte(rep.markdown()), 0o666); err != nil {
			return false, err
		}
	}
	return rep.ok(), nil
}

// choose applies the flags that select by id and by number.
func choose(c *config, all []*mutant) []*mutant {
	var chosen []*mutant
	i := 0
	for _, m := range all {
		if !c.selected.MatchString(m.id) {
			continue
		}
		if i%c.every == c.offset {
			chosen = append(chosen, m)
		}
		i++
	}
	return spread(chosen, c.most)
}
