// Release rehearses a release: it packs every module that ships as the go command does from a tag,
// serves the packages from files, and installs each of them from outside of the repository.
//
//	go -C tools run ./release            # each module, and what it costs a program
//	go -C tools run ./release -mixed     # besides, versions of modules that differ
//	go -C tools run ./release -examples  # besides, the examples of each module, from its package
//	go -C tools run ./release -cold      # besides, how long each build takes from an empty cache
//
// A replacement in a go.mod file counts in the main module only, and the packages of a working tree
// are not those of a tag. So only an installation from outside shows whether one works. Nothing is
// tagged or published. What is packed is the commit HEAD.
//
// Read this file first, then pack.go and consumer.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/farad-go/farad/tools/internal/repo"
)

// shipped are the folders of the modules that a release tags, in the order of their tags: a module
// comes after those that it requires.
var shipped = []string{".", "limit/grpclimit", "observe/otel", "observe/prometheus", "fleet", "fleet/embedded"}

// options are the flags.
type options struct {
	only                  string
	mixed, examples, cold bool
}

func main() {
	var opt options
	flag.StringVar(&opt.only, "run", "", "only consumers whose name contains `text`")
	flag.BoolVar(&opt.mixed, "mixed", false, "install modules of versions that differ, too")
	flag.BoolVar(&opt.examples, "examples", false, "run the examples of each module from its package, too")
	flag.BoolVar(&opt.cold, "cold", false, "measure builds from an empty cache: a minute for each consumer")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := rehearse(ctx, opt); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func rehearse(ctx context.Context, opt options) (err error) {
	if err := repo.Enter(); err != nil {
		return err
	}
	version, err := requiredVersion(shipped)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "farad-release-")
	if err != nil {
		return err
	}
	w, err := newWorld(ctx, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	clone := filepath.Join(dir, "clone") // of what is committed, and no worktree: zip wants a repository
	if out, err := exec.CommandContext(ctx, "git", "clone", "-q", ".", clone).CombinedOutput(); err != nil {
		return fmt.Errorf("git clone: %w\n%s", err, out)
	}
	next := nextPatch(version)
	for _, folder := range shipped {
		if err := pack(w.proxy, clone, folder, version, next); err != nil {
			return fmt.Errorf("%s: %w", folder, err)
		}
	}
	fmt.Printf("packed %d modules as %s, and the same again as %s\n\n", len(shipped), version, next)

	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "consumer\tgo.mod\tgo.sum\tvendored lines\tbinary, kB\tcold build")
	var failed []string
	installed := 0
	for _, c := range consumers(version, next, opt.mixed) {
		if !strings.Contains(c.name, opt.only) {
			continue
		}
		cost, err := c.install(ctx, w, opt)
		if err != nil {
			failed = append(failed, c.name)
			fmt.Fprintf(out, "%s\tFAILED\n", c.name)
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, err)
			continue
		}
		installed++
		fmt.Fprintf(out, "%s\t%s\n", c.name, cost)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	switch {
	case len(failed) > 0:
		return fmt.Errorf("%d of %d failed: %s", len(failed), installed+len(failed), strings.Join(failed, ", "))
	case installed == 0:
		return fmt.Errorf("no consumer has %q in its name", opt.only)
	}
	return nil
}

// A world is where consumers are installed: with caches of its own, so that nothing is there that
// was not asked for.
type world struct {
	dir   string
	proxy string // serves the packed modules
	env   []string
}

func newWorld(ctx context.Context, dir string) (*world, error) {
	w := &world{dir: dir, proxy: filepath.Join(dir, "proxy")}
	known, err := goEnv(ctx, "GOMODCACHE")
	if err != nil {
		return nil, err
	}
	others, err := goEnv(ctx, "GOPROXY")
	if err != nil {
		return nil, err
	}
	// What this machine has downloaded already is served from there.
	downloaded := "file://" + filepath.ToSlash(known) + "/cache/download"
	proxies := []string{"file://" + filepath.ToSlash(w.proxy), downloaded, others}
	w.env = append(os.Environ(),
		"GOPROXY="+strings.Join(proxies, ","),
		"GONOPROXY=none", "GOPRIVATE=", "GOSUMDB=off", // the packages are in no database
		"GOMODCACHE="+filepath.Join(dir, "mod"), "GOFLAGS=-modcacherw", "GOWORK=off")
	return w, nil
}

func goEnv(ctx context.Context, name string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", name).Output()
	return strings.TrimSpace(string(out)), err
}
