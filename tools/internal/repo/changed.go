package repo

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Span is the lines from First to Last of a file.
type Span struct{ First, Last int }

// WholeFile is the span of a file that git does not know.
var WholeFile = Span{1, 1 << 30}

// hunk is the head of a hunk of git diff -U0: where it begins in the new file, and how many lines
// of it are there.
var hunk = regexp.MustCompile(`^@@ -\S+ \+(\d+)(?:,(\d+))? @@`)

// ChangedLines asks git which lines of Go files differ between a commit and the working tree. It
// returns them by the file's name, relative to the root and with slashes. Lines without code do not
// count. Where lines are gone, the two lines around the gap count. Files that git neither tracks
// nor ignores are new.
func ChangedLines(ctx context.Context, root, ref string) (map[string][]Span, error) {
	diff, err := git(ctx, root, "diff", "--relative", "--no-ext-diff", "--no-color", "-M", "-U0",
		"--src-prefix=a/", "--dst-prefix=b/", ref, "--", "*.go")
	if err != nil {
		return nil, err
	}
	changed, err := parseDiff(diff)
	if err != nil {
		return nil, err
	}
	others, err := git(ctx, root, "ls-files", "--others", "--exclude-standard", "--", "*.go")
	if err != nil {
		return nil, err
	}
	for name := range strings.Lines(string(others)) {
		changed[strings.TrimSuffix(name, "\n")] = []Span{WholeFile}
	}
	return changed, nil
}

// parseDiff reads what git diff -U0 prints.
func parseDiff(diff []byte) (map[string][]Span, error) {
	changed := map[string][]Span{}
	name, line := "", 0 // the file, and the next new line in it
	removed, added := false, false
	end := func() { // of a hunk
		if removed && !added && name != "" {
			changed[name] = append(changed[name], Span{line, line + 1})
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
				changed[name] = append(changed[name], Span{line, line})
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

// ChangedFiles returns the files that differ between a commit and the working tree, in order, gone
// and new ones as well. A Go file in which no code differs is not among them.
func ChangedFiles(ctx context.Context, root, ref string) ([]string, error) {
	lines, err := ChangedLines(ctx, root, ref)
	if err != nil {
		return nil, err
	}
	differ, err := git(ctx, root, "diff", "--relative", "--no-renames", "--name-only", ref)
	if err != nil {
		return nil, err
	}
	others, err := git(ctx, root, "ls-files", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(differ) + string(others)) {
		name := strings.TrimSuffix(line, "\n")
		_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
		if path.Ext(name) != ".go" || err != nil || len(lines[name]) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

func git(ctx context.Context, root string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "core.quotePath=false"}, args...)...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}
