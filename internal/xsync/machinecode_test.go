//go:build !interleave && (linux || darwin)

package xsync_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/farad-go/farad/internal/locktest/require"
)

// sample is compiled with each of several packages behind its types.
const sample = `
func boolLoad(x *Bool) bool             { return x.Load() }
func boolStore(x *Bool, v bool)         { x.Store(v) }
func boolSwap(x *Bool, v bool) bool     { return x.Swap(v) }
func boolCAS(x *Bool, o, v bool) bool   { return x.CompareAndSwap(o, v) }

func int64Load(x *Int64) int64          { return x.Load() }
func int64Store(x *Int64, v int64)      { x.Store(v) }
func int64Swap(x *Int64, v int64) int64 { return x.Swap(v) }
func int64CAS(x *Int64, o, v int64) bool { return x.CompareAndSwap(o, v) }
func int64Add(x *Int64, d int64) int64  { return x.Add(d) }
func int64Or(x *Int64, m int64) int64   { return x.Or(m) }

func uint32Load(x *Uint32) uint32           { return x.Load() }
func uint32Store(x *Uint32, v uint32)       { x.Store(v) }
func uint32Swap(x *Uint32, v uint32) uint32 { return x.Swap(v) }
func uint32CAS(x *Uint32, o, v uint32) bool { return x.CompareAndSwap(o, v) }
func uint32Add(x *Uint32, d uint32) uint32  { return x.Add(d) }
func uint32Or(x *Uint32, m uint32) uint32   { return x.Or(m) }

func uintptrLoad(x *Uintptr) uintptr            { return x.Load() }
func uintptrStore(x *Uintptr, v uintptr)        { x.Store(v) }
func uintptrSwap(x *Uintptr, v uintptr) uintptr { return x.Swap(v) }
func uintptrCAS(x *Uintptr, o, v uintptr) bool  { return x.CompareAndSwap(o, v) }
func uintptrAdd(x *Uintptr, d uintptr) uintptr  { return x.Add(d) }
func uintptrOr(x *Uintptr, m uintptr) uintptr   { return x.Or(m) }

type node struct{ next Pointer[node] }

func pointerLoad(x *Pointer[node]) *node             { return x.Load() }
func pointerStore(x *Pointer[node], v *node)         { x.Store(v) }
func pointerSwap(x *Pointer[node], v *node) *node    { return x.Swap(v) }
func pointerCAS(x *Pointer[node], o, v *node) bool   { return x.CompareAndSwap(o, v) }

func lock(m *Mutex)         { m.Lock() }
func unlock(m *Mutex)       { m.Unlock() }
func tryLock(m *Mutex) bool { return m.TryLock() }

var pool = Pool{New: func() any { return new(node) }}

func get() *node  { return pool.Get().(*node) }
func put(n *node) { pool.Put(n) }

type guarded struct {
	mu   Mutex
	word Int64
	open Bool
}

func (g *guarded) take(n int64) bool {
	for o := g.word.Load(); o >= n; o = g.word.Load() {
		if g.word.CompareAndSwap(o, o-n) {
			return true
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open.Load() && g.word.Add(-n) >= 0
}
`

const samples = 32 // functions in sample, without those that the compiler adds

// behind has the import and the names for each variant of the sample. In "called", "hooked" and
// "wider" some methods of the door are something else than the library's.
var behind = map[string]string{
	"door": `
import (
	"github.com/farad-go/farad/internal/xsync"
)

type (
	Bool           = xsync.Bool
	Int64          = xsync.Int64
	Uint32         = xsync.Uint32
	Uintptr        = xsync.Uintptr
	Pointer[T any] = xsync.Pointer[T]
	Mutex          = xsync.Mutex
	Pool           = xsync.Pool
)`,
	"library":  library,
	"embedded": embedded,
	"called": embedded + `
//go:noinline
func (x *Int64) Load() int64 { return x.Int64.Load() }`,
	"hooked": embedded + `
var hook func()

func (x *Uint32) Load() uint32 {
	if hook != nil {
		hook()
	}
	return x.Uint32.Load()
}`,
	"wider": strings.Replace(library, "= sync.Mutex", "struct{ id int; sync.Mutex }", 1),
}

const library = `
import (
	"sync"
	"sync/atomic"
)

type (
	Bool           = atomic.Bool
	Int64          = atomic.Int64
	Uint32         = atomic.Uint32
	Uintptr        = atomic.Uintptr
	Pointer[T any] = atomic.Pointer[T]
	Mutex          = sync.Mutex
	Pool           = sync.Pool
)`

// embedded is what "called" and "hooked" are compared with. Since Go 1.27 the compiler makes one
// instruction less for a promoted method than for the method itself, so that a comparison with the
// library would see the promotion as well.
var embedded = strings.NewReplacer(
	"= atomic.Int64", "struct{ atomic.Int64 }",
	"= atomic.Uint32", "struct{ atomic.Uint32 }",
).Replace(library)

