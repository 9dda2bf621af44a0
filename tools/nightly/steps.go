package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/build/constraint"
	"go/scanner"
	"go/token"
	"hash"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/farad-go/farad/tools/internal/repo"
)

// A step of the nightly checks.
type step struct {
	group, name string
	scenarios   string          // the folder whose scenarios it explores, if any
	packages    []*repo.Package // that it names
	hash        string          // of all that it reads
}

// readSteps reads what bash .ci/run -steps prints: a line for each step, with tabs between the
// group, the name, what the step reads, and its definition.
//
// What a step reads are words: patterns of packages, "-C" and the folder of a module, to which the
// patterns after it belong, "-without" and a build tag, "-imported", and names of other files from
// the root. A step without a tag does not read the files that only builds with the tag have. Of the
// packages that are only imported it does not run the tests.
func readSteps(root string, tree *repo.Tree, in io.Reader) ([]*step, error) {
	h := &hasher{root: root, files: map[string]*file{}}
	var steps []*step
	names := map[string]bool{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		f := strings.SplitN(lines.Text(), "\t", 4)
		if len(f) != 4 {
			return nil, fmt.Errorf("not a step: %q", lines.Text())
		}
		s := &step{group: f[0], name: f[1]}
		if names[s.name] {
			return nil, fmt.Errorf("two steps have the name %q", s.name)
		}
		names[s.name] = true
		sum := sha256.New()
		fmt.Fprintf(sum, "%s\n", f[3])
		if err := s.read(sum, h, tree, strings.Fields(f[2])); err != nil {
			return nil, fmt.Errorf("step %q: %w", s.name, err)
		}
		s.hash = fmt.Sprintf("%x", sum.Sum(nil))[:12]
		if len(s.packages) == 1 && s.name == "interleave: "+s.packages[0].Dir && s.packages[0].Explored() {
			s.scenarios = s.packages[0].Dir
		}
		steps = append(steps, s)
	}
	if len(steps) == 0 {
		return nil, errors.New("no steps: pipe bash .ci/run -steps into this command")
	}
	return steps, lines.Err()
}

// read adds to sum what the words stand for.
func (s *step) read(sum hash.Hash, h *hasher, tree *repo.Tree, words []string) error {
	module, without, imported := ".", "", false
	names := map[string]bool{}
	for i := 0; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-C" && i+1 < len(words):
			i++
			module = path.Clean(words[i])
		case word == "-without" && i+1 < len(words):
			i++
			without = words[i]
		case word == "-imported":
			imported = true
		case strings.HasPrefix(word, "."+"/") || word == ".":
			found, err := tree.Match(module, word)
			if err != nil {
				return err
			}
			for _, p := range found {
				if !imported {
					s.packages = append(s.packages, p)
				}
				for _, name := range tree.Inputs(p) {
					if !imported || !strings.HasSuffix(name, "_test.go") {
						names[name] = true
					}
				}
			}
		default:
			names[word] = true
		}
	}
	if len(s.packages) == 0 {
		return errors.New("it reads no package")
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f, err := h.file(name)
		switch {
		case errors.Is(err, os.ErrNotExist) && path.Base(name) == "go.sum": // of a module that requires nothing
		case err != nil:
			return err
		case !f.needs[without]:
			fmt.Fprintf(sum, "%s %x\n", name, f.sum)
		}
	}
	return nil
}

// A file is what counts of one.
type file struct {
	sum   [sha256.Size]byte
	needs map[string]bool // the build tags without which it is in no build
}

// A hasher remembers files: many steps read the same ones.
type hasher struct {
	root  string
	files map[string]*file
}

func (h *hasher) file(name string) (*file, error) {
	if f, ok := h.files[name]; ok {
		return f, nil
	}
	f := new(file)
	text, err := os.ReadFile(filepath.Join(h.root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	if path.Ext(name) == ".go" && !strings.Contains("/"+name, "/testdata/") {
		if f.needs, err = needs(text); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		text = code(text)
	}
	f.sum = sha256.Sum256(text)
	h.files[name] = f
	return f, nil
}

// needs returns the build tags without which a Go file is in no build.
func needs(text []byte) (map[string]bool, error) {
	for line := range bytes.Lines(text) {
		line := string(bytes.TrimSpace(line))
		if strings.HasPrefix(line, "package ") {
			break
		}
		if constraint.IsGoBuild(line) {
			x, err := constraint.Parse(line)
			if err != nil {
				return nil, err
			}
			tags := map[string]bool{}
			conjuncts(x, tags)
			return tags, nil
		}
	}
	return nil, nil
}

// conjuncts adds to tags those without which x is false whatever the others are. It need not find
// all: a file that is read in vain only makes a row stale too early.
func conjuncts(x constraint.Expr, tags map[string]bool) {
	switch x := x.(type) {
	case *constraint.TagExpr:
		tags[x.Tag] = true
	case *constraint.AndExpr:
		conjuncts(x.X, tags)
		conjuncts(x.Y, tags)
	default:
	}
}

// code returns the words of a Go file, without the comments that only people read.
func code(text []byte) []byte {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", fset.Base(), len(text)), text, nil, scanner.ScanComments)
	var words []byte
	for {
		_, tok, literal := s.Scan()
		switch {
		case tok == token.EOF:
			return words
		case tok == token.COMMENT && !instructs(literal):
		case tok == token.SEMICOLON: // also that of the end of a line
			words = append(words, ";\n"...)
		case tok.IsOperator():
			words = append(append(words, tok.String()...), ' ')
		default:
			words = append(append(words, literal...), ' ')
		}
	}
}

// instructs reports whether a comment is for the compiler or another tool.
func instructs(comment string) bool {
	for _, prefix := range []string{
		"//go:", "//export ", "//line ", "//nolint", "// Output:", "// Unordered output:", "/*",
	} {
		if strings.HasPrefix(comment, prefix) {
			return true
		}
	}
	return false
}
