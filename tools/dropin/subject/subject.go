// Package subject makes folders with modules of others, in which their tests can run.
package subject

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Env is the environment of the go command in these folders. Each is a module by itself, and what
// go.mod lacks, after a module was added, the go command adds.
func Env() []string { return []string{"GOFLAGS=-mod=mod", "GOWORK=off"} }

// Module copies a module of the module cache, where the go command puts it, into a new folder, and
// has it require the module in the folder root.
func Module(folder, path, version, root, rootPath string) error {
	text, err := Run(".", "go", "mod", "download", "-json", path+"@"+version)
	if err != nil {
		return err
	}
	var where struct{ Dir string }
	if err := json.Unmarshal(text, &where); err != nil {
		return err
	}
	if err := os.CopyFS(folder, os.DirFS(where.Dir)); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "go.mod")); errors.Is(err, os.ErrNotExist) {
		if _, err := Run(folder, "go", "mod", "init", path); err != nil {
			return err
		}
	}
	if err := dropLocal(folder); err != nil {
		return err
	}
	return requireOurs(folder, root, rootPath)
}

// dropLocal removes those replacements from go.mod that lead into folders next to the module: they
// are not part of it.
func dropLocal(folder string) error {
	text, err := Run(folder, "go", "mod", "edit", "-json")
	if err != nil {
		return err
	}
	var mod struct {
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(text, &mod); err != nil {
		return err
	}
	for _, r := range mod.Replace {
		if r.New.Version != "" {
			continue
		}
		old := strings.TrimSuffix(r.Old.Path+"@"+r.Old.Version, "@")
		if _, err := Run(folder, "go", "mod", "edit", "-dropreplace="+old); err != nil {
			return err
		}
	}
	return nil
}

// requireOurs has the module in a folder require the module in root.
func requireOurs(folder, root, rootPath string) error {
	_, err := Run(folder, "go", "mod", "edit", "-require="+rootPath+"@v0.0.0", "-replace="+rootPath+"="+root)
	return err
}

// Run runs a command in a folder and returns what it prints.
func Run(folder, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), Env()...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s%s", cmd, err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes(), nil
}
