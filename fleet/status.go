package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/farad-go/farad/fleet/internal/line"
)

// A Status is what a process knows of one line that it has opened.
type Status struct {
	Name   string  `json:"name"` // with its kind: "semaphore exports"
	Size   int64   `json:"size"` // of the fleet; of a read-write lock 2³⁰
	Blocks []Block `json:"blocks"`

	// Of this process.
	Given   int64 `json:"given"`   // permits that its goroutines may hold
	Held    int64 `json:"held"`    // permits that they hold
	Waiting int   `json:"waiting"` // requests
	Losses  int64 `json:"losses"`  // how often it has lost what it had

	// Refused is the error by which etcd has refused this process a read, a write or a new session.
	// It is empty once etcd has carried out a transaction or has given a session since.
	Refused string `json:"refused,omitempty"`
}

// A Block is an entry of a line, in the order of the line: permits that a process holds or waits
// for.
type Block struct {
	Process string        `json:"process"` // host and process number, where known
	Lease   int64         `json:"lease"`
	Own     bool          `json:"own"` // of this process
	Permits int64         `json:"permits"`
	Holds   bool          `json:"holds"`
	Since   time.Time     `json:"since"`            // when this process first saw it in this state
	Tenure  time.Duration `json:"tenure,omitempty"` // what is left of it, if others wait: of own blocks
}

// Status returns what this process knows of the lines that it has opened, by name: who holds, who
// waits, and since when. It asks the server for the names of the processes, and nothing else.
func (f *Fleet) Status(ctx context.Context) ([]Status, error) {
	names, err := f.members(ctx)
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, d := range f.running() {
		answer := make(chan Status, 1)
		select {
		case d.statuses <- answer:
		case <-d.done:
			continue
		}
		st := <-answer
		for i := range st.Blocks {
			st.Blocks[i].Process = names[st.Blocks[i].Lease]
		}
		all = append(all, st)
	}
	slices.SortFunc(all, func(a, b Status) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// members returns the processes of the fleet by their leases.
func (f *Fleet) members(ctx context.Context) (map[int64]string, error) {
	r, err := f.client.Get(ctx, f.namespace+"/member/", clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("fleet: members: %w", err)
	}
	names := make(map[int64]string)
	for _, kv := range r.Kvs {
		var m member
		if json.Unmarshal(kv.Value, &m) == nil {
			names[kv.Lease] = fmt.Sprintf("%s/%d", m.Host, m.PID)
		}
	}
	return names, nil
}

// A sight is an entry as this process has seen it.
type sight struct {
	holds bool
	since time.Time
}

// watchBlocks notes since when the entries are as they are.
func (l *loop) watchBlocks() {
	seen := make(map[line.Key]sight, len(l.state.Entries))
	for e, holds := range l.state.Holding {
		s, ok := l.seen[e.Key]
		if !ok || s.holds != holds {
			s = sight{holds, time.Now()}
		}
		seen[e.Key] = s
	}
	l.seen = seen
}

func (l *loop) status() Status {
	t := l.current.Load()
	st := Status{
		Name: l.name, Size: l.state.Size,
		Given: t.Given(), Held: t.Held(), Waiting: t.Waiting(), Losses: l.losses.Load(),
	}
	if l.denied != nil {
		st.Refused = l.denied.Error()
	}
	others := false
	lease := int64(0)
	if s := t.session.Load(); s != nil {
		lease = int64(s.lease)
	}
	for e, holds := range l.state.Holding {
		others = others || !holds && e.Lease != lease
		st.Blocks = append(st.Blocks, Block{
			Lease: e.Lease, Own: e.Lease == lease, Permits: e.Weight, Holds: holds, Since: l.seen[e.Key].since,
		})
	}
	for i := range st.Blocks {
		if b := &st.Blocks[i]; others && b.Own && b.Holds {
			b.Tenure = max(0, l.fleet.tenure-time.Since(b.Since))
		}
	}
	return st
}
