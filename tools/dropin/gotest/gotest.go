// Package gotest runs the tests of packages and returns the outcome of each.
package gotest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// A Result is the outcome of the tests of some packages.
type Result struct {
	Packages int                 // with tests, or that do not compile
	Passed   map[string]bool     // by the keys of the tests
	Failed   map[string]Failure  // by their keys
	Output   map[string][]string // what each package and its tests printed, by lines
	Seconds  float64             // in which tests ran, added up over the packages
}

// A Failure is a test that failed, or a package.
type Failure struct {
	Package string
	Test    string // without a subtest; or Build or Exit
	Reason  string // a line of what it printed
	Hung    bool   // the time was up
}

// What fails if no test does.
const (
	Build = "(build)" // the package or its tests do not compile
	Exit  = "(exit)"  // all tests passed, and the program failed
)

// Key names what failed.
func (f Failure) Key() string { return key(f.Package, f.Test) }

func key(pkg, test string) string { return pkg + " " + test }

// An event is a line of go test -json: see go doc test2json.
type event struct {
	Action      string
	Package     string
	ImportPath  string // of what is built, with the package that it is built for in brackets
	Test        string
	Elapsed     float64
	Output      string
	FailedBuild string // an ImportPath
}

// Run runs go test with further arguments in a folder. What fails is in the result, not in the
// error.
func Run(folder string, env []string, args ...string) (Result, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{}, err
	}
	r, parseErr := parse(&stdout)
	switch {
	case parseErr != nil:
		err = parseErr
	case err == nil || len(r.Failed) > 0:
		return r, nil
	}
	return r, fmt.Errorf("%s: %w\n%s", cmd, err, stderr.Bytes())
}

// parse reads the output of go test -json.
func parse(in io.Reader) (Result, error) {
	p := parser{
		Result:  Result{Passed: map[string]bool{}, Failed: map[string]Failure{}, Output: map[string][]string{}},
		said:    map[string][]string{},
		running: map[string]map[string]bool{},
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 || lines.Bytes()[0] != '{' {
			continue // of the go command: what it downloads
		}
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return p.Result, fmt.Errorf("%w in %q", err, lines.Bytes())
		}
		p.add(e)
	}
	return p.Result, lines.Err()
}

type parser struct {
	Result
	said    map[string][]string        // the lines that packages, their tests and builds printed
	running map[string]map[string]bool // the tests that have begun, by package
}

func (p *parser) add(e event) {
	k := key(e.Package, e.Test)
	test, _, sub := strings.Cut(e.Test, "/")
	switch e.Action {
	case "build-output":
		p.said[e.ImportPath] = append(p.said[e.ImportPath], e.Output)
		return
	case "output":
		k = key(e.Package, test) // with what its subtests print
		p.said[k] = append(p.said[k], e.Output)
		p.Output[e.Package] = append(p.Output[e.Package], e.Output)
		return
	case "build-fail":
		return // its packages fail
	case "start":
		p.running[e.Package] = map[string]bool{}
		return
	}
	switch {
	case test == "":
		p.end(e)
	case sub: // its test passes or fails as well
	case e.Action == "run":
		p.running[e.Package][test] = true
	case e.Action == "pass":
		p.Passed[k] = true
		delete(p.running[e.Package], test)
	case e.Action == "skip":
		delete(p.running[e.Package], test)
	case e.Action == "fail":
		p.fail(e.Package, test, p.said[k])
		delete(p.running[e.Package], test)
	}
}

// end adds a package that has come to its end.
func (p *parser) end(e event) {
	p.Seconds += e.Elapsed
	if e.Action != "skip" { // a package without tests
		p.Packages++
	}
	if e.Action != "fail" {
		return
	}
	if e.FailedBuild != "" {
		p.fail(e.Package, Build, p.said[e.FailedBuild])
		return
	}
	for test := range p.running[e.Package] { // when the program ended
		p.fail(e.Package, test, p.said[key(e.Package, test)])
	}
	if !p.failedIn(e.Package) {
		p.fail(e.Package, Exit, p.said[key(e.Package, "")])
	}
}

func (p *parser) failedIn(pkg string) bool {
	for _, f := range p.Failed {
		if f.Package == pkg {
			return true
		}
	}
	return false
}

func (p *parser) fail(pkg, test string, lines []string) {
	f := Failure{Package: pkg, Test: test, Reason: reason(lines)}
	f.Hung = strings.HasPrefix(f.Reason, "panic: test timed out")
	p.Failed[f.Key()] = f
}

// decisive are the beginnings of lines that explain more than any line before them.
var decisive = []string{"panic: ", "fatal error: ", "WARNING: DATA RACE"}

// idle are the beginnings of lines that explain nothing.
var idle = []string{"=== ", "--- ", "# ", "package ", "FAIL", "PASS", "===", "Error Trace:"}

// place is all of a line if the message is in the next.
var place = regexp.MustCompile(`^\S+\.go:\d+:$`)

// reason returns the line that best explains a failure.
func reason(lines []string) string {
	first := ""
	for _, line := range lines {
		line = strings.TrimSpace(line)
		begins := func(with string) bool { return strings.HasPrefix(line, with) }
		if slices.ContainsFunc(decisive, begins) {
			return line
		}
		if first == "" && !place.MatchString(line) && !slices.ContainsFunc(idle, begins) {
			first = line
		}
	}
	return first
}
