package main

import (
	"bufio"
	"bytes"
	"context"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
	"github.com/farad-go/farad/internal/locktest"
)

func TestMain(m *testing.M) {
	if clitest.IsProgram() {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// open starts the program, and returns where it serves.
func open(t *testing.T) (url string) {
	t.Helper()
	cmd := clitest.Command(t, "-port", "0")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		http.DefaultClient.CloseIdleConnections()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	_, url, ok := strings.Cut(strings.TrimSpace(line), "The shop is open: ")
	require.True(t, ok, line)
	return url
}

// get returns what url serves.
func get(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(body)
}

var (
	tags   = regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// read returns the words of a page, as one who reads it without JavaScript sees them.
func read(page string) string {
	return spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(page, " ")), " ")
}

// top returns go tool pprof's view of a profile, with lines.
func top(t *testing.T, url, profile, column string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), profile)
	require.NoError(t, os.WriteFile(file, []byte(get(t, url+"/debug/locks?profile="+profile)), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", "-lines", "-sample_index="+column, file).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// await waits until what look returns matches all regular expressions.
func await(t *testing.T, look func() string, all ...string) {
	t.Helper()
	var last string
	missing := func(want string) bool { return !regexp.MustCompile(want).MatchString(last) }
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		last = look()
		i := slices.IndexFunc(all, missing)
		if i < 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("never: %s in\n%s", all[i], last)
		}
	}
}

// Each incident is found in each of three ways, by who knows nothing of the program.
func TestTheCauseIsFound(t *testing.T) {
	if !locktest.Stress() {
		t.Skip("waits some seconds for each incident, and runs the go command")
	}
	for _, incident := range []struct {
		name            string
		page, text      []string // regular expressions
		profile, column string
		worst           string // the first line of the profile
	}{
		{
			name:    "leak",
			page:    []string{`Long hold of "database connections"`, `(main|incident)\.\(\*shop\)\.search`, `database connections.* 4 ?/ ?4`},
			text:    []string{`SUSPICION: long hold of "database connections"(.*\n)+? +(main|incident)\.\(\*shop\)\.search .*shop\.go:\d+`, `saturated +database connections +4/4`},
			profile: "farad_held", column: "permits", worst: `^4 .*(main|incident)\.\(\*shop\)\.search .*shop\.go`,
		},
		{
			name:    "deadlock",
			page:    []string{`(?i)deadlock`, `Ada's account`, `Ben's account`, `(main|incident)\.\(\*shop\)\.pay`},
			text:    []string{`DEADLOCK(.*\n)+?.* for "(Ada|Ben)'s account"(.*\n)+?.* for "(Ada|Ben)'s account"`, `(main|incident)\.\(\*shop\)\.pay .*shop\.go:\d+`},
			profile: "farad_wait", column: "blame", worst: `(main|incident)\.\(\*shop\)\.pay .*shop\.go`,
		},
		{
			name:    "saturation",
			page:    []string{`saturated`, `thumbnail slots.* 2 ?/ ?2`, `(main|incident)\.\(\*shop\)\.thumbnail`},
			text:    []string{`saturated +thumbnail slots +2/2 +(1[5-9]|20)\d `, `SUSPICION: long wait of "thumbnail slots"`},
			profile: "farad_wait", column: "delay", worst: `(main|incident)\.\(\*shop\)\.thumbnail .*shop\.go`,
		},
		{
			name:    "slow",
			page:    []string{`Long hold of "prices"`, `(main|incident)\.\(\*shop\)\.updateLocked`},
			text:    []string{`SUSPICION: long hold of "prices"(.*\n)+? +(main|incident)\.\(\*shop\)\.updateLocked .*shop\.go:\d+`},
			profile: "farad_wait", column: "blame", worst: `(main|incident)\.\(\*shop\)\.updateLocked .*shop\.go`,
		},
	} {
		t.Run(incident.name, func(t *testing.T) {
			t.Parallel() // they wait, each in a process of its own
			url := open(t)
			answer, err := http.Post(url+"/break/"+incident.name, "", nil)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, "/debug/locks", answer.Request.URL.Path, "the page that shows it")
			text := func() string { return get(t, url+"/debug/locks?format=text") }
			page := func() string { return read(get(t, url+"/debug/locks")) }
			worst := func() string {
				_, table, _ := strings.Cut(top(t, url, incident.profile, incident.column), "cum%\n")
				first, _, _ := strings.Cut(table, "\n")
				return strings.TrimSpace(first)
			}
			await(t, text, incident.text...)
			await(t, page, incident.page...)
			await(t, worst, incident.worst)
		})
	}
}

func TestAWholeShopShowsNoFault(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the program")
	}
	url := open(t)
	var text string
	await(t, func() string {
		text = get(t, url+"/debug/locks?format=text")
		return text
	}, `\n[a-z]+ +Ada's account .*\n`, `\n[a-z]+ +thumbnail slots .*\n`, `\n[a-z]+ +prices .*\n`)
	require.NotContains(t, text, "DEADLOCK")
	require.NotContains(t, text, "SUSPICION: long")
	require.Contains(t, get(t, url), "<button>saturation</button>")
}

func TestOnlyWhatThereIsCanBeBroken(t *testing.T) {
	s := newShop(t.Context())
	mux := http.NewServeMux()
	s.mount(mux)
	for path, code := range map[string]int{"/break/leak": http.StatusSeeOther, "/break/windows": http.StatusNotFound} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, http.NoBody))
		require.Equal(t, code, w.Code, path)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	require.Contains(t, w.Body.String(), `<button disabled>leak</button>`)
}

func TestAPortThatIsTakenIsTold(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0")
	require.NoError(t, err)
	defer l.Close()
	var out, errs bytes.Buffer
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	require.Equal(t, cli.ExitFailed, run(context.Background(), []string{"-port", port}, &out, &errs))
	require.Contains(t, errs.String(), "address already in use")
	require.Equal(t, cli.ExitUsage, run(context.Background(), []string{"-port", "70000"}, &out, &errs))
}
