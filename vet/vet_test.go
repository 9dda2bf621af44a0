package vet

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// Each analyzer reports what its folder in testdata says, nothing else, and its fixes make what the
// golden file has. Functions whose names begin with "ok" have no reports.
func TestAnalyzers(t *testing.T) {
	for _, a := range Analyzers() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), a, a.Name)
		})
	}
}

// Every analyzer has six functions or more that it must not report.
func TestThereIsEnoughThatMustNotBeReported(t *testing.T) {
	for _, a := range Analyzers() {
		text, err := os.ReadFile("testdata/src/" + a.Name + "/" + a.Name + ".go")
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(regexp.MustCompile(`(?m)^func (\(.*\) )?ok`).FindAll(text, -1)), 6, a.Name)
	}
}

func TestAnalyzersAreValid(t *testing.T) {
	require.NoError(t, analysis.Validate(Analyzers()))
	for _, a := range Analyzers() {
		require.Contains(t, a.Doc, "ot found ", a.Name)
	}
}

// waitsOf matches the methods that acquire or wait, and can fail.
var waitsOf = regexp.MustCompile(
	`^pkg (\S+), method \(\*?(\w+)\) ((?:Try)?(?:R|U)?(?:Lock|Acquire|Arrive|Wait|Await|Upgrade)\w*)\(.*(?:error\)?|bool\)?)$`)

// notOurs are methods that only look like those, with the reason.
var notOurs = map[string]string{
	"runtime.JoinHandle.Await": "it waits for the end of a task",
	"runtime.JoinHandle.Wait":  "it waits for the end of a task",
}

// The table has every method of the modules that acquires and can fail, and has no others.
func TestContractsAreThoseOfTheAPI(t *testing.T) {
	var api strings.Builder
	for _, name := range []string{"farad", "fleet"} {
		text, err := os.ReadFile("../api/" + name + ".txt")
		if os.IsNotExist(err) {
			t.Skip("outside of the repository")
		}
		require.NoError(t, err)
		api.Write(text)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(api.String()) {
		if m := regexp.MustCompile(`^pkg (\S+), method \(\*?(\w+)\) (\w+)\(`).FindStringSubmatch(line); m != nil {
			listed[m[1]+"."+m[2]+"."+m[3]] = true
		}
		m := waitsOf.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		name := m[1] + "." + m[2] + "." + m[3]
		if notOurs[name] == "" {
			require.True(t, methods[name].role != none, name)
		}
	}
	for name := range methods {
		require.True(t, listed[name], name)
	}
	for name := range notOurs {
		require.True(t, listed[name], name)
	}
}
