// Release rehearses a release: it packs every module that ships as the go command does from a tag,
// serves the packages from files, and installs each of them from outside of the repository.
//
//	go -C tools run ./release            # each module, and what it costs a program
//	go -C tools run ./release -mixed     # besides, versions of modules that differ
//	go -C tools run ./release -examples  # besides, the examples of each module, from its package
//	go -C tools run ./release -docs      # besides, what README.md and the guides show
//	go -C tools run ./release -cold      # besides, how long each build takes from an empty cache
//	go -C tools run ./release -keep      # and leave the proxy and the consumers there
//	go -C tools run ./release -prepare v0.1.0
//
// Each rehearsal also shows that a retraction is seen.
//
// The last makes a release as far as its tags, in a clone: versions in all modules in lock step,
// the section of the changelog, the rehearsal, the notes with its figures, a bill of materials for
// each module, and the commands that tag. It refuses if the tree is dirty, nothing is unreleased in
// the changelog, the API has changed in a way that docs/policy.md does not allow the version, or a
// row of docs/nightly.md is not of this tree; -unchecked passes over the last.
//
// A replacement in a go.mod file counts in the main module only, and the packages of a working tree
// are not those of a tag. So only an installation from outside shows whether one works. Nothing is
// tagged or published. What is packed is the commit HEAD.
//
// Read this file first, then pack.go, consumer.go, docs.go, retract.go, prepare.go and
// sbom.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/farad-go/farad/tools/internal/repo"
)

// options are the flags.
type options struct {
	only                        string
	mixed, examples, docs, cold bool
	keep                        bool
	unchecked                   bool
}

func main() {
	var opt options
	flag.StringVar(&opt.only, "run", "", "only consumers whose name matches `regexp`")
	flag.BoolVar(&opt.mixed, "mixed", false, "install modules of versions that differ, too")
	flag.BoolVar(&opt.examples, "examples", false, "run the examples of each module from its package, too")
	flag.BoolVar(&opt.docs, "docs", false, "compile the code and run the commands of README.md and the guides, too")
	flag.BoolVar(&opt.cold, "cold", false, "measure builds from an empty cache: a minute for each consumer")
	flag.BoolVar(&opt.keep, "keep", false, "leave the folder with the proxy and the consumers, and print its name")
	version := flag.String("prepare", "", "make the release of this `version` as far as its tags")
	flag.BoolVar(&opt.unchecked, "unchecked", false, "prepare whatever the nightly checks have found")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := inFolder(ctx, *version, opt); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// inFolder makes a folder, and rehearses or prepares a release there. What was prepared stays.
func inFolder(ctx context.Context, version string, opt options) (err error) {
	if err := repo.Enter(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "farad-release-")
	if err != nil {
		return err
	}
	if opt.keep {
		fmt.Println(dir)
	}
	defer func() {
		if !opt.keep && (version == "" || err != nil) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	if version != "" {
		return prepare(ctx, version, dir, opt)
	}
	_, err = rehearse(ctx, dir, opt, os.Stdout)
	return err
}

// rehearse installs what the commit HEAD of the working directory would release, in dir. It writes
// the costs to table.
func rehearse(ctx context.Context, dir string, opt options, table io.Writer) (*world, error) {
	only, err := regexp.Compile(opt.only)
	if err != nil {
		return nil, err
	}
	w, err := newWorld(ctx, filepath.Join(dir, "rehearsal"))
	if err != nil {
		return nil, err
	}
	if _, err := run(ctx, ".", "git", "clone", "-q", ".", w.clone); err != nil {
		return nil, err
	}
	version, err := requiredVersion(w.clone, repo.Shipped)
	if err != nil {
		return nil, err
	}
	next := nextPatch(version)
	for _, folder := range repo.Shipped {
		if err := pack(w.proxy, w.clone, folder, version, next); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
	}
	fmt.Printf("packed %d modules as %s, and the same again as %s\n", len(repo.Shipped), version, next)
	used, err := w.output(ctx, w.dir, nil, "go", "version")
	if err != nil {
		return nil, err
	}
	fmt.Printf("consumers use %s\n", used)

	out := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "consumer\tgo.mod\tgo.sum\tvendored lines\tthe explorer's\tbinary, kB\tcold build")
	var failed []string
	installed, shown := 0, map[string]bool{}
	for _, c := range consumers(version, next, opt.mixed) {
		if !only.MatchString(c.name) {
			continue
		}
		began := time.Now()
		o := opt
		o.examples = opt.examples && !shown[strings.Join(c.get, " ")] // once for the same packages
		shown[strings.Join(c.get, " ")] = true
		cost, err := c.install(ctx, w, o)
		if err == nil && c.most != nil {
			err = cost.above(*c.most)
		}
		fmt.Fprintf(os.Stderr, "%s: %.0f s\n", c.name, time.Since(began).Seconds())
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
		return nil, err
	}
	switch {
	case len(failed) > 0:
		return nil, fmt.Errorf("%d of %d failed: %s", len(failed), installed+len(failed), strings.Join(failed, ", "))
	case installed == 0:
		return nil, fmt.Errorf("no consumer has a name that matches %q", opt.only)
	}
	if opt.docs {
		if err := readDocs(ctx, w, version); err != nil {
			return nil, fmt.Errorf("the documents: %w", err)
		}
	}
	if err := retract(ctx, filepath.Join(dir, "retraction"), w.clone, version); err != nil {
		return nil, fmt.Errorf("a retraction: %w", err)
	}
	return w, nil
}

// A world is where consumers are installed: with caches of its own, so that nothing is there that
// was not asked for.
type world struct {
	dir   string
	proxy string // serves the packed modules
	clone string // of what is committed, and no worktree: zip wants a repository
	env   []string
}

func newWorld(ctx context.Context, dir string) (*world, error) {
	w := &world{dir: dir, proxy: filepath.Join(dir, "proxy"), clone: filepath.Join(dir, "clone")}
	if err := os.MkdirAll(w.proxy, 0o755); err != nil {
		return nil, err
	}
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
		// With GONOPROXY=none the go command looks without a proxy first. It finds the root in
		// the cache if another consumer asked for it, and no proxy for a module below it.
		"GOENV=off", "GONOPROXY=", "GOPRIVATE=", "GOSUMDB=off", // the packages are in no database
		"GOMODCACHE="+filepath.Join(dir, "mod"), "GOFLAGS="+goFlags, "GOWORK=off")
	return w, nil
}

// goFlags are the flags of consumers. Without paths in what is compiled, the modules of others are
// compiled once for all rehearsals.
const goFlags = "-modcacherw -trimpath"

func goEnv(ctx context.Context, name string) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", name).Output()
	return strings.TrimSpace(string(out)), err
}
