package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/zip"

	"github.com/farad-go/farad/tools/internal/repo"
)

// pathOf returns the path of the module in a folder.
func pathOf(folder string) string { return path.Join(repo.Module, folder) }

// isOwn reports whether a module is one of this repository.
func isOwn(module string) bool {
	return module == repo.Module || strings.HasPrefix(module, repo.Module+"/")
}

// readMod reads a go.mod file.
func readMod(name string) (*modfile.File, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return modfile.Parse(name, text, nil)
}

// requiredVersion returns the version of this repository's modules that the modules in the folders
// below root require of each other. All are released together, so there is one.
func requiredVersion(root string, folders []string) (version string, err error) {
	for _, folder := range folders {
		name := filepath.Join(root, folder, "go.mod")
		f, err := readMod(name)
		if err != nil {
			return "", err
		}
		if f.Module.Mod.Path != pathOf(folder) {
			return "", fmt.Errorf("%s is of the module %s", name, f.Module.Mod.Path)
		}
		for _, r := range f.Require {
			switch {
			case !isOwn(r.Mod.Path):
			case version == "":
				version = r.Mod.Version
			case r.Mod.Version != version:
				return "", fmt.Errorf("%s requires %s, others require %s", name, r.Mod, version)
			}
		}
	}
	if !semver.IsValid(version) || version == "v0.0.0" {
		return "", fmt.Errorf("the modules require %q of each other, which will not exist", version)
	}
	return version, nil
}

// nextPatch returns the version after v that promises the same API.
func nextPatch(v string) string {
	var major, minor, patch int
	_, _ = fmt.Sscanf(v, "v%d.%d.%d", &major, &minor, &patch) // requiredVersion has checked it
	return fmt.Sprintf("v%d.%d.%d", major, minor, patch+1)
}

// pack adds the module in a folder of the clone at root to a folder that the go command takes for a
// proxy, as each of the versions.
func pack(proxy, root, folder string, versions ...string) error {
	escaped, err := module.EscapePath(pathOf(folder))
	if err != nil {
		return err
	}
	dir := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
	if err != nil {
		return err
	}
	for _, version := range versions {
		if err := packVersion(filepath.Join(dir, version), root, folder, version, mod); err != nil {
			return err
		}
	}
	list, err := os.OpenFile(filepath.Join(dir, "list"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = list.WriteString(strings.Join(versions, "\n") + "\n")
	return errors.Join(err, list.Close())
}

func packVersion(name, root, folder, version string, mod []byte) (err error) {
	info := fmt.Sprintf("{\"Version\":%q,\"Time\":%q}\n", version, time.Now().UTC().Format(time.RFC3339))
	if err := os.WriteFile(name+".info", []byte(info), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(name+".mod", mod, 0o644); err != nil {
		return err
	}
	f, err := os.Create(name + ".zip")
	if err != nil {
		return err
	}
	subdir := folder
	if subdir == "." {
		subdir = ""
	}
	err = zip.CreateFromVCS(f, module.Version{Path: pathOf(folder), Version: version}, root, "HEAD", subdir)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
