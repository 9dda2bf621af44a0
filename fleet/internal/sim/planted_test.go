package sim

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Defects, written into the agent, the state or the driver one at a time. The simulator must find
// each, in runs of one kind.
var planted = []struct{ name, kind, file, from, to string }{
	{
		"a guard that only knows absence", "faults", "store.go",
		"if mod != op.Mod {", "if (op.Mod == 0) != (mod == 0) {",
	},
	{
		"what was withdrawn is given again, after a read", "faults", "../line/agent.go",
		"b.Entry, b.keep = *e, min(b.keep, e.Weight)", "b.Entry, b.keep = *e, e.Weight",
	},
	{
		"a waiting entry is returned, and given when its turn comes", "prompt", "../line/agent.go",
		"b.keep = 0 // of no use, or too small", "ops = append(ops, Op{Key: b.Key, Mod: b.Mod})\n\t\t\tcontinue",
	},
	{
		"capacity from a waiting entry", "prompt", "../line/agent.go",
		"if holds && !b.holds {", "if (holds || true) && !b.holds {",
	},
	{
		"the last of an entry may exceed the size", "prompt", "../../store/state.go",
		"sum <= s.Size", "sum-e.Weight < s.Size",
	},
	{
		"an idle block that vanishes is no loss", "tampered", "../line/agent.go",
		"case left < had || a.holding()", "case a.holding()",
	},
	{
		"the size falls, and blocks stay", "prompt", "../line/agent.go",
		"\ta.shrink()\n", "",
	},
	{
		"new blocks pay for old ones", "prompt", "../line/agent.go",
		"\t\ta.renew(a.weight(a.local.Held())-had, now)\n", "",
	},
	{
		"idle permits stay while others wait", "prompt", "../line/agent.go",
		"if others || own || a.lean {", "if own || a.lean {",
	},
	{
		"idle permits stay while the process waits for more", "prompt", "../line/agent.go",
		"if others || own || a.lean {", "if others || own && false || a.lean {",
	},
	{
		"idle permits stay although the agent is lean", "prompt", "../line/agent.go",
		"if others || own || a.lean {", "if others || own {",
	},
	{
		"a lean agent does not learn what is released", "prompt", "../line/agent.go",
		"others || own || a.lean, a.given()", "others || own, a.given()",
	},
	{
		"the tenure has no end", "prompt", "../line/agent.go",
		"case now >= end:", "case false:",
	},
	{
		"less is asked for than the oldest request needs", "prompt", "../line/agent.go",
		"max(need, min(all, max(free, share-has)))", "max(1, min(all, max(free, share-has)))",
	},
	{
		"an entry that is too small for the oldest request stays", "prompt", "../line/agent.go",
		" || a.given() < need && b.keep < need:", ":",
	},
	{
		"the stamp comes after the permits", "fenced", "../line/agent.go",
		"\t\ta.local.Granted(a.state.Rev, holders(&a.state))\n\t\ta.local.Resize(a.permits(a.given()))\n",
		"\t\ta.local.Resize(a.permits(a.given()))\n\t\ta.local.Granted(a.state.Rev, holders(&a.state))\n",
	},
	{
		"a token knows no survivors but those of its own lease", "fenced", "process.go",
		"r.token = t.stamp()", "t.engine.holders = []int64{t.lease}\n\t\tr.token = t.stamp()",
	},
	{
		"validity is reckoned from the answer", "faults", "process.go",
		"\t\t\t\ts.validFrom(sent, sentWall)\n",
		"\t\t\t\ts.validFrom(max(sent, p.clock()), max(sentWall, p.wallClock()))\n",
	},
	{
		"a renewal brings back what was lost", "faults", "process.go",
		"\t\t\tcase s.valid():\n", "\t\t\tcase true:\n\t\t\t\ts.over = false\n",
	},
	{
		"a lease is revoked while goroutines hold", "tampered", "process.go",
		"\tt.drive()\n\tif p.cur == t {\n", "\tt.drive()\n\tt.revoke()\n\tif p.cur == t {\n",
	},
	{
		"a release that pays a debt wakes nobody", "prompt", "process.go",
		"debt || idle && e.size > e.held", "debt && false || idle && e.size > e.held",
	},
	{
		"a token does not name who held when the size fell", "resized", "../line/agent.go",
		"(holds || e.Create < s.SizeMod)", "holds",
	},
	{
		"a transaction is as long as it gets", "many", "../line/agent.go",
		"ops = ops[:min(len(ops), a.limit-1)]", "",
	},
	{
		"what did not go with one transaction is forgotten", "prompt", "../line/agent.go",
		"spare -= cut\n\t\tif b.keep < b.Weight {", "spare -= cut\n\t\tif cut > 0 {",
	},
	{
		"without space, what is returned waits for what is asked for", "prompt", "../line/agent.go",
		"a.full && len(whole) > 0", "false",
	},
	{
		"a state that is older than what is known", "faults", "../line/agent.go",
		"if s.Rev >= a.state.Rev {", "if true {",
	},
	{
		"doubt is never kept", "reopened", "../line/agent.go",
		"a.busy, a.fence, a.doubt = false, false, true", "a.busy, a.fence = false, false",
	},
	{
		"doubt never ends", "reopened", "../line/agent.go",
		"\ta.doubt = a.doubt && (!a.fence || !carriedOut)\n", "",
	},
	{
		"a fence that is refused ends doubt", "reopened", "../line/agent.go",
		"(!a.fence || !carriedOut)", "!a.fence",
	},
	{
		"a fence that had no answer ends doubt", "reopened", "../line/agent.go",
		"a.busy, a.fence, a.doubt = false, false, true", "a.busy, a.fence, a.doubt = false, false, !a.fence",
	},
	{
		"what is not returned is forgotten", "reopened", "process.go",
		"t.agent.Done() && p.w.Twice == 0", "p.w.Twice == 0",
	},
	{
		"a line that is opened again adopts what is there", "reopened", "../line/agent.go",
		"k.Lease == a.lease && k.Seq >= a.first &&", "k.Lease == a.lease &&",
	},
	{
		"numbers start again", "reopened", "process.go",
		"\tt.agent = line.NewAgent(", "\tp.numbers = 0\n\tt.agent = line.NewAgent(",
	},
	{
		"the epoch guards nothing", "reopened", "store.go",
		"s.epochs[f.by.lease] != f.epoch ||", "",
	},
	{
		"the guard of absence is left out", "many", "store.go",
		"if mod != op.Mod {", "if mod != op.Mod && op.Mod != 0 {",
	},
	{
		"entries on no lease count", "tampered", "../../store/state.go",
		"if lease != k.Lease {", "if false {",
	},
	{
		"the size does not guard a merge", "many", "store.go",
		"|| f.txn.Merges && s.sizeMod != f.txn.SizeMod", "",
	},
	{
		"entries that do not fit any more are merged", "many", "../line/agent.go",
		"\t\tif !holds {\n", "\t\tif !holds && false {\n",
	},
	{
		"a merge that was carried out is not recognized", "many", "../line/agent.go",
		"\ta.merged()\n", "",
	},
	{
		"a merge without an answer is forgotten", "many", "../line/agent.go",
		"\t\treturn // not yet\n", "\t\ta.merge = nil\n",
	},
	{
		"what is to be returned is merged", "many", "../line/agent.go",
		"b.holds && b.keep == b.Weight", "b.holds",
	},
	{
		"a merge has more operations than there is room for", "many", "../line/agent.go",
		"return some[:min(len(some), room)]", "return some",
	},
	{
		"a server that went back is not noticed", "restored", "process.go",
		"if s.Rev >= asked {", "if true {",
	},
	{
		"a late answer is taken for one of a server that went back", "restored", "process.go",
		"if s.Rev >= asked {", "if s.Rev >= max(asked, p.known()) {",
	},
}

