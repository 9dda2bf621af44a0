package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A span is the lines from first to last of a file.
type span struct{ first, last int }

// wholeFile is the span of a file that git does not know.
var wholeFile = span{1, 1 << 30}

// hunk is the head of a hunk of git diff -U0: where it begins in the new file, and how many lines
// of it are there.
var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// changedSince asks git which lines of Go files differ between a commit and the working tree. It
// returns them by the file's name, relative to the root and with slashes. Lines without code do not
// count. Where lines are gone, the two lines around the gap count. Files that git neither tracks
// nor ignores are new.
func changedSince(ctx context.Context, root, ref string) (map[string][]span, error) {
	git := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = root
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
		}
		return out, nil
	}
	diff, err := git("-c", "core.quotePath=false", "diff", "--relative", "--no-ext-diff", "--no-color", "-M", "-U0",
		"--src-prefix=a/", "--dst-prefix=b/", ref, "--", "*.go")
	if err != nil {
		return nil, err
	}
	changed, err := parseDiff(diff)
	if err != nil {
		return nil, err
	}
	others, err := git("-c", "core.quotePath=false", "ls-files", "--others", "--exclude-standard", "--", "*.go")
	if err != nil {
		return nil, err
	}
	for name := range strings.Lines(string(others)) {
		changed[strings.TrimSuffix(name, "\n")] = []span{wholeFile}
	}
	return changed, nil
}

// parseDiff reads what git diff -U0 prints.
func parseDiff(diff []byte) (map[string][]span, error) {
	changed := map[string][]span{}
	name, line := "", 0 // the file, and the next new line in it
	removed, added := false, false
	end := func() { // of a hunk
		if removed && !added && name != "" {
			changed[name] = append(changed[name], span{line, line + 1})
		}
		removed, added = false, false
	}
	lines := bufio.NewScanner(bytes.NewReader(diff))
	lines.Buffer(nil, 1<<20)
	inHunk := false
	for lines.Scan() {
		text := lines.Text()
		switch head := hunk.FindStringSubmatch(text); {
		case strings.HasPrefix(text, "diff --git "):
			end()
			name, inHunk = "", false
		case !inHunk && strings.HasPrefix(text, "+++ "):
			name, _ = strings.CutPrefix(text, "+++ b/")
			if text == "+++ /dev/null" {
				name = ""
			}
		case head != nil:
			end()
			inHunk = true
			line, _ = strconv.Atoi(head[1])
		case inHunk && strings.HasPrefix(text, "-"):
			removed = removed || isCode(text[1:])
		case inHunk && strings.HasPrefix(text, "+"):
			if isCode(text[1:]) && name != "" {
				added = true
				changed[name] = append(changed[name], span{line, line})
			}
			line++
		}
	}
	end()
	return changed, lines.Err()
}

// isCode reports whether a line is neither empty nor a comment.
func isCode(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && !strings.HasPrefix(line, "//")
}

// changedFiles returns those of the files that have changed lines.
func changedFiles(root string, paths []string, changed map[string][]span) ([]string, error) {
	var files []string
	for _, path := range paths {
		name, err := filepath.Rel(root, path)
		if err != nil {
			return nil, err
		}
		if len(changed[filepath.ToSlash(name)]) > 0 {
			files = append(files, path)
		}
	}
	return files, nil
}

// inChanged returns the mutants in functions, or other declarations, that have a changed line.
func inChanged(mutants []*mutant, changed map[string][]span) []*mutant {
	var in []*mutant
	for _, m := range mutants {
		f := m.file
		for _, decl := range f.syntax.Decls {
			d := span{f.pkg.fset.Position(decl.Pos()).Line, f.pkg.fset.Position(decl.End()).Line}
			if d.first <= m.line && m.line <= d.last {
				overlaps := func(s span) bool { return s.first <= d.last && d.first <= s.last }
				if slices.ContainsFunc(changed[f.name], overlaps) {
					in = append(in, m)
				}
				break
			}
		}
	}
	return in
}

// spread returns at most n of the mutants, at even distances. 0 stands for all.
func spread(mutants []*mutant, n int) []*mutant {
	if n == 0 || len(mutants) <= n {
		return mutants
	}
	some := make([]*mutant, n)
	for i := range some {
		some[i] = mutants[i*len(mutants)/n]
	}
	return some
}
