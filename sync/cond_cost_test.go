//go:build !interleave

package sync

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unsafe"

	"github.com/farad-go/farad/internal/locktest"
	"github.com/farad-go/farad/internal/locktest/require"
	"github.com/farad-go/farad/internal/waiting"
)

func TestCondAndWaitGroupSizesAreAsDocumented(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 64, unsafe.Sizeof(Cond{}))
		require.True(t, locktest.RaceEnabled || unsafe.Sizeof(WaitGroup{}) == 40)
	}
}

func TestCondWaitingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for name, wait := range map[string]func(c *Cond){
		"Wait":        (*Cond).Wait,
		"WaitContext": func(c *Cond) { _ = c.WaitContext(ctx) },
		"WaitTimeout": func(c *Cond) { c.WaitTimeout(time.Hour) },
	} {
		for name2, wake := range map[string]func(c *Cond){"Signal": (*Cond).Signal, "Broadcast": (*Cond).Broadcast} {
			t.Run(name+"/"+name2, func(t *testing.T) {
				c := NewCond(new(Mutex))
				allocs := locktest.AllocsPerWait(c, func() {}, func() { wake(c) }, func() {
					c.L.Lock()
					wait(c)
					c.L.Unlock()
				})
				require.Zero(t, allocs)
			})
		}
	}
}

func TestGivingUpAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	c := NewCond(new(Mutex))
	c.L.Lock()
	defer c.L.Unlock()
	var wg WaitGroup
	wg.Add(1)
	for name, wait := range map[string]func(){
		"Cond":      func() { c.WaitTimeout(time.Microsecond) },
		"WaitGroup": func() { wg.WaitTimeout(time.Microsecond) },
	} {
		t.Run(name, func(t *testing.T) { require.Zero(t, locktest.AllocsPerTimeout(50, wait)) })
	}
}

func TestWaitGroupWaitingAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	for name, wait := range map[string]func(wg *WaitGroup){
		"Wait":        (*WaitGroup).Wait,
		"WaitContext": func(wg *WaitGroup) { _ = wg.WaitContext(ctx) },
		"WaitTimeout": func(wg *WaitGroup) { wg.WaitTimeout(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			var wg WaitGroup
			allocs := locktest.AllocsPerWait(&wg, func() { wg.Add(1) }, wg.Done, func() { wait(&wg) })
			require.Zero(t, allocs)
		})
	}
}

// Nor does one that finds the counter at zero when it is about to wait.
func TestWaitGroupThatIsDoneJustNowAllocatesNothing(t *testing.T) {
	locktest.SkipUnderRace(t)
	var wg WaitGroup
	require.Zero(t, locktest.AllocsPerRun(100, func() { _ = wg.wait(waiting.Limit{}) }))
	require.Zero(t, locktest.AllocsPerRun(100, wg.waitSlow))
}

// A call without a wait asks no context for its channel, which a context allocates then.
func TestWaitGroupAtZeroAsksForNoChannel(t *testing.T) {
	var wg WaitGroup
	locktest.RequireNoChannel(t, wg.WaitContext)
}

func TestVetSeesCopies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copies.go")
	require.NoError(t, os.WriteFile(file, []byte(`package main

import (
	"github.com/farad-go/farad/sync"
)

func cond(c sync.Cond)       {}
func group(wg sync.WaitGroup) {}

func main() {
	var c sync.Cond
	var wg sync.WaitGroup
	cond(c)
	group(wg)
}
`), 0o600))
	out := locktest.GoTool(t, "vet", file)
	require.Contains(t, out, "cond passes lock by value")
	require.Contains(t, out, "group passes lock by value")
}
