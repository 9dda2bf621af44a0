package observe

import (
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// WriteProfile writes one of two profiles of the locks that are observed at [LevelHolders]. They
// are in the format of go tool pprof, whose flag -sample_index selects a column.
//
// The profile farad_held has what is held now, by the stack that acquired it. Its columns:
//
//	holds      the number of acquires that have not been released
//	permits    their permits
//	time       how long each has been held
//
// A stack that leaks permits stands at its top. The profile farad_wait has what has been waited for
// since the locks began to be observed, ended or not. It has two families of stacks, so each column
// is a profile of its own:
//
//	contentions, delay    by the stack that waited
//	blame                 by the stack that held meanwhile
//
// Blame shares out the delay. While a lock has waiters, each of its permits that are held is to
// blame for the same part of their time. So the sum of the blame is the sum of the delay, less what
// fell to unknown holders.
//
// Each sample has the labels lock and kind, and those that the goroutine had by runtime/pprof.
// -tagfocus selects by them, and -tagleaf=lock makes frames of them.
func (s *Snapshot) WriteProfile(w io.Writer, name string) error {
	var p *profile.Profile
	switch name {
	case "farad_held":
		p = s.held()
	case "farad_wait":
		p = s.waited()
	default:
		return fmt.Errorf("observe: no profile %q: there are farad_held and farad_wait", name)
	}
	return p.Write(w)
}

func (s *Snapshot) held() *profile.Profile {
	b := newBuilder(s.At, "permits", "holds/count", "permits/count", "time/nanoseconds")
	for i := range s.Locks {
		l := &s.Locks[i]
		for _, h := range l.Holders {
			b.add(l, h.Agent, h.Stack, 1, h.Permits, int64(s.At.Sub(h.Since)))
		}
	}
	return b.profile
}

func (s *Snapshot) waited() *profile.Profile {
	b := newBuilder(s.At, "delay", "contentions/count", "delay/nanoseconds", "blame/nanoseconds")
	for i := range s.Locks {
		l := &s.Locks[i]
		for _, e := range l.Sites {
			b.add(l, Agent{}, e.Stack, int64(e.Waits), int64(e.Delay), int64(e.Blame))
		}
		for _, w := range l.Waiters {
			if w.Permits == 0 {
				continue // for a signal, and in nobody's way
			}
			b.add(l, w.Agent, w.Stack, 1, int64(s.At.Sub(w.Since)), 0)
		}
		for _, h := range l.Holders {
			b.add(l, h.Agent, h.Stack, 0, 0, int64(h.Blame))
		}
	}
	return b.profile
}

// A builder makes a profile.
type builder struct {
	profile   *profile.Profile
	samples   map[string]*profile.Sample // by labels and stack
	locations map[location]*profile.Location
	functions map[string]*profile.Function
}

type location struct {
	pc   uintptr
	name string
	line int
}

// newBuilder makes a profile whose columns are given as name/unit.
func newBuilder(at time.Time, column string, columns ...string) *builder {
	b := &builder{
		profile: &profile.Profile{TimeNanos: at.UnixNano(), DefaultSampleType: column},
		samples: map[string]*profile.Sample{}, locations: map[location]*profile.Location{},
		functions: map[string]*profile.Function{},
	}
	for _, c := range columns {
		name, unit, _ := strings.Cut(c, "/")
		b.profile.SampleType = append(b.profile.SampleType, &profile.ValueType{Type: name, Unit: unit})
	}
	// All symbols are in the profile, so that pprof needs no program to look them up in.
	program, _ := os.Executable()
	b.profile.Mapping = []*profile.Mapping{{
		ID: 1, File: program, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true,
	}}
	return b
}

// add adds values to the sample of a stack and its labels.
func (b *builder) add(l *Lock, by Agent, stack []uintptr, values ...int64) {
	if !slices.ContainsFunc(values, func(v int64) bool { return v != 0 }) {
		return
	}
	labels := map[string][]string{}
	for k, v := range by.Labels {
		labels[k] = []string{v}
	}
	labels["kind"] = []string{l.Kind}
	if l.Name != "" {
		labels["lock"] = []string{l.Name}
	}
	if by.Name != "" {
		labels["task"] = []string{by.Name}
	}
	var key strings.Builder
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		fmt.Fprintf(&key, "%q%q", k, labels[k])
	}
	fmt.Fprint(&key, stack)
	s := b.samples[key.String()]
	if s == nil {
		s = &profile.Sample{Value: make([]int64, len(values)), Label: labels}
		for _, f := range frames(stack) {
			s.Location = append(s.Location, b.location(f))
		}
		if len(s.Location) == 0 {
			s.Location = append(s.Location, b.location(runtime.Frame{Function: "(unknown)"}))
		}
		b.samples[key.String()] = s
		b.profile.Sample = append(b.profile.Sample, s)
	}
	for i, v := range values {
		s.Value[i] += v
	}
}

// location returns the location of a frame. Inlined frames have one each.
func (b *builder) location(f runtime.Frame) *profile.Location {
	key := location{f.PC, f.Function, f.Line}
	if l := b.locations[key]; l != nil {
		return l
	}
	p := b.profile
	of := b.functions[f.Function+"\x00"+f.File]
	if of == nil {
		of = &profile.Function{
			ID: uint64(len(p.Function) + 1), Name: f.Function, SystemName: f.Function, Filename: f.File,
		}
		if f.Func != nil {
			_, line := f.Func.FileLine(f.Func.Entry())
			of.StartLine = int64(line)
		}
		b.functions[f.Function+"\x00"+f.File] = of
		p.Function = append(p.Function, of)
	}
	l := &profile.Location{
		ID: uint64(len(p.Location) + 1), Mapping: p.Mapping[0], Address: uint64(f.PC),
		Line: []profile.Line{{Function: of, Line: int64(f.Line)}},
	}
	b.locations[key] = l
	p.Location = append(p.Location, l)
	return l
}
