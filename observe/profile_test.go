package observe

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/observed/text"
)

//go:noinline
func leakingHandler() []uintptr { return here() }

//go:noinline
func patientHandler() []uintptr { return here() }

// aBadDay has a pool of 5 whose permits have leaked, and somebody who waits.
func aBadDay() *Snapshot {
	at := time.Unix(1_800_000_000, 0)
	leaking, patient := leakingHandler(), patientHandler()
	pool := Lock{ID: 1, Name: `database "a"`, Kind: "semaphore.Semaphore", Level: LevelHolders, Size: 5, Held: 5}
	for i := range 2 {
		pool.Holders = append(pool.Holders, Holder{
			ID: uint64(i + 1), Permits: 2, Since: at.Add(-time.Minute), Stack: leaking, Blame: 7 * time.Second,
			Agent: Agent{Goroutine: uint64(7 + i), Labels: map[string]string{"path": "/users"}},
		})
	}
	pool.Holders = append(pool.Holders, Holder{ID: 3, Permits: 1, Since: at.Add(-time.Second)})
	pool.Waiters = []Waiter{{
		ID: 4, Permits: 1, Since: at.Add(-10 * time.Second), Stack: patient, Agent: Agent{Task: 9, Name: "report"},
	}}
	pool.Sites = []Site{
		{Stack: patient, Waits: 3, Delay: 30 * time.Second, Holds: 3, Held: time.Second, Blame: time.Second},
		{Stack: leaking, Holds: 20, Held: time.Second}, // nobody has waited
	}
	return &Snapshot{At: at, Locks: []Lock{pool, {ID: 2, Kind: "mutex.Mutex"}}}
}

func parse(t *testing.T, s *Snapshot, name string) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, s.WriteProfile(&b, name))
	p, err := profile.Parse(&b)
	require.NoError(t, err)
	require.NoError(t, p.CheckValid())
	return p
}

func column(t *testing.T, p *profile.Profile, name string) (sum int64, byFunction map[string]int64) {
	t.Helper()
	i, err := p.SampleIndexByName(name)
	require.NoError(t, err)
	byFunction = map[string]int64{}
	for _, s := range p.Sample {
		sum += s.Value[i]
		byFunction[text.Function(frameOf(s))] += s.Value[i]
	}
	return sum, byFunction
}

func TestTheProfileOfWhatIsHeldHasAllPermits(t *testing.T) {
	p := parse(t, aBadDay(), "farad_held")
	require.Len(t, p.Sample, 2, "the same stack with the same labels is one sample")
	sum, by := column(t, p, "permits")
	require.Equal(t, int64(5), sum)
	require.Equal(t, map[string]int64{"observe.leakingHandler": 4, "(unknown)": 1}, by)
	sum, _ = column(t, p, "time")
	require.Equal(t, int64(2*time.Minute+time.Second), sum)
	require.Equal(t, "permits", p.DefaultSampleType)
	s := p.Sample[0]
	require.Equal(t, map[string][]string{
		"lock": {`database "a"`}, "kind": {"semaphore.Semaphore"}, "path": {"/users"},
	}, s.Label)
}

func TestTheProfileOfWaitsBlamesTheHolders(t *testing.T) {
	p := parse(t, aBadDay(), "farad_wait")
	sum, by := column(t, p, "delay")
	require.Equal(t, int64(40*time.Second), sum)
	require.Equal(t, int64(40*time.Second), by["observe.patientHandler"])
	sum, by = column(t, p, "blame")
	require.Equal(t, int64(15*time.Second), sum)
	require.Equal(t, int64(14*time.Second), by["observe.leakingHandler"])
	sum, _ = column(t, p, "contentions")
	require.Equal(t, int64(4), sum)
}

func TestAnUnknownProfileIsAnError(t *testing.T) {
	require.ErrorContains(t, new(Snapshot).WriteProfile(os.Stderr, "heap"), `"heap"`)
	require.Empty(t, parse(t, new(Snapshot), "farad_held").Sample)
}

// What users run. It needs no program, because all symbols are in the file.
func TestGoToolPprofReadsTheProfiles(t *testing.T) {
	if !locktest.Stress() {
		t.Skip("the go command builds pprof first")
	}
	for name, want := range map[string]struct{ flags, lines []string }{
		"farad_held": {nil, []string{`4 80\.00% .*observe\.leakingHandler`}},
		"farad_wait": {[]string{"-sample_index=blame"}, []string{`14s 93\.33% .*observe\.leakingHandler`}},
	} {
		file := filepath.Join(t.TempDir(), name)
		f, err := os.Create(file)
		require.NoError(t, err)
		require.NoError(t, aBadDay().WriteProfile(f, name))
		require.NoError(t, f.Close())
		args := append([]string{"tool", "pprof", "-top"}, want.flags...)
		out, err := exec.Command("go", append(args, file)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		for _, line := range want.lines {
			require.Regexp(t, line, string(out))
		}
	}
}

func frameOf(s *profile.Sample) runtime.Frame {
	return runtime.Frame{Function: s.Location[0].Line[0].Function.Name}
}