func TestPlantedDefectsStillFit(t *testing.T) {
	for _, p := range planted {
		text, err := os.ReadFile(p.file)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), p.from), "the place of %q", p.name)
	}
}

func TestPlantedDefectsAreFound(t *testing.T) {
	if os.Getenv("FARAD_STRESS") == "" {
		t.Skip("builds the package for each defect")
	}
	for _, p := range planted {
		t.Run(p.name, func(t *testing.T) {
			original, err := filepath.Abs(p.file)
			require.NoError(t, err)
			text, err := os.ReadFile(original)
			require.NoError(t, err)
			dir := t.TempDir()
			changed := filepath.Join(dir, "changed.go")
			require.NoError(t, os.WriteFile(changed, []byte(strings.Replace(string(text), p.from, p.to, 1)), 0o600))
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: changed}})
			require.NoError(t, err)
			file := filepath.Join(dir, "overlay.json")
			require.NoError(t, os.WriteFile(file, overlay, 0o600))
			cmd := exec.Command("go", "test", "-vet=off", "-count=1", "-timeout", "2m",
				"-overlay", file, "-run", "^TestSeeds$/^"+p.kind+"$", ".")
			cmd.Env = append(os.Environ(), "FARAD_STRESS=")
			out, err := cmd.CombinedOutput()
			require.Error(t, err, "not found")
			found := verdict.FindString(string(out))
			require.NotEmpty(t, found, "it failed otherwise:\n%s", out)
			t.Log(strings.Join(strings.Fields(found), " "))
		})
	}
}

// verdict is what a failed run says.
var verdict = regexp.MustCompile(`Should be empty, but was .*`)
