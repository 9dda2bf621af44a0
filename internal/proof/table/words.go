package table

import (
	"fmt"
	"strings"
	"time"
)

// Machine words. The tables count in integers, which have no end; the code counts in 64 bits. What
// is said here of words is asked of the solver in bit-vectors, for every value.

// What internal/engine has; a test there compares.
const (
	PermitShift = 3
	maxWord     = maxPermits
)

// A Word is a statement about machine words.
type Word struct {
	Name, Text string
	Source     string // the functions that it is about

	free  string // declarations of what it is about
	given string // what is assumed
	claim string // what follows
	// Planted are definitions or assumptions under which the claim must not follow.
	Planted []Planted

	define func(shift int, right string) string
}

// A Planted is a defect of a word: a narrower word, another shift, or a wider range.
type Planted struct {
	Name  string
	shift int
	right string
	given string // replaces what is assumed; "": nothing does
}

const arithmetic = "bvashr" // the shift to the right of a signed number

// hex is a constant of 64 bits.
func hex(n uint64) string { return fmt.Sprintf("#x%016x", n) }

// engineWord defines what the engine has in its word: permits, counted from the base, and flags.
func engineWord(shift int, right string) string {
	s := hex(uint64(shift))
	m := hex(1<<shift - 1)
	return fmt.Sprintf(`(define-fun word ((c W) (f W)) W (bvor (bvshl c %s) f))
(define-fun count ((o W)) W (%s o %s))
(define-fun flags ((o W)) W (bvand o %s))
(define-fun isFlags ((f W)) Bool (bvule f %s))
(define-fun permits ((n W) (m W)) Bool (and (bvsle #x0000000000000000 n) (bvsle n m)))
(define-fun counts ((n W) (m W)) Bool (and (bvsle (bvneg m) n) (bvsle n m)))
(define-fun by ((n W)) W (bvshl n %s))
`, s, right, s, m, m, s)
}

// What the read-write lock has; a test in internal/engine compares.
const (
	RWHiding     = 1 << 54
	RWUpgradable = 1 << 55
	RWEveryone   = 1<<56 - 2
)

// rwKinds defines what legalRW and isBiased see in the bits of what is held, and what the table
// compares instead.
func rwKinds(int, string) string {
	hiding, up := hex(RWHiding), hex(RWUpgradable)
	return fmt.Sprintf(`(define-fun bit55 ((h W)) Bool (not (= (bvand h %[2]s) #x0000000000000000)))
(define-fun bit54 ((h W)) Bool (not (= (bvand h %[1]s) #x0000000000000000)))
(define-fun readers ((h W)) W (bvand h (bvsub %[1]s #x0000000000000001)))
(define-fun lower ((h W)) W (ite (bvuge h %[2]s) (bvsub h %[2]s) h))
(define-fun counted ((h W)) W (ite (bvuge (lower h) %[1]s) (bvsub (lower h) %[1]s) (lower h)))
(define-fun kinds ((h W)) Bool (and (= (bit55 h) (bvuge h %[2]s)) (= (bit54 h) (bvuge (lower h) %[1]s)) (= (readers h) (counted h))))
(define-fun parts ((all W)) Bool (distinct #x0000000000000001 %[2]s (bvsub %[2]s #x0000000000000001)
  all (bvsub all #x0000000000000001) (bvsub all %[2]s)))
`, hiding, up)
}

// twaLine is inLine: whether a number is behind grant, and not behind ticket.
func twaLine(int, string) string {
	return `(define-fun inLine ((g W) (t W) (k W)) Bool
  (and (bvsgt (bvsub k g) #x0000000000000000) (bvsle (bvsub k g) (bvsub t g))))
`
}