const module = "github.com/farad-go/farad/"

// The compiler inlines a method of another package only if it finds the body in the export data of
// that package or of another imported one. An alias alone does not bring the body along: only the
// machine code shows it.
func TestDoorCompilesToTheLibrarysCode(t *testing.T) {
	code := compileSamples(t)
	if differ := differing(code["library"], code["door"]); len(differ) > 0 {
		first := differ[0]
		require.Equal(t, code["library"][first], code["door"][first], "%s, the first of %q", first, differ)
	}
}

// The comparison sees a method that is called, a check that is inlined, and a field more.
func TestComparisonOfMachineCodeSeesDifferences(t *testing.T) {
	code := compileSamples(t)
	for _, c := range []struct {
		base, variant string
		want          []string
	}{
		{"embedded", "called", []string{"(*guarded).take", "int64Load"}},
		{"embedded", "hooked", []string{"uint32Load"}},
		{"library", "wider", []string{"(*guarded).take", "lock", "tryLock", "unlock"}},
	} {
		require.Equal(require.GoOn(t), c.want, differing(code[c.base], code[c.variant]), c.variant)
	}
}

// differing returns the names of the functions of a that are not the same, or missing, in b.
func differing(a, b map[string]string) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	return names
}

// What the sample shows for itself, shown for the core: no call where the library has an
// instruction.
func TestCoreCallsNoAtomics(t *testing.T) {
	call := regexp.MustCompile(`CALL\tsync/atomic\.\(\*(Bool|Int64|Uint32|Uintptr)\)\.\w+`)
	for pkg, out := range compile(t, "", "./internal/waiting", "./internal/engine", "./sync/semaphore") {
		require.Contains(t, out, " STEXT ", pkg)
		require.Empty(require.GoOn(t), call.FindAllString(out, -1), pkg)
	}
}

// compileSamples returns the normalized code of each function of each variant.
func compileSamples(t *testing.T) map[string]map[string]string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	overlay := map[string]map[string]string{"Replace": {}}
	var pkgs []string
	for variant, head := range behind {
		file := filepath.Join(dir, variant+".go")
		require.NoError(t, os.WriteFile(file, []byte("package sample\n"+head+"\n"+sample), 0o600))
		// Only what lies inside the module may import the door.
		overlay["Replace"][filepath.Join(root, "internal/xsync/testdata", variant, "sample.go")] = file
		pkgs = append(pkgs, "./internal/xsync/testdata/"+variant)
	}
	text, err := json.Marshal(overlay)
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))

	code := map[string]map[string]string{}
	for pkg, out := range compile(t, file, pkgs...) {
		code[filepath.Base(pkg)] = functions(pkg, out)
	}
	for variant := range behind {
		require.GreaterOrEqual(t, len(code[variant]), samples, variant)
	}
	return code
}

// compile returns the assembly of packages of this module, each by its import path.
func compile(t *testing.T, overlay string, pkgs ...string) map[string]string {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go tool here, and so no compiler to ask")
	}
	args := append([]string{"build", "-overlay=" + overlay, "-gcflags=-S"}, pkgs...)
	cmd := exec.Command(tool, args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	byPackage := map[string]string{}
	for part := range strings.SplitSeq("\n"+string(out), "\n# ") {
		if pkg, text, ok := strings.Cut(part, "\n"); ok && strings.HasPrefix(pkg, module) {
			byPackage[pkg] += text
		}
	}
	require.Len(t, byPackage, len(pkgs))
	return byPackage
}

// functions takes the functions of package pkg out of the compiler's listing: instructions, bytes
// and relocations, without the positions in files and without the name of the package.
func functions(pkg, listing string) map[string]string {
	all := map[string]string{}
	name := ""
	for line := range strings.Lines(listing) {
		line = strings.ReplaceAll(line, pkg+".", "")
		offset, instruction, positioned := strings.Cut(strings.TrimPrefix(line, "\t"), "\t")
		switch {
		case !strings.HasPrefix(line, "\t"): // the head of a symbol: name, kind, sizes
			symbol, rest, _ := strings.Cut(line, " ")
			name = ""
			// Not what the compiler adds to every package that needs it, like the methods of an
			// embedded type.
			if strings.HasPrefix(rest, "STEXT ") && !strings.Contains(rest, "dupok") {
				name = symbol
				all[name] = rest
			}
		case name == "":
		case positioned: // an instruction: offsets, then the position in a file, then what it is
			offset, _, _ = strings.Cut(offset, " (")
			all[name] += offset + " " + instruction
		default: // bytes or a relocation
			all[name] += line
		}
	}
	return all
}
