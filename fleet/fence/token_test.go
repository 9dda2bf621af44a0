package fence

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTextAndTokenAreOne(t *testing.T) {
	for text, u := range map[string]Token{
		"000000000000000a-0000000000000000-0000000000000001:0000000000000001": {
			Rev: 10, Lease: 1, Survivors: []int64{1},
		},
		"7fffffffffffffff-7fffffffffffffff-00000000000000ff:0000000000000001,00000000000000ff,7fffffffffffffff": {
			Rev: math.MaxInt64, Seq: math.MaxInt64, Lease: 255, Survivors: []int64{1, 255, math.MaxInt64},
		},
	} {
		require.Equal(t, text, u.String())
		require.Equal(t, text[:33], u.Order())
		parsed, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, u, parsed)
		marshalled, err := json.Marshal(u)
		require.NoError(t, err)
		require.Equal(t, `"`+text+`"`, string(marshalled))
		require.NoError(t, json.Unmarshal(marshalled, &parsed))
		require.Equal(t, u, parsed)
	}
}

func TestTheOrderOfTheTextsIsThatOfTheTokens(t *testing.T) {
	numbers := []int64{1, 9, 10, 15, 16, 255, 256, 1 << 32, math.MaxInt64}
	var tokens []Token
	for _, rev := range numbers {
		for _, seq := range append([]int64{0}, numbers...) {
			tokens = append(tokens, Token{Rev: rev, Seq: seq, Lease: 1})
		}
	}
	for i, u := range tokens {
		require.Less(t, "", u.Order())
		for j, v := range tokens {
			require.Equal(t, i-j < 0, u.Compare(v) < 0)
			require.Equal(t, i-j > 0, u.Compare(v) > 0)
			require.Equal(t, u.Compare(v), strings.Compare(u.Order(), v.Order()))
		}
	}
}

func TestParseAcceptsOnlyTheTextForm(t *testing.T) {
	good := Token{Rev: 10, Seq: 3, Lease: 0xab, Survivors: []int64{5, 0xab}}.String()
	_, err := Parse(good)
	require.NoError(t, err)
	for i := range good { // each character matters
		for _, c := range "-:,gA +_x\x00" {
			if text := good[:i] + string(c) + good[i+1:]; text != good {
				_, err := Parse(text)
				require.ErrorIs(t, err, ErrMalformed, text)
			}
		}
		_, err := Parse(good[:i])
		require.ErrorIs(t, err, ErrMalformed)
	}
	const one, two, order = "0000000000000001", "0000000000000002", "000000000000000a-0000000000000000-"
	for _, text := range []string{
		good + ",", good + "0", " " + good, good + "\n",
		"0000000000000000-0000000000000000-" + one + ":" + one, // no revision
		"800000000000000a-0000000000000000-" + one + ":" + one, // negative
		"000000000000000a-8000000000000000-" + one + ":" + one,
		order + "0000000000000000:0000000000000000",
		order + one + ":",
		order + one + ":" + two,             // the lease has not survived
		order + one + ":" + two + "," + one, // descending
		order + one + ":" + one + "," + one, // twice
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrMalformed, text)
	}
}

func TestATextIsBounded(t *testing.T) {
	u := Token{Rev: 1, Lease: 1}
	for lease := range int64(MaxSurvivors) {
		u.Survivors = append(u.Survivors, lease+1)
	}
	text, err := u.MarshalText()
	require.NoError(t, err)
	parsed, err := Parse(string(text))
	require.NoError(t, err)
	require.Equal(t, u, parsed)
	require.Less(t, len(text), 18_000)

	u.Survivors = append(u.Survivors, MaxSurvivors+1)
	_, err = u.MarshalText()
	require.ErrorIs(t, err, ErrMalformed)
	_, err = Parse(u.String())
	require.ErrorIs(t, err, ErrMalformed)
	huge := strings.Repeat("0", 1<<20)
	require.LessOrEqual(t, testing.AllocsPerRun(10, func() { _, _ = Parse(huge) }), 10.0)
	_, err = Parse(huge)
	require.Less(t, len(err.Error()), 200)
}

func TestWhatNoGrantCanHaveMadeIsNotMarshalled(t *testing.T) {
	good := Token{Rev: 1, Lease: 2, Survivors: []int64{2, 3}}
	for _, spoil := range []func(u *Token){
		func(u *Token) { u.Rev = 0 },
		func(u *Token) { u.Rev = -1 },
		func(u *Token) { u.Seq = -1 },
		func(u *Token) { u.Lease = 0 },
		func(u *Token) { u.Lease = 4 },
		func(u *Token) { u.Survivors = nil },
		func(u *Token) { u.Survivors = []int64{3, 2} },
		func(u *Token) { u.Survivors = []int64{2, 2} },
		func(u *Token) { u.Survivors = []int64{-1, 2} },
	} {
		u := good
		spoil(&u)
		_, err := u.MarshalText()
		require.ErrorIs(t, err, ErrMalformed)
		_, err = Parse(u.String())
		require.ErrorIs(t, err, ErrMalformed)
	}
	u := good
	require.Error(t, u.UnmarshalText([]byte("nonsense")))
	require.Equal(t, good, u)
}

func FuzzParse(f *testing.F) {
	f.Add(Token{Rev: 10, Seq: 3, Lease: 0xab, Survivors: []int64{5, 0xab}}.String())
	f.Add("000000000000000a-0000000000000000-0000000000000001:0000000000000001")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Parse(text)
		if err != nil {
			require.ErrorIs(t, err, ErrMalformed)
			require.Zero(t, u)
			return
		}
		require.Equal(t, text, u.String()) // one token, one text
		require.Positive(t, u.Rev)
		require.GreaterOrEqual(t, u.Seq, int64(0))
		require.True(t, slices.IsSorted(u.Survivors))
		require.Contains(t, u.Survivors, u.Lease)
		require.LessOrEqual(t, len(u.Survivors), MaxSurvivors)
		require.NoError(t, NewGate(1).Begin(u, 1))
	})
}

// What the guide says of the size of tokens: up to 470 survivors fit into the 8 kB that proxies let
// pass in a header, name and all.
func TestTokensInAHeader(t *testing.T) {
	header := func(survivors int64) int {
		token := Token{Rev: 1 << 40, Seq: 1 << 40, Lease: 1 << 40}
		for i := range survivors {
			token.Survivors = append(token.Survivors, 1<<40+i)
		}
		text, err := token.MarshalText()
		require.NoError(t, err)
		return len("Fencing-Token: \r\n") + len(text)
	}
	require.Equal(t, 17+67, header(1))
	require.LessOrEqual(t, header(470), 8190)
	require.Greater(t, header(480), 8190)
	require.Equal(t, 17+50+17*MaxSurvivors, header(MaxSurvivors))
}