// Words returns all statements about words.
func Words() []*Word {
	// avail and more are in the range that "1 range" of the engine's table proves.
	engine := func(most uint64) string {
		m := hex(most)
		return fmt.Sprintf("(and (permits base %s) (counts avail %s) (counts (bvadd avail n) %s) (isFlags f))", m, m, m)
	}
	kinds := func(all uint64) string { return "(and (= all " + hex(all) + ") (bvule held all))" }
	line := func(most uint64) string { return "(bvule (bvsub t g) " + hex(most) + ")" }
	const vars = "base avail n f"
	narrow := Planted{Name: "five bits of flags", shift: 5, right: arithmetic}
	wide := Planted{Name: "2⁶⁰ permits", shift: PermitShift, right: arithmetic, given: engine(2 * maxWord)}
	return []*Word{
		{
			Name: "engine's word, read", Source: "State, Permits.free, Engine.held",
			Text: "Up to 2⁵⁹ permits, counted from any base, and the flags are read as they were written.",
			free: vars, given: engine(maxWord), define: engineWord,
			claim: `(let ((o (word (bvsub avail base) f))) (and (= (bvadd base (count o)) avail) (= (flags o) f)))`,
			Planted: []Planted{
				narrow, wide,
				{Name: "a shift without the sign", shift: PermitShift, right: "bvlshr"},
			},
		},
		{
			Name: "engine's word, changed", Source: "Engine.Take, Engine.Give, Permits.Resize, serveLocked",
			Text: "To take, give or resize by one addition changes the permits by as many, and no flag.",
			free: vars, given: engine(maxWord), define: engineWord,
			claim: `(let ((o (bvadd (word (bvsub avail base) f) (by n)))) (and (= (bvadd base (count o)) (bvadd avail n)) (= (flags o) f)))`,
			Planted: []Planted{
				narrow, wide,
				{Name: "any sum", shift: PermitShift, right: arithmetic, given: "(and (permits base " + hex(maxWord) + ") (counts avail " + hex(maxWord) + ") (isFlags f))"},
			},
		},
		{
			Name: "the read-write lock's kinds", Source: "legalRW, State.isBiased, isUpgradable",
			Text: "Up to what a writer holds, the bits of what is held say what the table compares; the parts of shares are different numbers.",
			free: "held all", given: kinds(RWEveryone), define: rwKinds,
			claim: "(and (kinds held) (parts all))",
			Planted: []Planted{
				{Name: "a writer holds all ones", given: kinds(RWEveryone + 1)},
				{Name: "one bit more is held", given: kinds(4 * RWHiding)},
			},
		},
		{
			Name: "twa's circle, a line", Source: "twa: tickets.inLine",
			Text: "While the line is shorter than half of the circle, a number is in it if the way to it from grant, round the circle, is no longer than the line.",
			free: "g t k", given: line(1<<63 - 1), define: twaLine,
			claim: `(= (inLine g t k) (and (bvult #x0000000000000000 (bvsub k g)) (bvule (bvsub k g) (bvsub t g))))`,
			Planted: []Planted{
				{Name: "a line of half of the circle", given: line(1 << 63)},
			},
		},
		{
			Name: "twa's circle, no line", Source: "twa: tickets.inLine",
			Text: "While none waits, and no more than half of the circle is free, no number is in the line.",
			free: "g t k", given: "(bvult (bvsub g t) " + hex(1<<63) + ")", define: twaLine,
			claim: "(not (inLine g t k))",
			Planted: []Planted{
				{Name: "more than half is free", given: "(bvule (bvsub g t) " + hex(1<<63+1) + ")"},
			},
		},
	}
}

// question asserts that the claim does not follow.
func (w *Word) question(shift int, right, given string) string {
	var b strings.Builder
	b.WriteString("(define-sort W () (_ BitVec 64))\n")
	for v := range strings.FieldsSeq(w.free) {
		fmt.Fprintf(&b, "(declare-const %s W)\n", v)
	}
	fmt.Fprintf(&b, "%s(assert %s)\n(assert (not %s))\n", w.define(shift, right), given, w.claim)
	return b.String()
}

// Prove asks whether the claim follows, whether anything satisfies what is assumed, and whether
// each planted defect is refused. It returns what is wrong, "" if nothing is.
func (w *Word) Prove(s *Solver) (wrong string, spent time.Duration, err error) {
	began := time.Now()
	a, err := s.within(w.question(PermitShift, arithmetic, w.given))
	spent = time.Since(began)
	switch {
	case err != nil:
		return "", spent, err
	case a != Unsat:
		return "open: " + string(a), spent, nil
	}
	vacuous := *w
	vacuous.claim = "false"
	if a, err = s.within(vacuous.question(PermitShift, arithmetic, w.given)); err != nil || a != Sat {
		return "nothing is assumed of any word: " + string(a), spent, err
	}
	for _, p := range w.Planted {
		given := w.given
		if p.given != "" {
			given = p.given
		}
		if a, err = s.within(w.question(p.shift, p.right, given)); err != nil || a != Sat {
			return "the defect is not refused: " + p.Name + ": " + string(a), spent, err
		}
	}
	return "", spent, nil
}
