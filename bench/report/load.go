package report

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/farad-go/farad/bench/jobs"
	"github.com/farad-go/farad/bench/locks"
	"github.com/farad-go/farad/bench/overload"
	"github.com/farad-go/farad/bench/semaphore"
	"github.com/farad-go/farad/bench/tasks"
	"github.com/farad-go/farad/bench/waiters"
)

// Load reads a run from the JSON file that it has left.
func Load(file string) (*Report, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := new(Report)
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r.link()
	return r, nil
}

// link finds what the lines of a report that was read belong to. What the program no longer has is
// kept under the names that it had.
func (r *Report) link() {
	semaphore.Link(r.Cells)
	locks.Link(r.Locks, LockWorkloads)
	tasks.Link(r.Tasks)
	jobs.Link(r.Jobs)
	overload.Link(r.Overload)
	waiters.LinkMemory(r.Memory)
	waiters.LinkTaskMemory(r.TaskMemory)
}
