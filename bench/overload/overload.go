package overload

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/farad-go/farad/bench/measure"
)

// A Result is one line: a workload with all that take part in it.
type Result struct {
	Workload string                  `json:"workload"`
	Samples  measure.Samples[Sample] `json:"samples"`

	Bench `json:"-"`
}

// A Sample is one measurement. The workloads of tenants have shares, those of servers the rest.
type Sample struct {
	// Shares are the parts of all permits' time that the tenants had, and Granted those of the
	// permits. The time is also how long the machine lets a goroutine stand still.
	Shares  []float64 `json:"shares,omitempty"`
	Granted []float64 `json:"granted,omitempty"`

	// Goodput is how many requests were answered in full before their deadline, as a part of what
	// the resource could have served.
	Goodput float64 `json:"goodput,omitempty"`
	// Refused and Late are parts of the requests: that were refused, and whose deadline passed.
	Refused float64 `json:"refused,omitempty"`
	Late    float64 `json:"late,omitempty"`
	// Behind is the part that was sent too late, by half a service time: the machine was busy.
	Behind float64 `json:"behind,omitempty"`
	// P50Ns and P99Ns are quantiles of the latency of requests that were admitted, from when they
	// were due. A request that was given up at its deadline has that for its latency.
	P50Ns    int64 `json:"p50_ns,omitempty"`
	P99Ns    int64 `json:"p99_ns,omitempty"`
	Requests int   `json:"requests,omitempty"`
}

// A Bench is something that happens to permits.
type Bench struct {
	Name    string
	weights []int // of the tenants; nil: it is a server
	Impls   []Impl
}

// httpPrefix is what the names of servers begin with.
const httpPrefix = "http-"

// slowness is how much longer than others these measurements take: limiters have to find their
// limit, and a share of time is far off if the machine pauses while one tenant has the permits.
const slowness = 20

// An Impl is who divides the permits.
type Impl struct {
	Name string
	run  func(round int, t measure.Timing) (Sample, error) // nil: the program no longer has it
}

// Benches are the workloads, in the order of the tables.
var Benches = []Bench{
	twoTenants, threeWeights,
	flood(constant), flood(lognormal), flood(exponential),
}

func (r *Result) String() string { return "overload/" + r.Workload }

// Plan returns the lines, with those implementations that match picks by names such as
// overload/http-constant/farad.
func Plan(match func(string) bool) []*Result {
	var rs []*Result
	for _, w := range Benches {
		r := &Result{Workload: w.Name, Samples: make(measure.Samples[Sample]), Bench: w}
		r.Impls = slices.DeleteFunc(
			slices.Clone(w.Impls),
			func(im Impl) bool { return !match(r.String() + "/" + im.Name) },
		)
		if len(r.Impls) > 0 {
			rs = append(rs, r)
		}
	}
	return rs
}

// RunRound measures each line once.
func RunRound(round int, rs []*Result, t measure.Timing, measured func(string)) error {
	rng := rand.New(rand.NewPCG(7, uint64(round)))
	for _, r := range rs {
		for _, im := range measure.Shuffled(rng, r.Impls) {
			s, err := im.run(round, t)
			if err != nil {
				return fmt.Errorf("%s/%s: %w", r, im.Name, err)
			}
			r.Samples[im.Name] = append(r.Samples[im.Name], s)
			measured(r.String() + "/" + im.Name)
		}
	}
	return nil
}

// Link finds what the lines that were read belong to.
func Link(rs []*Result) {
	for _, l := range rs {
		i := slices.IndexFunc(Benches, func(w Bench) bool { return w.Name == l.Workload })
		if l.Name = l.Workload; i >= 0 {
			l.Bench = Benches[i]
		}
		l.Impls = measure.Present(
			l.Impls,
			l.Samples,
			func(im Impl) string { return im.Name },
			func(name string) Impl { return Impl{Name: name} },
		)
	}
}
