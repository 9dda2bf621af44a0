package observe

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/observe/hook"
)

// shared is a lock of a fleet, beside another lock.
func shared() *Snapshot {
	return &Snapshot{At: shopTime, Locks: []Lock{
		{ID: 1, Name: "accounts", Kind: "sync.Mutex", Level: LevelHolders, Size: 1, Free: 1},
		{
			ID: 2, Name: "exports", Kind: "fleet.Semaphore", Level: LevelHolders, Size: 40, Held: 3, Waiting: 1, Peak: 2,
			Holders: []Holder{{
				ID: 1, Agent: Agent{Goroutine: 5}, Permits: 3, Since: ago(time.Second), Stack: stackOf(export),
			}},
			Waiters: []Waiter{{
				ID: 2, Agent: Agent{Goroutine: 6}, Permits: 1, Since: ago(time.Second), CanEnd: true,
				Stack: stackOf(export),
			}},
			Fleet: &hook.Fleet{
				Blocks: []hook.Block{
					{
						Lease: 17, Own: true, Permits: 3, Holds: true,
						Since: ago(12 * time.Millisecond), Tenure: 8 * time.Millisecond,
					},
					{Process: "db-2/4711", Lease: 18, Permits: 37, Holds: true, Since: ago(3 * time.Second)},
					{Lease: 0x1f, Permits: 2, Since: ago(time.Second)},
				},
				More: 4, Losses: 2, Refused: "etcdserver: permission denied",
			},
		},
		{
			ID: 3, Name: "config", Kind: "fleet.RWMutex", Level: LevelHolders, Size: 1 << 30, Free: 1<<30 - 1,
			Fleet: &hook.Fleet{Back: 42, Blocks: []hook.Block{
				{Process: "a/1", Lease: 3, Permits: 1, Holds: true}, {Process: "b/2", Lease: 4, Permits: 1 << 30},
			}},
		},
	}}
}

func TestTextHasTheFleet(t *testing.T) { golden(t, "fleet.txt", testView(shared()).text("")) }

func TestPageHasTheFleet(t *testing.T) {
	page := body(t, get(t, shared(), "GET", "lock=2"))
	elements(t, page)
	for _, text := range []string{
		"this process, until others are served in 8.00ms", "db-2/4711", "lease 000000000000001f", "… and 4 more",
		"This process has lost what it had: 2 times; refused: etcdserver: permission denied.", ">3/40<",
	} {
		require.Contains(t, page, text)
	}
	require.Contains(t, body(t, get(t, shared(), "GET", "lock=3")), ">readers<")
	require.NotContains(t, body(t, get(t, shared(), "GET", "lock=1")), "fleet")
}

func TestJSONHasTheFleet(t *testing.T) {
	text := body(t, get(t, shared(), "GET", "format=json"))
	var got Snapshot
	require.NoError(t, json.Unmarshal([]byte(text), &got))
	require.Nil(t, got.Locks[0].Fleet)
	require.Equal(t, shared().Locks[1].Fleet, got.Locks[1].Fleet)
	require.Equal(t, 2, strings.Count(text, `"Fleet"`), "other locks have none")
}

// What others have named does nothing, and is bounded.
func TestFleetOfOthersIsBoundedAndEscaped(t *testing.T) {
	s := hostile()
	evil := s.Locks[0].Name
	s.Locks[0].Fleet = &hook.Fleet{Refused: strings.Repeat(evil, 100)}
	for range 1000 {
		s.Locks[0].Fleet.Blocks = append(s.Locks[0].Fleet.Blocks, hook.Block{Process: evil, Permits: 1})
	}
	n := elements(t, body(t, get(t, s, "GET", "lock=1")))
	require.Equal(t, 1, n["script"])
	text := s.String()
	require.Contains(t, text, "… and 980 blocks")
	require.NotContains(t, text, "\x1b")
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len([]rune(line)), textWidth+1)
	}
}
