package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/report"
)

func TestRunWritesItsFiles(t *testing.T) {
	dir := t.TempDir()
	raw, all := filepath.Join(dir, "b.json"), filepath.Join(dir, "a", "ll")
	c, err := parse([]string{"-smoke", "-run", "^uncontended/own/|/future/", "-json", raw, "-out", all}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(c, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	files := []string{raw}
	for _, name := range append(outFiles, "ratios-semaphore.svg") {
		files = append(files, filepath.Join(all, name))
	}
	for _, name := range files {
		if content, err := os.ReadFile(name); err != nil ||
			!bytes.Contains(bytes.ToLower(content), []byte("uncontended")) {
			t.Errorf("%s: %v, %.100s", name, err, content)
		}
	}
	if !strings.Contains(out.String(), "smoke run: everything works") {
		t.Errorf("output %s", out.String())
	}
}

func TestPeersHaveVersions(t *testing.T) {
	m := measure.ThisMachine(nil)
	for _, module := range measure.PeerModules {
		if !regexp.MustCompile(regexp.QuoteMeta(module) + ` v\d`).MatchString(m.Peers) {
			t.Errorf("no %s in %q", module, m.Peers)
		}
	}
	if md := (&report.Report{Machine: m}).Markdown(); !strings.Contains(md, "\n- peers: "+m.Peers+"\n") {
		t.Error("the report does not tell them")
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"-rounds", "0"},
		{"-window", "0"},
		{"-run", "("},
		{"a", "b"},
		{"-nope"},
		{"-page", "x"},
		{"-smoke", "-quick"},
		{"-smoke", "-compare", "x"},
	} {
		if _, err := parse(args, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	c, err := parse([]string{"-run", "nothing has this name"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(c, io.Discard, io.Discard); err == nil {
		t.Error("a run of nothing succeeds")
	}
}
