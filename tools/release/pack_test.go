package main

import (
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/dirhash"

	"github.com/farad-go/farad/tools/internal/repo"
)

// small makes a repository with a root and two modules that require it, and with their names. What
// is public imports it in one alone.
func small(t *testing.T) (root string) {
	t.Helper()
	t.Setenv("GOTOOLCHAIN", "local") // GOSUMDB=off knows no other
	root = t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module " + repo.Module + "\n\ngo 1.26.0\n",
		"sync/sync.go":   "package sync\n\ntype Mutex struct{}\n\nfunc (*Mutex) Lock() {}\n\nfunc (*Mutex) Unlock() {}\n",
		"fleet/go.mod":   "module " + pathOf("fleet") + "\n\ngo 1.26.0\n\nrequire " + repo.Module + " v0.1.0\n",
		"fleet/fleet.go": "package fleet\n\nimport _ \"" + pathOf("sync") + "\"\n",

		"observe/otel/go.mod":          "module " + pathOf("observe/otel") + "\n\ngo 1.26.0\n\nrequire " + repo.Module + " v0.1.0\n",
		"observe/otel/otel.go":         "package otel\n",
		"observe/otel/internal/x/x.go": "package x\n\nimport _ \"" + pathOf("sync") + "\"\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=test", "-c", "user.email=", "commit", "-q", "-m", "all"},
	} {
		_, err := run(t.Context(), root, "git", args...)
		require.NoError(t, err)
	}
	return root
}

func TestARetractionIsSeen(t *testing.T) {
	root := small(t)
	require.NoError(t, retract(t.Context(), t.TempDir(), root, "v0.1.0"))
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.Contains(t, string(text), "\nretract v0.1.0 // "+reason+"\n")
	// A version that retracts itself is taken by nobody who does not ask for it.
	require.ErrorContains(t, retract(t.Context(), t.TempDir(), root, "v0.1.0"), "no matching versions")
}

// A bill names each module of the build list, with its version and the hash of its package.
func TestABillNamesEachModule(t *testing.T) {
	root := small(t)
	w, err := newWorld(t.Context(), t.TempDir())
	require.NoError(t, err)
	sums := map[string]string{} // of the packages in the proxy, as go.sum has them
	for _, folder := range []string{".", "fleet", "observe/otel"} {
		require.NoError(t, pack(w.proxy, root, folder, "v0.1.0"))
		sums[pathOf(folder)], err = dirhash.HashZip(filepath.Join(w.proxy, pathOf(folder), "@v", "v0.1.0.zip"), dirhash.Hash1)
		require.NoError(t, err)
	}
	for folder, scope := range map[string]cyclonedx.Scope{
		"fleet": cyclonedx.ScopeRequired, "observe/otel": cyclonedx.ScopeExcluded,
	} {
		name := filepath.Join(t.TempDir(), "x.cdx.json")
		require.NoError(t, writeSBOM(t.Context(), w, pathOf(folder), "v0.1.0", name))
		file, err := os.Open(name)
		require.NoError(t, err)
		defer file.Close()
		var bom cyclonedx.BOM
		require.NoError(t, cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bom))
		require.Len(t, *bom.Components, 1)
		require.Equal(t, scope, (*bom.Components)[0].Scope, folder)
		for path, c := range map[string]cyclonedx.Component{
			pathOf(folder): *bom.Metadata.Component, repo.Module: (*bom.Components)[0],
		} {
			require.Equal(t, path, c.Name)
			require.Equal(t, "v0.1.0", c.Version)
			require.Equal(t, "pkg:golang/"+path+"@v0.1.0", c.PackageURL)
			sum, err := hex.DecodeString((*c.Hashes)[0].Value)
			require.NoError(t, err)
			require.Equal(t, sums[path], "h1:"+base64.StdEncoding.EncodeToString(sum))
		}
	}
}

func TestABillNeedsHashes(t *testing.T) {
	sum := "h1:" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32)))
	both := []listed{{Path: "a", Version: "v1.0.0", Sum: sum}, {Path: "b", Version: "v1.0.0", Sum: sum}}
	bom, err := billOf("a", both, map[string]bool{"a": true})
	require.NoError(t, err)
	require.Equal(t, cyclonedx.ScopeExcluded, (*bom.Components)[0].Scope) // only tests import it
	_, err = billOf("c", both, nil)
	require.ErrorContains(t, err, "no c")
	both[1].Sum = ""
	_, err = billOf("a", both, nil)
	require.ErrorContains(t, err, "b@v1.0.0 has the hash")
}
