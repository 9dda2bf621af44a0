package measure

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// A Machine is what a reader has to know before comparing figures with those of another run.
type Machine struct {
	CPU        string    `json:"cpu"`
	Cores      int       `json:"cores"`
	GOMAXPROCS int       `json:"gomaxprocs"`
	System     string    `json:"system"`
	Load       string    `json:"load,omitempty"` // before the run: what else the machine had to do
	Go         string    `json:"go"`
	Build      string    `json:"build,omitempty"`
	Sleep      string    `json:"sleep,omitempty"` // what the locks' goroutines sleep by
	Peers      string    `json:"peers,omitempty"` // the modules that farad is measured against
	Commit     string    `json:"commit"`
	Date       time.Time `json:"date"`
	Command    string    `json:"command"`
}

// What goroutines sleep by: the runtime's gopark, or channels where a build does not have that or
// the user wants channels.
const (
	SleepGopark   = "gopark"
	SleepChannels = "channels"
)

// Unknown stands for what could not be found out.
const Unknown = "unknown"

// ThisMachine describes the machine that this program runs on, with these arguments.
func ThisMachine(args []string) Machine {
	build := buildSettings()
	m := Machine{
		CPU:        cpuModel(),
		Cores:      runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		System:     runtime.GOOS + "/" + runtime.GOARCH,
		Go:         runtime.Version(),
		Build:      strings.Join(build, " "),
		Peers:      strings.Join(peerVersions(), ", "),
		Commit:     commit(),
		Date:       time.Now().UTC().Truncate(time.Second),
		// Under go run, the program's own name is a temporary file.
		Command: CommandLine(append(append([]string{"go", "run"}, build...), "."), args),
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += ", kernel " + strings.TrimSpace(string(release))
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		if averages := strings.Fields(string(load)); len(averages) >= 3 {
			m.Load = strings.Join(averages[:3], " ")
		}
	}
	return m
}

// cpuModel returns the first model that the kernel names; not every kernel does.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return Unknown
	}
	for line := range strings.Lines(string(info)) {
		if key, model, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return Unknown
}

// buildSettings returns the settings that change what is measured, as flags of go run.
func buildSettings() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var flags []string
	for _, s := range info.Settings {
		switch s.Key {
		case "-tags", "-race", "-gcflags", "-pgo":
			flags = append(flags, s.Key+"="+quote(s.Value))
		}
	}
	return flags
}

// PeerModules are those that farad is measured against.
var PeerModules = []string{
	"golang.org/x/sync", "github.com/neilotoole/fifomu", "github.com/puzpuzpuz/xsync/v4",
	"github.com/panjf2000/ants/v2", "github.com/alitto/pond/v2",
	"github.com/sourcegraph/conc",
}

// peerVersions returns which of them were built in.
func peerVersions() []string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var versions []string
	for _, m := range info.Deps {
		if slices.Contains(PeerModules, m.Path) {
			versions = append(versions, m.Path+" "+m.Version)
		}
	}
	return versions
}

// commit returns the commit of the working directory, and whether it is what was built.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return Unknown
	}
	c := strings.TrimSpace(string(head))
	changes, err := exec.Command("git", "status", "--porcelain").Output()
	if err != nil || len(changes) > 0 {
		c += " (dirty)"
	}
	return c
}

// CommandLine is the program with its arguments, for a shell.
func CommandLine(program, args []string) string {
	words := program
	for _, a := range args {
		words = append(words, quote(a))
	}
	return strings.Join(words, " ")
}

var plainWord = regexp.MustCompile(`^[\w./=:,+-]+$`)

// quote makes one word for a shell.
func quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
