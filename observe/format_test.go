package observe

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestDurationsHaveThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-5: "0s", 0: "0s", 7: "7ns", 999: "999ns", 1234: "1.23µs", 12_345: "12.3µs", 999_600: "1000µs",
		48_200 * time.Millisecond: "48.2s", 59_999 * time.Millisecond: "60.0s", 123 * time.Second: "2m03s",
		192 * time.Minute: "3h12m", 51 * time.Hour: "2d03h", 1<<63 - 1: "106751d23h",
	} {
		require.Equal(t, want, span(d))
	}
}

func TestCountsHaveThreeDigits(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0", 9999: "9999", 10_000: "10.0k", 999_499: "999k", 999_500: "1.00M", 88_120_400: "88.1M", 1<<63 - 1: "9.22E",
	} {
		require.Equal(t, want, count(n))
	}
	require.Equal(t, "1 lock", plural(1, "lock"))
	require.Equal(t, "0 locks", plural(0, "lock"))
	require.Equal(t, "", share(1, 0))
	require.Equal(t, "0%", share(0, 5))
	require.Equal(t, "<1%", share(1, 101))
	require.Equal(t, "100%", share(7, 5))
}

func TestCleanTextOnlyShows(t *testing.T) {
	require.Equal(t, `a b\x1b[31m\u202e\x00é\ufeff`, clean("a\nb\x1b[31m\u202e\x00é\ufeff", 99))
	require.Equal(t, "�", clean("\xff", 99))
	require.Equal(t, "ab…", clean("abc", 2))
	require.Equal(t, "abc", clean("abc", 3))
	require.LessOrEqual(t, len(clean(strings.Repeat("\x00", 1<<20), 10)), 60)
	require.True(t, utf8.ValidString(clean(strings.Repeat("語", 1000), 64)))
}

func TestAgentsAreNamed(t *testing.T) {
	require.Equal(t, "unknown", Agent{}.String())
	require.Equal(t, "goroutine 18", Agent{Goroutine: 18}.String())
	require.Equal(t, "task 7", Agent{Goroutine: 18, Task: 7}.String())
	require.Equal(t, `task 7 "a b"`, Agent{Task: 7, Name: "a\nb"}.String())
	require.Equal(t, "a=1 b=2", Agent{Labels: map[string]string{"b": "2", "a": "1"}}.labels())
}
