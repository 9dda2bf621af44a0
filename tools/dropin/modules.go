package main

import (
	"path/filepath"
	"strings"

	"github.com/farad-go/farad/internal/exchange"
	"github.com/farad-go/farad/tools/dropin/subject"
	"github.com/farad-go/farad/tools/internal/repo"
)

// A swap is what takes the place of what.
type swap struct {
	name    string
	imports exchange.Imports
}

// swaps are tried each for itself.
var swaps = []swap{
	{"sync", exchange.Imports{"sync": repo.Module + "/sync"}},
	{"semaphore", exchange.Imports{"golang.org/x/sync/semaphore": repo.Module + "/sync/semaphore"}},
}

// A module has tests that lean on what is exchanged, and run in about a minute.
type module struct {
	path, version string   // without a version: the standard library's tests of package sync
	packages      []string // patterns for the go command; none: all
	run           string   // a pattern of tests; "": all
	suites        []suite  // the benchmarks that are compared
}

var modules = []module{
	{path: subject.LibraryPath},
	{path: "golang.org/x/sync", version: "v0.24.0"},
	{path: "github.com/jackc/puddle/v2", version: "v2.2.3"},
	{
		path: "github.com/hashicorp/golang-lru/v2", version: "v2.0.7",
		suites: []suite{{".", "."}, {"./expirable", "."}},
	},
	{path: "github.com/patrickmn/go-cache", version: "v2.1.0+incompatible", suites: []suite{{".", "."}}},
	{
		path: "github.com/dgraph-io/ristretto/v2", version: "v2.4.2",
		packages: []string{"."},
		suites:   []suite{{".", "."}},
	},
	{path: "github.com/golang/groupcache", version: "v0.0.0-20241129210726-2c02b8208cf8"},
	{path: "github.com/panjf2000/ants/v2", version: "v2.12.1"},
	{path: "github.com/sourcegraph/conc", version: "v0.3.0"},
	{path: "github.com/alitto/pond/v2", version: "v2.7.1"},
	{path: "github.com/gammazero/workerpool", version: "v1.3.0"},
	{path: "github.com/puzpuzpuz/xsync/v4", version: "v4.5.0", run: "^Test(Counter|Map_|RBMutex)"},
	{path: "github.com/allegro/bigcache/v3", version: "v3.1.0", suites: []suite{{".", "."}}},
	{path: "oras.land/oras-go/v2", version: "v2.7.0"},
	{path: "go.etcd.io/etcd/client/pkg/v3", version: "v3.7.3"},
	{path: "github.com/cockroachdb/pebble", version: "v1.1.5", packages: []string{"./vfs/..."}},
	{
		path: "github.com/nats-io/nats-server/v2", version: "v2.15.2",
		packages: []string{"./server"},
		run:      "^Test(Sublist|IPQueue|MemStore)",
		suites:   []suite{{"./server", "Sublist|IPQueue"}},
	},
}

// make makes a folder with the module, which requires ours in root.
func (m module) make(folder, root string) error {
	if m.version == "" {
		return subject.Library(folder, root, repo.Module)
	}
	return subject.Module(folder, m.path, m.version, root, repo.Module)
}

// has reports whether a package is of the module.
func (m module) has(pkg string) bool {
	return pkg == m.path || strings.HasPrefix(pkg, m.path+"/")
}

func (m module) String() string {
	if m.version == "" {
		return "the standard library's `sync`"
	}
	return "`" + m.path + "@" + m.version + "`"
}

// arguments are the arguments of go test, but for the overlay.
func (m module) arguments(overlay string) []string {
	args := []string{"-race", "-count=1", "-vet=off", "-timeout=4m"}
	if overlay != "" {
		args = append(args, "-overlay="+filepath.ToSlash(overlay))
	}
	if m.run != "" {
		args = append(args, "-run="+m.run)
	}
	return args
}
