package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/farad-go/farad/tools/internal/repo"
)

const changelog = "CHANGELOG.md"

// prepare makes a release up to its tags, in a clone below dir: the commit to tag, and the notes.
// It changes nothing in the repository.
func prepare(ctx context.Context, version, dir string, opt options) error {
	previous, err := mayPrepare(ctx, version, opt)
	if err != nil {
		return fmt.Errorf("no release: %w", err)
	}
	clone := filepath.Join(dir, "release")
	if _, err := run(ctx, ".", "git", "clone", "-q", ".", clone); err != nil {
		return err
	}
	if err := os.Chdir(clone); err != nil {
		return err
	}
	if err := setVersion(ctx, version); err != nil {
		return err
	}
	text, err := os.ReadFile(changelog)
	if err != nil {
		return err
	}
	log, section, err := closeSection(string(text), version, time.Now())
	if err != nil {
		return err
	}
	if err := os.WriteFile(changelog, []byte(log), 0o644); err != nil {
		return err
	}
	if _, err := run(ctx, ".", "git", "commit", "-q", "-a", "-m", "release "+version); err != nil {
		return err
	}

	var costs strings.Builder
	w, err := rehearse(ctx, dir, opt, io.MultiWriter(os.Stdout, &costs))
	if err != nil {
		return err
	}
	for _, folder := range repo.Shipped {
		name := filepath.Join(dir, strings.TrimSuffix(filepath.Base(repo.APIFile(folder)), ".txt")+".cdx.json")
		if err := writeSBOM(ctx, w, pathOf(folder), version, name); err != nil {
			return fmt.Errorf("bill of materials of %s: %w", folder, err)
		}
	}
	notes := filepath.Join(dir, "notes.md")
	if err := os.WriteFile(notes, []byte(notesOf(version, previous, section, costs.String())), 0o644); err != nil {
		return err
	}
	fmt.Printf("\n%s has the notes, a bill of materials for each module, and the commit in release.\n", dir)
	fmt.Printf("Nothing is tagged. Once the commit is on main, in this order:\n\n")
	for _, tag := range tags(version) {
		fmt.Printf("git tag -a -m %s %s\n", tag, tag)
	}
	fmt.Printf("git push --atomic origin %s\n", strings.Join(tags(version), " "))
	return nil
}

// tags returns the tags to set, in order: a module comes after those that it requires.
func tags(version string) []string {
	var all []string
	for _, folder := range repo.Shipped {
		all = append(all, path.Join(folder, version))
	}
	return all
}

// mayPrepare returns the previous version, "" if there is none. With an error the version must not
// be released from what the working tree holds.
func mayPrepare(ctx context.Context, version string, opt options) (previous string, err error) {
	switch m := semver.Major(version); {
	case semver.Canonical(version) != version:
		return "", fmt.Errorf("%q is no version like v0.1.0", version)
	case m != "v0" && m != "v1":
		return "", fmt.Errorf("%s needs modules whose paths end in %s", version, m)
	}
	if dirty, err := run(ctx, ".", "git", "status", "--porcelain"); err != nil || dirty != "" {
		return "", cmp.Or(err, fmt.Errorf("the tree is dirty:\n%s", dirty))
	}
	if text, err := os.ReadFile(changelog); err != nil {
		return "", err
	} else if _, _, err := closeSection(string(text), version, time.Now()); err != nil {
		return "", err
	}
	// The files are what the versions are compared by.
	if out, err := run(ctx, "tools", "go", "run", "./api"); err != nil {
		return "", fmt.Errorf("the files of api/ are not those of the tree: %w\n%s", err, out)
	}
	if !opt.unchecked {
		if out, err := run(ctx, ".", "bash", ".ci/run", "fresh"); err != nil {
			return "", fmt.Errorf("a nightly check is red, or was not run on this tree: %w\n%s", err, out)
		}
	}
	list, err := run(ctx, ".", "git", "tag", "--list", "v*")
	if err != nil {
		return "", err
	}
	released := slices.DeleteFunc(strings.Fields(list), func(t string) bool { return !semver.IsValid(t) })
	if len(released) == 0 {
		return "", nil
	}
	previous = slices.MaxFunc(released, semver.Compare)
	var gone, added []string
	for _, folder := range repo.Shipped {
		g, a, err := compareAPI(ctx, previous, repo.APIFile(folder))
		if err != nil {
			return "", err
		}
		gone, added = append(gone, g...), append(added, a...)
	}
	return previous, allows(previous, version, gone, added)
}

