package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/farad-go/farad/examples/internal/cli"
	"github.com/farad-go/farad/examples/internal/cli/clitest"
)

func TestMain(m *testing.M) {
	if clitest.IsProgram() {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// pipes are a network in memory, for bubbles: there the time passes only when all wait, so a slow
// machine changes nothing.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	close  func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close()
	return nil
}

func (p *pipes) Addr() net.Addr { return pipe{} }

type pipe struct{}

func (pipe) Network() string { return "pipe" }
func (pipe) String() string  { return "pipe" }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// play runs a scenario in virtual time.
func play(t *testing.T, s scenario, p policy, lasts time.Duration) (tr *trial) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		tr = newTrial(s, p, lasts)
		tr.dial = network.dial
		tr.run(t.Context(), network)
	})
	return tr
}

// Each policy keeps what it promises, and loses what the guide says.
func TestWhatEachPolicyMakesOfAnOverload(t *testing.T) {
	lasts := 3 * time.Second
	if testing.Short() {
		lasts = 1200 * time.Millisecond
	}
	type outcome struct {
		urgent float64       // the part of modest's or web's requests that was answered in time
		useful float64       // all answers in time, as a part of what the database can do
		p99    time.Duration // of these
	}
	got := map[string]map[string]outcome{}
	var rows []row
	for _, p := range policies {
		r := row{policy: p}
		got[p.name] = map[string]outcome{}
		for _, s := range scenarios {
			tr := play(t, s, p, lasts)
			urgent, all := tr.result()
			got[p.name][s.name] = outcome{urgent.inTime(), all.rate / capacity, all.quantile(0.99)}
			r.trials = append(r.trials, tr)
			for i := range tr.tallies {
				for why := range tr.tallies[i].failed {
					require.Contains(t, []string{late, "line full", "would expire", "shed"}, why)
				}
			}
			require.EqualValues(t, connections, tr.server.database.Available())
			require.Zero(t, tr.server.limiter.InFlight())
		}
		rows = append(rows, r)
	}
	require.NoError(t, writeTable(t.Output(), rows))

	most, least := 0.8, 0.9
	if testing.Short() { // few requests: one more or less is 8 %
		most, least = 0.9, got["shares"]["slow"].urgent+0.25
	}
	const flood, twice = "flood", "2x load"
	for _, s := range []string{flood, twice} {
		require.Less(t, got["fifo"][s].useful, 0.5, s)
		require.Greater(t, got["refuselate"][s].useful, got["fifo"][s].useful, s)
		for _, name := range []string{"maxwaiting", "lifo", "vegas", "together"} {
			require.Greater(t, got[name][s].useful, 0.7, "%s %s", name, s)
			require.Less(t, got[name][s].p99, deadline*9/10, "%s %s", name, s)
		}
	}
	for _, name := range []string{"shares", "priorities", "together"} {
		require.Greater(t, got[name][flood].urgent, 0.9, name)
	}
	for _, name := range []string{"fifo", "maxwaiting", "refuselate", "codel", "lifo", "vegas"} {
		require.Less(t, got[name][flood].urgent, most, name)
	}
	for _, name := range []string{"cap", "time", "tree"} {
		require.Greater(t, got[name][flood].urgent, 0.9, name)
	}
	require.Less(t, got["users"][flood].urgent, 0.8, "bulk has many")
	for _, name := range []string{"cap", "time"} {
		require.Greater(t, got[name]["slow"].urgent, least, name)
	}
	for _, name := range []string{"shares", "tree"} {
		require.Less(t, got[name]["slow"].urgent, 0.8, "they divide grants")
	}
	require.Greater(t, got["priorities"][twice].urgent, 0.9)
	if testing.Short() {
		return // the line of shares is not yet so long that nearly all requests expire in it
	}
	require.Greater(t, got["cap"][twice].useful, 2*got["shares"][twice].useful)
	require.Less(t, got["shares"][twice].useful, 0.5, "they shed nothing")
}

