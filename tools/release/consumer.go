package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/farad-go/farad/tools/internal/repo"
)

//go:embed consumers/*.go.txt
var programs embed.FS

// A consumer is a module outside of the repository, with one program.
type consumer struct {
	name    string
	program string   // a file of the folder consumers
	get     []string // what the go command is asked for
	beside  bool     // it shows what another library costs
	most    *cost    // more is a fault; nil: it may cost anything
}

// locksCost bounds what a program pays that uses only the locks. docs/policy.md has the reasons.
var locksCost = &cost{mod: 7, sum: 6, vendored: 8_000, binary: 1_885_000}

// consumers returns all of them.
func consumers(version, next string, mixed bool) []consumer {
	own := func(folder, v string) string { return pathOf(folder) + "@" + v }
	all := []consumer{
		{name: "sync", program: "std", beside: true},
		{name: "channel and context", program: "context", beside: true},
		{name: "x/sync/semaphore", program: "xsync", get: []string{"golang.org/x/sync@latest"}, beside: true},
		{name: "ants", program: "ants", get: []string{"github.com/panjf2000/ants/v2@latest"}, beside: true},
		{name: "farad/sync", program: "dropin", get: []string{own(".", version)}, most: locksCost},
		{name: "farad/sync/semaphore", program: "semaphore", get: []string{own(".", version)}},
		{name: "farad/runtime", program: "tasks", get: []string{own(".", version)}},
		{name: "farad/runtime/antspool", program: "antspool", get: []string{own(".", version)}},
		{name: "farad/observe", program: "observe", get: []string{own(".", version)}},
		{name: "farad/limit/httplimit", program: "httplimit", get: []string{own(".", version)}},
		{name: "farad/limit/grpclimit", program: "grpclimit", get: []string{own("limit/grpclimit", version)}},
		{name: "farad/observe/otel", program: "otel", get: []string{own("observe/otel", version)}},
		{name: "farad/observe/prometheus", program: "prometheus", get: []string{own("observe/prometheus", version)}},
		{name: "clientv3", program: "etcd", get: []string{"go.etcd.io/etcd/client/v3@latest"}, beside: true},
		{name: "farad/fleet", program: "fleet", get: []string{own("fleet", version)}},
		{name: "farad/fleet/etcd", program: "fleetetcd", get: []string{own("fleet/etcd", version)}},
		{name: "farad/fleet/postgres", program: "fleetpostgres", get: []string{own("fleet/postgres", version)}},
		{
			name: "farad/fleet/fence/grpcfence", program: "grpcfence",
			get: []string{own("fleet/fence/grpcfence", version)},
		},
		{name: "farad/vet", program: "vet", get: []string{own("vet", version)}},
		{name: "farad/fleet/embedded", program: "embedded", get: []string{own("fleet/embedded", version)}},
	}
	if !mixed {
		return all
	}
	for _, c := range all {
		if c.beside || c.get[0] == own(".", version) { // the root alone mixes with nothing
			continue
		}
		folder := strings.TrimPrefix(strings.TrimSuffix(c.get[0], "@"+version), repo.Module+"/")
		newer, older := c, c
		newer.name, newer.get = c.name+", newer root", []string{own(".", next), own(folder, version)}
		older.name, older.get = c.name+", newer than the root", []string{own(".", version), own(folder, next)}
		all = append(all, newer, older)
	}
	return all
}

// A cost is what a consumer pays.
type cost struct {
	mod, sum int // lines
	vendored int // lines of Go of our modules
	explorer int // of these, those of the explorer, which no program compiles
	binary   int64
	build    time.Duration // from an empty cache that has the standard library; 0: not measured
}

func (c cost) String() string {
	s := fmt.Sprintf("%d\t%d\t%d\t%d\t%d", c.mod, c.sum, c.vendored, c.explorer, c.binary/1000)
	if c.build > 0 {
		s += fmt.Sprintf("\t%.1f s", c.build.Seconds())
	}
	return s
}

// above returns an error if c is more than most.
func (c cost) above(most cost) error {
	if c.mod > most.mod || c.sum > most.sum || c.vendored > most.vendored || c.explorer > most.explorer ||
		c.binary > most.binary {
		return fmt.Errorf("it costs %+v: more than %+v", c, most)
	}
	return nil
}

