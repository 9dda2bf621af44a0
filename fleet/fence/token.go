package fence

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxSurvivors is the largest number of survivors in a text form, which then has 17 kB.
const MaxSurvivors = 1024

const (
	numberLen = 16 // of a number in hexadecimal
	orderLen  = numberLen + 1 + numberLen
	leaseEnd  = orderLen + 1 + numberLen
)

// ErrMalformed is the error of a token that no grant can have made.
var ErrMalformed = errors.New("fence: malformed token")

// A Token says when permits were granted, and to whom. Its fields are those of the grant; a program
// reads them for its log at most. Tokens of one lock or semaphore compare; those of two do not.
type Token struct {
	// Rev is the revision of etcd at which the process saw the newest grant to itself. It is
	// positive.
	Rev int64
	// Seq counts what the process gave out locally. It is not negative.
	Seq int64
	// Lease is that of the process. It is positive.
	Lease int64
	// Survivors are the leases that held permits at Rev, Lease included, in ascending order. After
	// a change of the size they include those that were in line then, and may hold since before it.
	Survivors []int64
}

// Compare returns a negative number if t was granted before u, a positive one if after, and 0 if t
// is u. Of several permits, a token is not outdated because another one is greater: see [Gate].
func (t Token) Compare(u Token) int {
	return cmp.Or(cmp.Compare(t.Rev, u.Rev), cmp.Compare(t.Seq, u.Seq))
}

// Order returns Rev and Seq as 33 characters, which compare as the tokens do. It is what a resource
// stores that one permit guards. The empty string, "no token seen", is less than all.
func (t Token) Order() string {
	return fmt.Sprintf("%016x-%016x", t.Rev, t.Seq)
}

// String returns the text form, of which the first 33 characters are [Token.Order]:
//
//	order-lease:survivor,survivor
//
// Numbers have 16 hexadecimal digits in lower case.
func (t Token) String() string {
	b := make([]byte, 0, leaseEnd+(1+numberLen)*len(t.Survivors))
	b = fmt.Appendf(b, "%016x-%016x-%016x", t.Rev, t.Seq, t.Lease)
	sep := byte(':')
	for _, lease := range t.Survivors {
		b = fmt.Appendf(append(b, sep), "%016x", lease)
		sep = ','
	}
	return string(b)
}

// MarshalText returns the text form. It fails with [ErrMalformed] where [Parse] would.
func (t Token) MarshalText() ([]byte, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	if len(t.Survivors) > MaxSurvivors {
		return nil, fmt.Errorf("%w: more than %d survivors", ErrMalformed, MaxSurvivors)
	}
	return []byte(t.String()), nil
}

// UnmarshalText sets t to what text says. It leaves t as it is if that is not the text form.
func (t *Token) UnmarshalText(text []byte) error {
	u, err := Parse(string(text))
	if err == nil {
		*t = u
	}
	return err
}

// Parse returns the token that text is the text form of. It accepts what [Token.MarshalText]
// returns and nothing else, so a token has one text. The error of others wraps [ErrMalformed].
func Parse(text string) (Token, error) {
	// The length comes first: what a stranger sends must not cost more than it can be worth.
	const longest = leaseEnd + (1+numberLen)*MaxSurvivors
	if len(text) > longest || len(text) <= leaseEnd || text[orderLen] != '-' || text[leaseEnd] != ':' {
		return Token{}, fmt.Errorf("%w: %.60q", ErrMalformed, text)
	}
	rev, seq, ok := parseOrder(text[:orderLen])
	lease, okLease := parseNumber(text[orderLen+1 : leaseEnd])
	ok = ok && okLease
	t := Token{Rev: rev, Seq: seq, Lease: lease, Survivors: make([]int64, 0, len(text[leaseEnd:])/(1+numberLen))}
	for survivor := range strings.SplitSeq(text[leaseEnd+1:], ",") {
		n, okN := parseNumber(survivor)
		ok = ok && okN
		t.Survivors = append(t.Survivors, n)
	}
	if !ok {
		return Token{}, fmt.Errorf("%w: %.60q", ErrMalformed, text)
	}
	if err := t.check(); err != nil {
		return Token{}, err
	}
	return t, nil
}

// check finds what no grant can have made. Ascending survivors can be searched, and give a token
// one text.
func (t Token) check() error {
	if t.Rev <= 0 || t.Seq < 0 || t.Lease <= 0 {
		return fmt.Errorf("%w: revision %d, sequence %d, lease %d", ErrMalformed, t.Rev, t.Seq, t.Lease)
	}
	last := int64(0)
	for _, lease := range t.Survivors {
		if lease <= last {
			return fmt.Errorf("%w: survivors do not ascend from 1", ErrMalformed)
		}
		last = lease
	}
	if !t.survived(t.Lease) {
		return fmt.Errorf("%w: the lease is not among the survivors", ErrMalformed)
	}
	return nil
}

// survived reports whether lease held permits when t was granted.
func (t Token) survived(lease int64) bool {
	_, found := slices.BinarySearch(t.Survivors, lease)
	return found
}

// parseOrder reads what Token.Order returns.
func parseOrder(text string) (rev, seq int64, ok bool) {
	if len(text) != orderLen || text[numberLen] != '-' {
		return 0, 0, false
	}
	rev, okRev := parseNumber(text[:numberLen])
	seq, okSeq := parseNumber(text[numberLen+1:])
	return rev, seq, okRev && okSeq && rev > 0
}

// parseNumber reads 16 hexadecimal digits in lower case. ParseInt accepts signs and capitals too.
func parseNumber(text string) (int64, bool) {
	if len(text) != numberLen || strings.Trim(text, "0123456789abcdef") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 16, 64)
	return n, err == nil
}
