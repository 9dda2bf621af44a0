package main

import (
	"go/format"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/peers"
	"github.com/farad-go/farad/bench/table"
)

func TestTheImportIsExchanged(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	const theirs = "import (\n\t\"context\"\n\n\t\"golang.org/x/sync/semaphore\"\n)\n"
	write("pool.go", theirs)
	write("sub/pool_test.go", theirs)
	write("README.md", theirs)
	write("other.go", "import \"golang.org/x/sync/errgroup\"\n")
	n, err := exchange(folder)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for name, want := range map[string]string{
		"pool.go":          "import (\n\t\"context\"\n\n\t\"github.com/farad-go/farad/sync/semaphore\"\n)\n",
		"sub/pool_test.go": "import (\n\t\"context\"\n\n\t\"github.com/farad-go/farad/sync/semaphore\"\n)\n",
		"README.md":        theirs,
		"other.go":         "import \"golang.org/x/sync/errgroup\"\n",
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text), name)
	}
}

func TestProgramIsGo(t *testing.T) {
	formatted, err := format.Source(programSource)
	require.NoError(t, err)
	require.Equal(t, string(formatted), string(programSource))
}

func TestFigureOfOneBenchmark(t *testing.T) {
	const line = "BenchmarkPoolAcquireAndRelease/PoolSize=8/ClientCount=32/Cancellable=false-2   \t   10000\t     11044.5 ns/op\n"
	ns, err := figure("goos: linux\n" + line + "PASS\n")
	require.NoError(t, err)
	require.InDelta(t, 11044.5, ns, 0)
	_, err = figure("PASS\n")
	require.ErrorContains(t, err, "0 benchmarks")
	_, err = figure(line + line)
	require.ErrorContains(t, err, "2 benchmarks")
}

func TestTargetsHaveTheirLines(t *testing.T) {
	c, err := parse(nil)
	require.NoError(t, err)
	require.Len(t, c.lines(), 4)
	for _, l := range c.lines() {
		require.NotNil(t, table.Find(targets, l.String(), "", table.RatioTo, peers.NameXSync), l)
	}
	require.Nil(t, table.Find(targets, line{clients: "8"}.String(), "", table.RatioTo, peers.NameXSync))
	for _, args := range [][]string{{"-rounds", "0"}, {"-benchtime", "0s"}, {"-clients", "x"}, {"y"}} {
		_, err := parse(args)
		require.Error(t, err, "%v", args)
	}
}
