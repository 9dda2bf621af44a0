//go:build interleave

package engine

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/interleave"
)

// The defects of the published algorithm (docs/design/volt-defects.md), written into ours one at a time: the scenarios of
// tier one must find each, those in plain memory under the race detector.
var planted = []struct {
	name, file, from, to string
	race                 bool // in plain memory: found by the race tier
}{
	{"a: a release looks only at the list", "internal/engine/engine.go",
		"\t\te.serveLocked(base, &wake)\n\t\te.mu.Unlock()\n\t\tn = wake.Wake()",
		"\t\tif e.list.Front() != nil {\n\t\t\te.serveLocked(base, &wake)\n\t\t}\n\t\te.mu.Unlock()\n\t\tn = wake.Wake()", false},
	{"b: a newcomer takes the empty slot", "internal/engine/engine.go",
		"\te.list.PushBack(w)\n\te.refillLocked(o.free(base))",
		"\tif w.N == 1 && e.slot.Load() == nil {\n\t\te.slot.Store(w)\n\t} else {\n\t\te.list.PushBack(w)\n\t}", false},
	{"c: a canceller leaves a waiter that a release owns", "internal/engine/engine.go",
		"\tok := e.slot.CompareAndSwap(w, nil) || e.list.Remove(w)\n",
		"\t_ = e.slot.CompareAndSwap(w, nil) || e.list.Remove(w)\n\tok := true\n", false},
	{"d: surplus passes the slot by", "internal/engine/engine.go",
		"\t\tw := e.takeSlotLocked()\n\t\tif w == nil {\n\t\t\tif w = e.list.Front()",
		"\t\tvar w *waiter.Waiter\n\t\tif w == nil {\n\t\t\tif w = e.list.Front()", false},
	{"e: a poll replaces the waker at any time", "waiter/waiter.go",
		"\tif !w.state.CompareAndSwap(stateArmed, stateRegistering) {\n\t\treturn w.Status()\n\t}\n\tw.waker = waker\n" +
			"\treturn w.endRegistering()",
		"\ts := w.Status()\n\tw.waker = waker\n\treturn s", true},
	{"f: a waiter that is put back becomes the newest", "internal/engine/engine.go",
		"e.list.PushFront(w)", "e.list.PushBack(w)", false},
	{"g: a canceller forgets what it was granted", "internal/engine/acquire.go",
		"\t\te.giveBack(base, n)\n", "\t\t_ = n\n", false},
	{"g: a future forgets what it was granted", "internal/engine/future.go",
		"\t\tf.e.giveBack(f.base, n)\n", "\t\t_ = n\n", false},
	{"g: completion before unlinking", "waiter/queue.go",
		"\t\tnext, n, o := w.next, w.N, w.outcome\n\t\tw.next = nil\n\t\tif !w.Deliver(o) && o == Granted {\n\t\t\trefused += n\n\t\t}\n",
		"\t\tn, o := w.N, w.outcome\n\t\tif !w.Deliver(o) && o == Granted {\n\t\t\trefused += n\n\t\t}\n\t\tnext := w.next\n\t\tw.next = nil\n", true},
	{"g: partial grants", "internal/engine/engine.go",
		"w == nil || w.N > o.free(base) {\n\t\t\t\tbreak",
		"w == nil || w.N > o.free(base) {\n\t\t\t\tif w != nil {\n\t\t\t\t\tf := o.free(base)\n\t\t\t\t\tw.N -= f\n" +
			"\t\t\t\t\to -= State(f << permitShift)\n\t\t\t\t}\n\t\t\t\tbreak", false},
	{"h: a request that is larger than the size waits", "internal/engine/engine.go",
		"if w.N > e.Size(base) {", "if false {", false},
}

func TestPlantedDefectsAreFound(t *testing.T) {
	if testing.Short() || interleave.RaceEnabled {
		t.Skip("builds the package a dozen times")
	}
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			original := filepath.Join(root, filepath.FromSlash(p.file))
			text, err := os.ReadFile(original)
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(text), p.from), "the place to plant it in")
			dir := t.TempDir()
			changed := filepath.Join(dir, "changed.go")
			require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(text), p.from, p.to, 1)), 0o600))
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))

			args := []string{
				"test", "-vet=off", "-count=1", "-failfast", "-timeout", "2m", "-tags", "interleave", "-short",
				"-overlay", filepath.Join(dir, "overlay.json"), "-run", "^TestModel$",
			}
			if p.race {
				args = append(args, "-run", "^TestModel$/^future$", "-race") // the race tier is slow
			}
			c := exec.Command("go", append(args, ".")...)
			c.Env = append(os.Environ(), "INTERLEAVE_TABLE=")
			out, err := c.CombinedOutput()
			require.Error(t, err, "not found:\n%s", out)
			found := verdict.FindString(string(out))
			require.NotEmpty(t, found, "it failed otherwise:\n%s", out)
			t.Log(strings.Join(strings.Fields(found), " "))
		})
	}
}

// verdict is what a failed exploration says: the scenario and what was wrong.
var verdict = regexp.MustCompile(`--- FAIL: TestModel/\S+ \(.*\)\n.*(assertion|deadlock|panic|no end|data race): .*`)
