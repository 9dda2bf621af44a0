package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// reason is what users of the retracted version read.
const reason = "an exercise: this version is not broken"

// retract publishes a version of the root to one consumer, and then the next one, which retracts
// it, as docs/policy.md says. It shows that the go command warns of the first and takes the second.
// The clone gets a commit.
func retract(ctx context.Context, dir, clone, version string) error {
	w, err := newWorld(ctx, dir) // of its own, so that no other consumer hears of it
	if err != nil {
		return err
	}
	if err := pack(w.proxy, clone, ".", version); err != nil {
		return err
	}
	root := pathOf(".")
	consumer, err := w.folder(ctx, "dropin", root)
	if err != nil {
		return err
	}
	says := func(want string, command ...string) error {
		out, err := w.output(ctx, consumer, nil, command...)
		if err == nil && !strings.Contains(out, want) {
			err = fmt.Errorf("%s prints %q, which has no %q", strings.Join(command, " "), out, want)
		}
		return err
	}
	if err := says(root+" "+version+"\n", "go", "list", "-m", "-u", root); err != nil {
		return fmt.Errorf("before it: %w", err)
	}

	next := nextPatch(version)
	if err := addRetraction(ctx, clone, version); err != nil {
		return err
	}
	if err := pack(w.proxy, clone, ".", next); err != nil {
		return err
	}
	for _, c := range []struct {
		want    string
		command []string
	}{
		{root + " " + version + " (retracted) [" + next + "]", []string{"go", "list", "-m", "-u", root}},
		{root + "@" + version + ": retracted by module author: " + reason, []string{"go", "get", root + "@" + version}},
		{root + " " + next + "\n", []string{"go", "list", "-m", "-versions", root}}, // the first is not listed
		{version + " => " + next, []string{"go", "get", root + "@latest"}},
		{root + " " + next + "\n", []string{"go", "list", "-m", "-u", root}},
		{"", []string{"go", "mod", "tidy"}}, // with what the packages import
		{"ok", []string{"go", "run", "."}},
	} {
		if err := says(c.want, c.command...); err != nil {
			return err
		}
	}
	fmt.Printf("retraction: the go command warns of %s, and takes %s\n", version, next)
	return nil
}

// addRetraction commits a go.mod file that retracts a version.
func addRetraction(ctx context.Context, clone, version string) error {
	name := filepath.Join(clone, "go.mod")
	if _, err := run(ctx, clone, "go", "mod", "edit", "-retract="+version); err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	line := "retract " + version
	said := strings.Replace(string(text), line+"\n", line+" // "+reason+"\n", 1)
	if err := os.WriteFile(name, []byte(said), 0o644); err != nil {
		return err
	}
	_, err = run(ctx, clone, "git", "-c", "user.name=release", "-c", "user.email=", "commit", "-q", "-a", "-m", line)
	return err
}
