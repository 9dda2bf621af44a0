// Command typecheck type-checks all packages of the module and their tests for other platforms:
//
//	go -C tools run ./typecheck linux/arm64 js/wasm
//	go -C tools run ./typecheck -in bench linux/amd64   the module in another folder
//
// It takes seconds where the go command takes a minute for each platform: go build and go vet
// compile the standard library first. The bodies of what is imported are left out. Assembly, and
// what only the linker sees, are checked by group_platforms of .ci/run, which builds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/farad-go/farad/tools/internal/repo"
)

func main() {
	folder := flag.String("in", ".", "the `folder` of the module, from the root")
	flag.Parse()
	ok, err := false, repo.Enter()
	if err == nil {
		ok, err = run(context.Background(), *folder, flag.Args(), os.Stdout)
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(2)
	case !ok:
		os.Exit(1)
	}
}

// run checks the module in root for each of the platforms, and reports whether it is right for all.
func run(ctx context.Context, root string, platforms []string, out io.Writer) (bool, error) {
	if len(platforms) == 0 {
		return false, errors.New("no platform")
	}
	right, seen := true, &files{set: token.NewFileSet()}
	for _, platform := range platforms {
		n, faults, err := check(ctx, root, platform, seen)
		if err != nil {
			return false, fmt.Errorf("%s: %w", platform, err)
		}
		for _, f := range faults {
			fmt.Fprintf(out, "%s: %v\n", platform, f)
		}
		fmt.Fprintf(out, "%s: %d packages and tests, %d faults\n", platform, n, len(faults))
		right = right && len(faults) == 0
	}
	return right, nil
}

// files are those of which no bodies are checked. Most are the same for all platforms.
type files struct {
	set    *token.FileSet
	parsed sync.Map // from names to *ast.File
}

// check returns the number of packages, tests included, and what is wrong with them.
func check(ctx context.Context, root, platform string, seen *files) (n int, faults []error, err error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return 0, nil, errors.New("not GOOS/GOARCH")
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return 0, nil, err
	}
	own := root + string(filepath.Separator)
	config := packages.Config{
		Context: ctx,
		Fset:    seen.set,
		Dir:     root,
		Env:     append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		Tests:   true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedDeps | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo |
			packages.NeedTypesSizes | packages.NeedModule,
	}
	config.ParseFile = func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
		// What the go command writes, the main packages of tests, it keeps under other names.
		if strings.HasPrefix(name, own) || !strings.HasSuffix(name, ".go") {
			return parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		}
		if file, ok := seen.parsed.Load(name); ok {
			return file.(*ast.File), nil
		}
		file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return file, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				f.Body = nil
			}
		}
		seen.parsed.Store(name, file)
		return file, nil
	}
	checked, err := packages.Load(&config, "./...")
	if err != nil {
		return 0, nil, err
	}
	for _, p := range checked {
		for _, fault := range p.Errors {
			faults = append(faults, fault)
		}
	}
	return len(checked), faults, nil
}
