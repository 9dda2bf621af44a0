package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// A mutant is one change of one file.
type mutant struct {
	id     string
	file   *file
	fn     string // with the receiver's type
	op     string // with the variant after a dot
	note   string // what is changed, in one line
	line   int
	edits  []edit
	broken bool // it does not compile

	compiling []edit // instead of edits, where those leave a variable without a use
}

// An edit replaces src[from:to] and leaves the number of lines as it is.
type edit struct {
	from, to int
	text     string
}

// operator is the name without the variant.
func (m *mutant) operator() string {
	op, _, _ := strings.Cut(m.op, ".")
	return op
}

// source is the text of the mutated file.
func (m *mutant) source() []byte {
	var out bytes.Buffer
	last := 0
	for _, e := range m.edits {
		out.Write(m.file.src[last:e.from])
		out.WriteString(e.text)
		last = e.to
	}
	out.Write(m.file.src[last:])
	return out.Bytes()
}

func (m *mutant) describe() string {
	s := fmt.Sprintf("%s %s: %s", m.fn, m.op, m.note)
	if m.broken {
		s += " (does not compile)"
	}
	return s
}

// diff returns the lines that are not what they were, as they were and as they are.
func (m *mutant) diff() (before, after []string) {
	was, is := strings.Split(string(m.file.src), "\n"), strings.Split(string(m.source()), "\n")
	for i := range was {
		if was[i] == is[i] {
			continue
		}
		before = append(before, was[i])
		if strings.TrimSpace(is[i]) != "" {
			after = append(after, is[i])
		}
	}
	return before, after
}

// mutantsOf returns all mutants of a file, in the order of their lines, and no two that are the
// same.
func mutantsOf(f *file) []*mutant {
	g := &generator{file: f, ids: map[string]int{}}
	g.generate()
	slices.SortStableFunc(g.out, func(a, b *mutant) int { return a.line - b.line })
	seen := map[[sha256.Size]byte]bool{sha256.Sum256(f.src): true}
	var unique []*mutant
	for _, m := range g.out {
		sum := sha256.Sum256(m.source())
		if seen[sum] {
			continue
		}
		seen[sum] = true
		m.broken = !f.pkg.compiles(f, m.source())
		if m.broken && m.compiling != nil {
			m.edits = m.compiling
			m.broken = !f.pkg.compiles(f, m.source())
		}
		unique = append(unique, m)
	}
	return unique
}
