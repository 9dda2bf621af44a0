package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/semver"

	"github.com/farad-go/farad/tools/internal/repo"
)

func TestWhatAVersionAllows(t *testing.T) {
	line := []string{"pkg p, func F()"}
	for _, c := range []struct {
		previous, version string
		gone, added       []string
		allowed           bool
	}{
		{"v0.1.0", "v0.1.1", nil, nil, true},
		{"v0.1.0", "v0.1.1", nil, line, false},
		{"v0.1.0", "v0.1.1", line, nil, false},
		{"v0.1.0", "v0.2.0", line, line, true},
		{"v0.9.0", "v1.0.0", line, line, true},
		{"v1.0.0", "v1.0.1", nil, line, false},
		{"v1.0.0", "v1.1.0", nil, line, true},
		{"v1.0.0", "v1.1.0", line, nil, false},
		{"v0.1.0", "v0.1.0", nil, nil, false},
		{"v0.2.0", "v0.1.1", nil, nil, false},
		{"v0.1.0-rc.1", "v0.1.0", nil, nil, true},
	} {
		err := allows(c.previous, c.version, c.gone, c.added)
		require.Equal(t, c.allowed, err == nil, "%+v: %v", c, err)
	}
}

func TestCloseSection(t *testing.T) {
	day := time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)
	log, section, err := closeSection(
		"# Changelog\n\n## Unreleased\n\nWords.\n\n### Added\n\n- A.\n\n## v0.1.0 – 2026-01-02\n\n### Added\n\n- B.\n", "v0.2.0", day)
	require.NoError(t, err)
	require.Equal(t, "### Added\n\n- A.", section)
	require.Equal(t, "# Changelog\n\n## Unreleased\n\n## v0.2.0 – 2026-11-25\n\n### Added\n\n- A.\n\n"+
		"## v0.1.0 – 2026-01-02\n\n### Added\n\n- B.\n", log)

	_, _, err = closeSection(log, "v0.3.0", day) // nothing is unreleased
	require.ErrorContains(t, err, "empty")
	_, _, err = closeSection("# Changelog\n\n## Unreleased\n\n### Added\n", "v0.1.0", day)
	require.ErrorContains(t, err, "empty")
	_, _, err = closeSection("# Changelog\n", "v0.1.0", day)
	require.ErrorContains(t, err, "no section")
}

// A module is tagged after those that it requires, and all require one version, which will exist.
func TestTagsAreInOrder(t *testing.T) {
	t.Chdir("../..")
	version, err := requiredVersion(".", repo.Shipped)
	require.NoError(t, err)
	tagged := map[string]bool{}
	for _, folder := range repo.Shipped {
		f, err := readMod(folder + "/go.mod")
		require.NoError(t, err)
		for _, r := range f.Require {
			require.True(t, !isOwn(r.Mod.Path) || tagged[r.Mod.Path], "%s comes before %s", f.Module.Mod.Path, r.Mod.Path)
		}
		tagged[f.Module.Mod.Path] = true
	}
	require.Equal(t, []string{version, "limit/grpclimit/" + version}, tags(version)[:2])
}

func TestSetVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("nested", 0o755))
	write := func(name, text string) { require.NoError(t, os.WriteFile(name, []byte(text), 0o644)) }
	write("go.mod", "module "+repo.Module+"\n")
	write("nested/go.mod", "module "+repo.Module+"/nested\n\nrequire "+repo.Module+" v0.1.0\n\nrequire example.com/x v0.1.0\n")
	for _, command := range [][]string{{"git", "init", "-q"}, {"git", "add", "."}} {
		_, err := run(t.Context(), ".", command[0], command[1:]...)
		require.NoError(t, err)
	}
	require.NoError(t, setVersion(t.Context(), "v0.2.0"))
	f, err := readMod("nested/go.mod")
	require.NoError(t, err)
	require.Equal(t, "v0.2.0", f.Require[0].Mod.Version)
	require.Equal(t, "v0.1.0", f.Require[1].Mod.Version)
}

func TestACostThatHasGrownIsFound(t *testing.T) {
	most := cost{mod: 5, sum: 10, vendored: 100, binary: 1000}
	require.NoError(t, most.above(most))
	require.NoError(t, cost{build: time.Hour}.above(most)) // not bounded
	for _, c := range []cost{{mod: 6}, {sum: 11}, {vendored: 101}, {explorer: 1}, {binary: 1001}} {
		require.ErrorContains(t, c.above(most), "more than")
	}
}

func TestNextPatch(t *testing.T) {
	require.Equal(t, "v0.1.1", nextPatch("v0.1.0"))
	require.Positive(t, semver.Compare(nextPatch("v1.9.9"), "v1.9.9"))
}