// compareAPI compares a file of the API with that of a version.
func compareAPI(ctx context.Context, version, file string) (gone, added []string, err error) {
	// A module that the version did not have yet has no file there.
	listed, err := run(ctx, ".", "git", "ls-tree", "--name-only", version, file)
	if err != nil {
		return nil, nil, err
	}
	before := ""
	if listed != "" {
		if before, err = run(ctx, ".", "git", "show", version+":"+file); err != nil {
			return nil, nil, err
		}
	}
	now, err := os.ReadFile(file)
	gone, added = repo.CompareAPI(before, string(now))
	return gone, added, err
}

// allows returns an error if docs/policy.md does not allow that version follows previous with this
// change of the API.
func allows(previous, version string, gone, added []string) error {
	sameMajor := semver.Major(previous) == semver.Major(version)
	sameMinor := semver.MajorMinor(previous) == semver.MajorMinor(version)
	switch {
	case semver.Compare(version, previous) <= 0:
		return fmt.Errorf("%s does not come after %s", version, previous)
	case sameMajor && semver.Major(version) != "v0" && len(gone) > 0:
		return fmt.Errorf("%s of the API of %s is gone:\n%s", version, previous, strings.Join(gone, "\n"))
	case sameMinor && len(gone)+len(added) > 0:
		return fmt.Errorf("the API has changed since %s, which needs a new minor version:\n%s",
			previous, strings.Join(append(gone, added...), "\n"))
	}
	return nil
}

// setVersion has all modules of the repository require the version of each other.
func setVersion(ctx context.Context, version string) error {
	files, err := run(ctx, ".", "git", "ls-files", "go.mod", "*/go.mod")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(files) {
		f, err := readMod(name)
		if err != nil {
			return err
		}
		for _, r := range f.Require {
			if isOwn(r.Mod.Path) {
				if err := f.AddRequire(r.Mod.Path, version); err != nil {
					return err
				}
			}
		}
		text, err := f.Format()
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// closeSection makes what is unreleased in a changelog the section of the version. What stands
// before the first heading of that is about what is not released, and is left out.
func closeSection(text, version string, day time.Time) (log, section string, err error) {
	const heading = "\n## Unreleased\n"
	before, rest, ok := strings.Cut(text, heading)
	if !ok {
		return "", "", fmt.Errorf("%s has no section Unreleased", changelog)
	}
	section, after := rest, ""
	if i := strings.Index(rest, "\n## "); i >= 0 {
		section, after = rest[:i], rest[i:]
	}
	i := strings.Index(section, "\n### ")
	if i < 0 || !strings.Contains(section[i:], "\n- ") {
		return "", "", fmt.Errorf("the section Unreleased of %s is empty", changelog)
	}
	section = strings.TrimSpace(section[i:])
	log = before + heading + "\n## " + version + " – " + day.Format(time.DateOnly) + "\n\n" + section + "\n" + after
	return log, section, nil
}

// notesOf returns the notes of a release: how to get it, what it costs, and what has changed.
func notesOf(version, previous, changes, costs string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Farad %s\n\n", version)
	for _, folder := range repo.Shipped {
		fmt.Fprintf(&b, "    go get %s@%s\n", pathOf(folder), version)
	}
	b.WriteString("\nAll modules have the same version. docs/policy.md says what it promises, and which Go it needs.\n")
	if previous != "" {
		fmt.Fprintf(&b, "The version before was %s.\n", previous)
	}
	fmt.Fprintf(&b, "\n## What it costs a program\n\n```\n%s\n```\n\n", strings.TrimSpace(costs))
	changes = strings.ReplaceAll(changes, "](docs/", "](../../blob/"+version+"/docs/")
	fmt.Fprintf(&b, "## What has changed\n\n%s\n", changes)
	return b.String()
}

// run returns what a command prints, and its complaints with the error.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, failed.Stderr)
		}
	}
	return string(out), err
}