// The program itself, in real time. How many requests are answered depends on the machine.
func TestTheProgram(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"-for", "300ms", "-policies", "fifo,together"}
	require.Equal(t, cli.ExitOK, run(t.Context(), args, &out, &errs), "%s", &errs)
	require.Empty(t, errs.String(), "a buffer is not a terminal")
	for _, name := range []string{"fifo", "together"} {
		require.Regexp(t, `(?m)^`+name+` +in time +p50 +p99 +refused\n`+
			`(flood +(bulk|modest) .*\n){2}(2x load +(batch|web) .*\n){2}(slow +(reports|quick) .*\n){2}\n`, out.String())
		require.Regexp(t, `(?m)^`+name+`( +\d+ % +\d+ % +[\d.]+m?s){3} +[a-z]`, out.String())
	}
	require.NotContains(t, out.String(), "lifo")
}

func TestFigures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var counts tally
		counts.begin()
		require.Equal(t, "   0/s     0s     0s  ", counts.result().String())
		require.Zero(t, counts.result().inTime())
		before := counts.begun.Add(-time.Second)
		counts.add(before, "")
		require.Zero(t, counts.result().sent, "it began before")

		counts.begun = before // and now it did not
		for i := range 100 {
			counts.add(time.Now().Add(time.Duration(-i)*time.Millisecond), "")
		}
		for _, why := range []string{late, "shed", "shed", "line full", "line full"} {
			counts.add(time.Now(), why)
		}
		counts.ended = before.Add(2 * time.Second)
		r := counts.result()
		require.Equal(t, 105, r.sent)
		require.InDelta(t, 100.0/105, r.inTime(), 1e-9)
		require.InDelta(t, 50, r.rate, 1e-9)
		require.Equal(t, "2 line full, 2 shed, 1 late", r.failed)
		require.Less(t, r.quantile(0.5), r.quantile(0.99))
	})
}

// The last frame stays, and fits the terminal.
func TestChartIsDrawn(t *testing.T) {
	terminal, drawn := clitest.Terminal(t, 80)
	var out bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-for", "300ms", "-policies", "shares"}, &out, terminal))
	chart := drawn()
	clitest.RequireWidth(t, ansi.ReplaceAllString(chart, ""), 80)
	require.Contains(t, chart, "shares ")
	last := chart[strings.LastIndex(chart, "flood   bulk"):]
	require.Regexp(t, `^flood   bulk +[█·]{16} +\d+/s `, last)
	require.Regexp(t, `2x load web +[█·]{16} +\d+/s `, last)
	require.NotContains(t, out.String(), "refused", "there is the chart instead")
}

var ansi = regexp.MustCompile(`\x1b\[[\d;?]*[A-Za-z]`)

// The table is of what has been so far.
func TestEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cli.ErrInterrupted)
	var out, errs bytes.Buffer
	require.Equal(t, cli.ExitInterrupted, run(ctx, nil, &out, &errs))
	require.Contains(t, errs.String(), "stopped early: interrupted")
	require.NotContains(t, out.String(), "fifo", "it had not begun")

	code, stdout, stderr := clitest.Interrupt(t, "-for=10m")
	require.Equal(t, cli.ExitInterrupted, code)
	require.Contains(t, stderr, "stopped early: interrupted")
	require.NotContains(t, stdout, "shares")
}

func TestUsage(t *testing.T) {
	var help bytes.Buffer
	require.Equal(t, cli.ExitOK, run(t.Context(), []string{"-h"}, &help, io.Discard))
	require.Contains(t, help.String(), "Overload sends a server twice as many requests")
	for want, args := range map[string][]string{
		`there is nothing to be done with "more"`:               {"more"},
		`-for cannot be "0s": want a time from 100ms to 24h`:    {"-for", "0s"},
		`-policies cannot be "lilo": want some of fifo,shares,`: {"-policies", "lilo"},
		"there is no flag -x":                                   {"-x"},
	} {
		var errs bytes.Buffer
		require.Equal(t, cli.ExitUsage, run(t.Context(), args, io.Discard, &errs))
		require.Contains(t, errs.String(), "overload: "+want)
	}
}

func TestUnwritableOutputIsAFailure(t *testing.T) {
	var errs bytes.Buffer
	args := []string{"-for", "100ms", "-policies", "lifo"}
	require.Equal(t, cli.ExitFailed, run(t.Context(), args, clitest.DiskFull, &errs))
	require.Contains(t, errs.String(), "disk full")
}
