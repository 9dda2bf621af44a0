package report

import (
	"fmt"
	"strings"
	"unicode"
)

// Benchstat returns the rounds in the format of Go's benchmarks, a line each. `benchstat old.txt
// new.txt` compares two runs, and `benchstat -col /impl new.txt` the implementations.
func (r *Report) Benchstat() string {
	w := new(strings.Builder)
	platform, _, _ := strings.Cut(r.Machine.System, ",")
	goos, goarch, _ := strings.Cut(platform, "/")
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: github.com/farad-go/farad/bench\ncpu: %s\n", goos,
		goarch, r.Machine.CPU)
	for _, l := range r.Lines() {
		for _, im := range l.impls {
			f := l.of[im]
			for round, ns := range f.ns {
				ops := 1.0
				if f.ops != nil {
					ops = f.ops[round]
				}
				fmt.Fprintf(w, "Benchmark%s-%d\t%.0f\t%.4f ns/op", benchmarkName(l.Name, im),
					max(1, r.Machine.GOMAXPROCS), max(1, ops), ns)
				if f.allocs != nil {
					fmt.Fprintf(w, "\t%.4f allocs/op", f.allocs[round])
				}
				w.WriteByte('\n')
			}
		}
	}
	return w.String()
}

// benchmarkName is a name that benchstat takes to pieces at the slashes, so that there is none in
// the implementation's.
func benchmarkName(line, impl string) string {
	name := line + "/impl=" + strings.ReplaceAll(impl, "/", "_")
	name = strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return '_'
		}
		return c
	}, name)
	return strings.ToUpper(name[:1]) + name[1:]
}
