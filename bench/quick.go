package main

import (
	"regexp"
	"time"
)

// quickLines are what a quick run measures: some lines of each family, so that all of it takes a
// minute. Overloads are not among them, as one takes seconds. A comparison covers only the lines
// that both runs have. So after a change here the baseline must be measured again (README.md).
var quickLines = regexp.MustCompile(`^(uncontended/background|contended-8x1/shared|yield-held-8x2/own)/` +
	`|^cancel/[^/]+/.+/1000$` +
	`|^wake/(future|goroutine)/(farad|x/sync)/100000$` +
	`|^memory/(future|goroutine/own)/(farad|x/sync)$` +
	`|^locks/(mutex-1|mutex-8|mutex-context-8|mutex-own-context-8|timeout-8|mutex-timeout-8)/` +
	`|^locks/(word-8|packed-8|read-2|mix-90-8|twa-1)/` +
	`|^locks/(cond-ping-pong|cond-64|waitgroup-1|waitgroup-wait)/(farad|sync.Cond|sync.WaitGroup)$` +
	`|^locks/(keyed-1|keyed-64)/` +
	`|^locks/(observed-1|observed-8|observed-sync-1|observed-sync-8)/(farad|farad, not observed)$` +
	`|^locks/(sync-mutex-1|sync-read-2|sync-mix-90-8)/(farad|sync.Mutex|sync.RWMutex)$` +
	`|^locks/capacitor-8x2/(farad|farad, semaphore|x/sync)$` +
	`|^locks/semabench-8/(farad|farad, semaphore|x/sync)$` +
	`|^locks/chains-8/(farad|chains, handed)$` +
	`|^locks/policies-8/(farad|1: spin, park)$` +
	`|^locks/mutexbench-8/(farad|sync.Mutex|farad, mutex.Mutex|wrapped sync.Mutex, B=10)$` +
	`|^locks/mutexbench-waits-64/(farad|sync.Mutex)$` +
	`|^locks/hand-off-8/(farad|sync.Mutex)$` +
	`|^locks/every-8/(farad|sync.Mutex|farad, semaphore)$` +
	`|^locks/storm-50-1000/(farad|x/sync)$` +
	`|^locks/figure-8/MCS, ` +
	`|^locks/plane-64/B=1, Q=(0|256)$` +
	`|^locks/lanes-8/TTS, (B=8|4 lanes of 2, hashed)$` +
	`|^locks/(shares-1|shares-context-1|shares-as-8|shares-as-context-1|tree-yield-1000)/` +
	`|^jobs/burst-64x2/(farad|x/sync)$` +
	`|^jobs/hash-8/(farad|floor|x/sync|ants)$` +
	`|^tasks/(hand-off-8x2/1|spawn/1|await-yield/1|timers/1|ants-submit/8)/` +
	`|^tasks/memory/(poll/farad|goroutine/x/sync)$` +
	`|^variants/golden ratio`)

// The measurements of a quick run are shorter, but as many rounds as it takes for the spread to say
// something (moved).
const (
	quickRounds = 5
	quickWindow = 40 * time.Millisecond
	quickWarmup = 40 * time.Millisecond
)