// install makes the consumer, builds it in both ways, and runs it.
func (c consumer) install(ctx context.Context, w *world, opt options) (paid cost, err error) {
	dir, err := w.folder(ctx, c.program, c.get...)
	if err != nil {
		return paid, err
	}
	run := func(env []string, command ...string) error { return w.run(ctx, dir, env, command...) }
	for _, s := range [][]string{{"go", "mod", "tidy"}, {"go", "vet", "./..."}} {
		if err := run(nil, s...); err != nil {
			return paid, err
		}
	}
	if paid.build, err = c.build(run, dir, opt.cold); err != nil {
		return paid, err
	}
	if err := run(nil, filepath.Join(dir, "program")); err != nil {
		return paid, err
	}
	if info, err := os.Stat(filepath.Join(dir, "program")); err == nil {
		paid.binary = info.Size()
	}
	paid.mod, paid.sum = lines(filepath.Join(dir, "go.mod")), lines(filepath.Join(dir, "go.sum"))
	if err := run(nil, "go", "mod", "vendor"); err != nil {
		return paid, err
	}
	vendored := []string{"GOFLAGS=" + goFlags + " -mod=vendor"}
	for _, s := range [][]string{
		{"go", "vet", "./..."}, {"go", "build", "-o", "vendored", "."}, {filepath.Join(dir, "vendored")},
	} {
		if err := run(vendored, s...); err != nil {
			return paid, err
		}
	}
	ours := filepath.Join(dir, "vendor", filepath.FromSlash(repo.Module))
	if paid.vendored, err = linesOfGo(ours); err != nil {
		return paid, err
	}
	if paid.explorer, err = linesOfGo(filepath.Join(ours, "internal", "interleave")); err != nil {
		return paid, err
	}
	if !opt.examples || c.beside {
		return paid, nil
	}
	if err := os.RemoveAll(filepath.Join(dir, "vendor")); err != nil {
		return paid, err
	}
	for _, get := range c.get {
		module, version, _ := strings.Cut(get, "@")
		if err := run(nil, "go", "get", "-t", module+"/...@"+version); err != nil {
			return paid, err
		}
		if err := run(nil, "go", "test", "-short", "-run", "^Example", module+"/..."); err != nil {
			return paid, err
		}
	}
	return paid, nil
}

// build builds the program. If cold is true, it returns how long that takes from an empty cache
// that has the standard library.
func (c consumer) build(run func(env []string, command ...string) error, dir string, cold bool) (time.Duration, error) {
	var env []string
	if cold {
		cache := filepath.Join(dir, "cache")
		defer os.RemoveAll(cache)
		env = []string{"GOCACHE=" + cache}
		if err := run(env, "go", "build", "std"); err != nil { // what every program pays
			return 0, err
		}
	}
	began := time.Now()
	err := run(env, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", "program", ".")
	if !cold {
		return 0, err
	}
	return time.Since(began), err
}

// run runs a command in a folder of the world. Its output belongs to the error.
func (w *world) run(ctx context.Context, dir string, env []string, command ...string) error {
	_, err := w.output(ctx, dir, env, command...)
	return err
}

// output runs a command in a folder of the world, and returns its output.
func (w *world) output(ctx context.Context, dir string, env []string, command ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(slices.Clip(w.env), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, out.Bytes())
	}
	return out.String(), nil
}

// folder makes a module outside of the repository, with a program if it has a name, and gets the
// modules by the go command.
func (w *world) folder(ctx context.Context, program string, get ...string) (dir string, err error) {
	dir, err = os.MkdirTemp(w.dir, "consumer-")
	if err != nil {
		return "", err
	}
	if program != "" {
		text, err := programs.ReadFile("consumers/" + program + ".go.txt")
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, "main.go"), text, 0o600); err != nil {
			return "", err
		}
	}
	if err := w.run(ctx, dir, nil, "go", "mod", "init", "example.com/consumer"); err != nil || len(get) == 0 {
		return dir, err
	}
	return dir, w.run(ctx, dir, nil, append([]string{"go", "get"}, get...)...)
}

// lines returns how many lines a file has, 0 if there is none.
func lines(name string) int {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	return bytes.Count(text, []byte("\n"))
}

// linesOfGo returns how many lines the Go files below a folder have.
func linesOfGo(folder string) (n int, err error) {
	err = filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case !d.IsDir() && filepath.Ext(name) == ".go":
			n += lines(name)
		}
		return nil
	})
	return n, err
}
