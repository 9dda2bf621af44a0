package subject

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/library"
	"github.com/farad-go/farad/tools/internal/repo"
)

const (
	path    = "example.org/theirs"
	version = "v1.0.0"
	root    = "../../.." // of our module
)

// proxy lets the go command find a module with these files, and nothing else.
func proxy(t *testing.T, files map[string]string) {
	t.Helper()
	folder := t.TempDir()
	at := filepath.Join(folder, path, "@v")
	require.NoError(t, os.MkdirAll(at, 0o755))
	packed, err := os.Create(filepath.Join(at, version+".zip"))
	require.NoError(t, err)
	z := zip.NewWriter(packed)
	for name, text := range files {
		w, err := z.Create(path + "@" + version + "/" + name)
		require.NoError(t, err)
		_, err = w.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, packed.Close())
	mod, ok := files["go.mod"]
	if !ok {
		mod = "module " + path + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(at, version+".mod"), []byte(mod), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(at, version+".info"), []byte(`{"Version":"`+version+`"}`), 0o600))
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(folder))
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOTOOLCHAIN", "local") // that proxy has no other
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw") // so that the test can remove it
}

func TestModuleRequiresOurs(t *testing.T) {
	const theirs = "package theirs\n\nimport \"sync\"\n\nvar Mu sync.Mutex\n"
	for name, mod := range map[string]string{
		"with a go.mod": "module " + path + "\n\ngo 1.20\n\nreplace example.org/other => ../other\n\n" +
			"replace example.org/fork v1.2.3 => example.org/ours v1.2.3\n",
		"before modules": "",
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"theirs.go": theirs, "testdata/file": "data"}
			if mod != "" {
				files["go.mod"] = mod
			}
			proxy(t, files)
			folder := filepath.Join(t.TempDir(), "module")
			require.NoError(t, Module(folder, path, version, "/ours", repo.Module))
			text, err := os.ReadFile(filepath.Join(folder, "theirs.go"))
			require.NoError(t, err)
			require.Equal(t, theirs, string(text))
			require.FileExists(t, filepath.Join(folder, "testdata", "file"))
			text, err = os.ReadFile(filepath.Join(folder, "go.mod"))
			require.NoError(t, err)
			require.Contains(t, string(text), "module "+path+"\n")
			require.Contains(t, string(text), repo.Module+" v0.0.0")
			require.Contains(t, string(text), "replace "+repo.Module+" => /ours\n")
			require.NotContains(t, string(text), "../other")
			if mod != "" {
				require.Contains(t, string(text), "example.org/fork v1.2.3 => example.org/ours v1.2.3")
			}
		})
	}
	require.Error(t, Module(filepath.Join(t.TempDir(), "module"), "example.org/none", version, "/ours", repo.Module))
}

// The library's tests are complete outside of it, and those that others could copy are all there.
func TestTheLibrarysTestsCompileElsewhere(t *testing.T) {
	if _, err := library.Folder(); err != nil {
		t.Skip(err)
	}
	ours, err := filepath.Abs(root)
	require.NoError(t, err)
	folder := filepath.Join(t.TempDir(), "module")
	require.NoError(t, Library(folder, ours, repo.Module))
	list := exec.Command("go", "test", "-vet=off", "-list=.", ".")
	list.Dir, list.Env = folder, append(os.Environ(), Env()...)
	out, err := list.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, test := range []string{
		"TestMutex", "TestMutexMisuse", "TestMutexFairness", "TestRWMutex", "TestRLocker", "TestCondSignal",
		"TestCondCopy", "TestWaitGroup", "TestWaitGroupMisuse", "TestOncePanic", "TestConcurrentRange", "TestPoolStress",
		"ExampleOnce",
	} {
		require.Contains(t, string(out), test+"\n")
	}
}
