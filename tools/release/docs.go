package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/farad-go/farad/internal/snippets"
)

// readDocs does what README.md and the guides say, with the packed modules: it compiles each block
// of Go as a package of a consumer, and runs the commands that need no clone.
func readDocs(ctx context.Context, w *world, version string) error {
	for _, s := range []struct {
		set *snippets.Set
		get []string
	}{
		{snippets.Locks, []string{pathOf(".")}},
		{snippets.Fleet, []string{
			pathOf("fleet"), pathOf("fleet/embedded"), pathOf("fleet/fence/grpcfence"), pathOf("observe"),
		}},
	} {
		for i := range s.get {
			s.get[i] += "/...@" + version
		}
		blocks, err := s.set.Blocks(w.clone)
		if err != nil {
			return err
		}
		if err := w.compileBlocks(ctx, s.set, blocks, s.get); err != nil {
			return err
		}
		fmt.Printf("documents: %d blocks compile with %s\n", len(blocks), strings.Join(s.get, ", "))
	}
	names, err := filepath.Glob(filepath.Join(w.clone, "docs", "guides", "*.md"))
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for _, name := range append(names, filepath.Join(w.clone, "README.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		texts[filepath.Base(name)] = string(text)
	}
	if err := w.migrate(ctx, texts["migrating.md"]); err != nil {
		return fmt.Errorf("migrating.md: %w", err)
	}
	fmt.Println("documents: the script of migrating.md changes a module, which runs")
	return w.runExamples(ctx, texts, version)
}

// compileBlocks writes each block into a package of a consumer, and vets and builds all of them.
func (w *world) compileBlocks(ctx context.Context, set *snippets.Set, blocks []snippets.Block, get []string) error {
	dir, err := w.folder(ctx, "", get...)
	if err != nil {
		return err
	}
	compiler, err := set.Compiler(ctx, dir, w.env)
	if err != nil {
		return err
	}
	for i, b := range blocks {
		source, err := compiler.Compile(b.Text)
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", b.File, err, b.Text)
		}
		name := filepath.Join(dir, fmt.Sprintf("block%d", i))
		header := fmt.Sprintf("// Of %s.\n", b.File)
		if err := os.Mkdir(name, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(name, "block.go"), append([]byte(header), source...), 0o600); err != nil {
			return err
		}
	}
	for _, command := range []string{"vet", "build"} {
		if err := w.run(ctx, dir, nil, "go", command, "./..."); err != nil {
			return err
		}
	}
	return nil
}

var (
	example = regexp.MustCompile("(?m)(?:^    |`)go run \\./examples/(\\w+)([^`\\n]*)")
	script  = regexp.MustCompile("(?s)```sh\n(.*?)```")
)

// runExamples runs the programs that the documents run from a clone, from the package of the root.
func (w *world) runExamples(ctx context.Context, texts map[string]string, version string) error {
	dir, err := w.folder(ctx, "", pathOf(".")+"/...@"+version)
	if err != nil {
		return err
	}
	done := map[string]bool{}
	for name, text := range texts {
		for _, m := range example.FindAllStringSubmatch(text, -1) {
			if done[m[0]] {
				continue
			}
			done[m[0]] = true
			program := filepath.Join(dir, m[1])
			if err := w.run(ctx, dir, nil, "go", "build", "-o", program, pathOf("examples/"+m[1])); err != nil {
				return err
			}
			command := append([]string{program}, strings.Fields(m[2])...)
			if m[1] == "incident" {
				err = w.serve(ctx, dir, append(command, "-port", "0")...)
			} else {
				err = w.run(ctx, dir, nil, command...)
			}
			if err != nil {
				return fmt.Errorf("%s: %s: %w", name, m[0], err)
			}
			fmt.Printf("documents: examples/%s runs, of %s\n", m[1], name)
		}
	}
	return nil
}

// serve starts a program that serves until it is stopped, and stops it when it has printed its
// address.
func (w *world) serve(ctx context.Context, dir string, command ...string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, w.env
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	cancel()
	_ = cmd.Wait() // it was killed
	if err == nil && !strings.Contains(line, "http://") {
		err = fmt.Errorf("%s prints %q, and not where it serves", command[0], line)
	}
	return err
}

// migrate runs the script of the guide that changes the import of a whole module.
func (w *world) migrate(ctx context.Context, guide string) error {
	m := script.FindStringSubmatch(guide)
	if m == nil {
		return errors.New("the guide has no script")
	}
	dir, err := w.folder(ctx, "std")
	if err != nil {
		return err
	}
	for _, command := range [][]string{
		{"git", "init", "-q"}, {"git", "add", "."}, {"sh", "-e", "-c", m[1]}, {"go", "run", "."},
	} {
		if err := w.run(ctx, dir, nil, command...); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err == nil && !strings.Contains(string(text), `"`+pathOf("sync")+`"`) {
		err = fmt.Errorf("the script leaves the import as it was:\n%s", text)
	}
	return err
}
