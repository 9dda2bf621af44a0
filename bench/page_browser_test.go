package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// The page of a run, in a real browser. The tests that need one have Browser in their names. They
// belong to this module and not to one of their own, because no package imports it: what its tests
// need reaches no user's go.sum; and to this package, so that they run again whenever the program
// changes.

// startBrowser starts a headless browser for one test. Nothing that it might ask for leaves the
// machine.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	allocator, stop := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.NoSandbox, // CI runs as root
		chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"), // where tests serve
		chromedp.Flag("hide-scrollbars", true),                                     // as on a phone: they lie over the page
	)...)
	t.Cleanup(stop)
	ctx, stop := chromedp.NewContext(allocator)
	t.Cleanup(stop)
	err := chromedp.Do(ctx)
	if errors.Is(err, exec.ErrNotFound) && os.Getenv("CI") != "true" {
		t.Skip("no browser: install Chromium or Chrome (Debian: apt install chromium)")
	}
	require.NoError(t, err, "CI needs Debian's package chromium")
	return ctx
}

// A box is a part of a page, in CSS pixels.
type box struct{ X, Y, Width, Height float64 }

func (b box) empty() bool { return b.Width <= 0 || b.Height <= 0 }

// within returns the part of b that is in c.
func (b box) within(c box) box {
	x, y := max(b.X, c.X), max(b.Y, c.Y)
	return box{x, y, min(b.X+b.Width, c.X+c.Width) - x, min(b.Y+b.Height, c.Y+c.Height) - y}
}

// A screen is what a page is looked at on.
type screen struct {
	name          string
	width, height int64
	scale         float64
	mobile        bool
	dark          bool
}

// screens are a phone and a desk, by day and by night.
var screens = []screen{
	{"phone-light", 390, 844, 3, true, false},
	{"phone-dark", 390, 844, 3, true, true},
	{"desktop-light", 1280, 800, 1, false, false},
	{"desktop-dark", 1280, 800, 1, false, true},
}

func (s screen) emulate(ctx context.Context) error {
	options := []chromedp.EmulateViewportOption{chromedp.EmulateScale(s.scale)}
	if s.mobile {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(s.width, s.height, options...)); err != nil {
		return err
	}
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	return err
}

// open loads a file, or what a test serves, into a tab of its own, and returns the tab and what
// goes wrong there: requests to anything but the page, errors in the console, and exceptions.
func open(t *testing.T, ctx context.Context, s screen, where string) (tab context.Context, problems func() []string) {
	t.Helper()
	ctx, done := context.WithTimeout(ctx, time.Minute)
	t.Cleanup(done)
	tab, done = chromedp.NewContext(ctx)
	t.Cleanup(done)
	address := where
	if !strings.HasPrefix(where, "http://127.0.0.1:") {
		address = "file://" + filepath.ToSlash(where)
	}
	place, _, _ := strings.Cut(address, "?")
	var found []string
	var mu sync.Mutex
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, fmt.Sprintf(format, args...))
	}
	require.NoError(t, chromedp.Listen(tab, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if to, _, _ := strings.Cut(e.Request.URL, "?"); to != place && !strings.HasPrefix(to, "data:") {
				note("request: %s", e.Request.URL)
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.EntryLevelError {
				note("console: %s", e.Entry.Text)
			}
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeAssert {
				for _, arg := range e.Args {
					note("console: %s", arg.Value)
				}
			}
		case *runtime.EventExceptionThrown:
			note("exception: %s", (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
		}
	}))
	require.NoError(t, s.emulate(tab))
	require.NoError(t, chromedp.Do(tab, chromedp.Navigate(address)))
	return tab, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(found)
	}
}

// picture takes a picture of a part of the page; with a scale of 1 in the pixels of the screen.
func picture(t *testing.T, tab context.Context, of box, scale float64) image.Image {
	t.Helper()
	yes := true
	shot, err := chromedp.Call(tab, page.CaptureScreenshot, page.CaptureScreenshotParams{
		Clip:                  &page.Viewport{X: of.X, Y: of.Y, Width: of.Width, Height: of.Height, Scale: scale},
		CaptureBeyondViewport: &yes,
	})
	require.NoError(t, err)
	img, err := png.Decode(bytes.NewReader(shot.Data))
	require.NoError(t, err)
	return img
}
