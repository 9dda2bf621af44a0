package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
)

// What is fetched, and what is exchanged in it.
const (
	puddle    = "github.com/jackc/puddle/v2@v2.2.3"
	theirPath = "golang.org/x/sync/semaphore"
	ourModule = "github.com/farad-go/farad"
	ourPath   = ourModule + "/sync/semaphore"
)

// The names of what is built.
const (
	testBinary = "puddle.test"
	program    = "program"
)

// programSource is the benchmark in a user's program.
//
//go:embed program.txt
var programSource []byte

// build makes two modules in the folder and returns where what it has built of each is.
func build(folder, tags string) (theirs, ours string, err error) {
	source, err := download(folder)
	if err != nil {
		return "", "", err
	}
	root, err := command(".", "go", "list", "-m", "-f", "{{.Dir}}", ourModule)
	if err != nil {
		return "", "", err
	}
	theirs, err = module(filepath.Join(folder, "theirs"), source, tags, nil)
	if err != nil {
		return "", "", err
	}
	ours, err = module(filepath.Join(folder, "ours"), source, tags, []string{
		"-require=" + ourModule + "@v0.0.0", "-replace=" + ourModule + "=" + strings.TrimSpace(root),
	})
	return theirs, ours, err
}

// download fetches puddle by the go command and returns where it is.
func download(folder string) (string, error) {
	text, err := command(folder, "go", "mod", "download", "-json", puddle)
	if err != nil {
		return "", err
	}
	var where struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &where); err != nil {
		return "", err
	}
	return where.Dir, nil
}

// module copies puddle into the folder, and builds its tests and the program: with our semaphore if
// there are edits of go.mod. Both modules have the same Go and the same golang.org/x/sync.
func module(folder, source, tags string, edits []string) (string, error) {
	if err := os.CopyFS(folder, os.DirFS(source)); err != nil {
		return "", err
	}
	if edits != nil {
		n, err := exchange(folder)
		if err != nil {
			return "", err
		}
		if n == 0 {
			return "", errors.New("puddle no longer imports " + theirPath)
		}
	}
	main := filepath.Join(folder, "internal", program)
	if err := os.MkdirAll(main, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(main, "main.go"), programSource, 0o600); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		append([]string{"mod", "edit", "-go=" + goVersion()}, edits...),
		{"mod", "edit", "-require=" + xsync()},
		{"mod", "tidy"},
		{"test", "-c", "-tags", tags, "-o", testBinary, "."},
		{"build", "-tags", tags, "-o", program, "./internal/" + program},
	} {
		if _, err := command(folder, "go", args...); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// exchange has the Go files of a folder import our semaphore, and returns how many did theirs.
func exchange(folder string) (n int, err error) {
	err = filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed := bytes.ReplaceAll(text, []byte(`"`+theirPath+`"`), []byte(`"`+ourPath+`"`))
		if bytes.Equal(text, changed) {
			return nil
		}
		n++
		return os.WriteFile(path, changed, 0o644)
	})
	return n, err
}

// command runs a command in a folder and returns what it prints.
func command(folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Dir = folder
	// The modules are complete by themselves, and the tidy one may not be what the flags say.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, stderr.Bytes())
	}
	return stdout.String(), nil
}

// xsync is the golang.org/x/sync of this program, as module@version.
func xsync() string {
	const path = "golang.org/x/sync"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return path + "@" + m.Version
			}
		}
	}
	return path + "@latest"
}

// goVersion is the language version of both modules.
func goVersion() string { return "1.26.0" }
