package observe

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a page with what it was, without what a machine is called.
func golden(t *testing.T, name, got string) {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	got = strings.ReplaceAll(got, filepath.ToSlash(dir), "/srv/shop")
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o777))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test ./observe -run %s -update, and read the change", t.Name())
}

// testView is a view of a program that is always the same.
func testView(s *Snapshot) *view {
	v := newView(s)
	v.Program, v.PID = "shop", 4711
	return v
}

func TestTextIsMadeForReaders(t *testing.T) {
	golden(t, "shop.txt", testView(shop()).text(""))
	golden(t, "lock.txt", testView(shop()).only(4).text(""))
	golden(t, "empty.txt", testView(&Snapshot{At: shopTime}).text(""))
}

func TestTextHasBoundedLinesAndNothingThatATerminalObeys(t *testing.T) {
	for _, s := range []*Snapshot{shop(), crowd(), hostile(), {}} {
		text := s.String()
		require.Less(t, len(text), 200_000)
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			require.LessOrEqual(t, utf8.RuneCountInString(line), textWidth, line)
			require.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }), "%q", line)
		}
	}
}

// A reader sees the user's line first, and not the server or the profiler around it.
func TestStacksBeginAndEndWithTheUsersCalls(t *testing.T) {
	var inside Stack
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		pprof.Do(t.Context(), pprof.Labels("path", "/"), func(context.Context) {
			slices.SortFunc([]int{2, 1}, func(int, int) int { // the library's calls between the user's stay
				inside = make(Stack, 64)
				inside = inside[:runtime.Callers(0, inside)]
				return 0
			})
		})
	})
	done := make(chan bool)
	go http.TimeoutHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler(w, r)
		close(done)
	}), time.Hour, "").ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	<-done
	require.True(t, slices.ContainsFunc(inside.Frames(), func(f runtime.Frame) bool {
		return strings.HasPrefix(f.Function, "net/http.(*timeoutHandler)")
	}))
	calls := inside.essential()
	require.Contains(t, calls[0].Function, "observe.TestStacksBeginAndEndWithTheUsersCalls")
	require.Contains(t, calls[len(calls)-1].Function, "observe.TestStacksBeginAndEndWithTheUsersCalls")
	var library int
	for _, f := range calls {
		if isStandard(f.Function) {
			library++
		}
	}
	require.NotZero(t, library)

	for function, want := range map[string]bool{
		"net/http.HandlerFunc.ServeHTTP": true, "runtime/pprof.Do": true, "runtime.main": true, "testing.tRunner": true,
		"slices.SortFunc[...]": true, "main.main": false, "example.com/net/http.Serve": false, "shop.serve": false,
		"shop/net.serve": false,
	} {
		require.Equal(t, want, isStandard(function), function)
	}
	require.True(t, slices.IsSorted(standard))
	only := Stack{reflect.ValueOf(strings.ToUpper).Pointer() + 1}
	require.Len(t, only.essential(), 1, "better than nothing")
}
