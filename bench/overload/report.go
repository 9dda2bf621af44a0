package overload

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/farad-go/farad/bench/measure"
	"github.com/farad-go/farad/bench/table"
)

const tenantNote = "In tenants-1000-10 a tenant with 1,000 goroutines and one with 10, of equal weights, take one of" +
	" two permits, again and again. In weights-1-2-4 three tenants of these weights, with 64" +
	" goroutines each, take 1 to 8 of 16 permits. farad is a semaphore WithShares. A permit is held for" +
	" a microsecond and a yield. The shares of the time are those of the permits' time; on a busy machine" +
	" it is also how long a goroutine stands still. Off is how much of its due share of the time the" +
	" one that is furthest off has too much or too little. Medians over the rounds."

// TenantTable has a line for each implementation.
func TenantTable(rs []*Result, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "Tenants of a semaphore", Note: tenantNote,
		Head: []string{"workload", "by", "shares of the time", "shares of the permits", "off"}, Left: 4,
	}
	for _, l := range rs {
		for _, im := range l.Impls {
			samples := l.Samples[im.Name]
			if len(samples) == 0 || samples[0].Shares == nil {
				continue
			}
			var of *table.Target
			if im.Name == measure.NameFarad {
				of = table.Find(Targets, l.Workload, "", table.Unfairness, "")
			}
			t.Add(l.Workload, im.Name,
				shares(samples, func(s Sample) []float64 { return s.Shares }),
				shares(samples, func(s Sample) []float64 { return s.Granted }),
				sum.Entry(table.Unfairness, of, l.Samples.Column(im.Name, l.Unfairness)))
		}
	}
	return t
}

// shares formats the medians of the tenants' shares.
func shares(samples []Sample, of func(Sample) []float64) string {
	words := make([]string, len(of(samples[0])))
	for tenant := range words {
		var vs []float64
		for _, s := range samples {
			vs = append(vs, of(s)[tenant])
		}
		words[tenant] = fmt.Sprintf("%.3f", measure.Median(vs))
	}
	return strings.Join(words, " : ")
}

const floodNote = "A server of HTTP over the loopback interface has a resource that serves 8 requests at a time, for" +
	" 20 ms each on average: always so long, or lognormal with a standard deviation of 10 ms, or" +
	" exponential. Twice as many requests come as that, at random (Poisson), whatever became of those" +
	" before. Clients give up after 200 ms, the server is told, and what is given up gives its place" +
	" back. Goodput is what was answered in full before that, as a part of what the resource can serve." +
	" Refused and late are parts of all requests, and so is behind: what was sent 10 ms too late or more," +
	" because the machine was busy. Where that is much, look at nothing else. The latencies are those of" +
	" admitted requests, from when they were due; what was given up counts with 200 ms. farad is" +
	" adaptive LIFO with a target of half a service time and an interval of one. The quotients are" +
	" farad's goodput divided by the line's, and its p99 divided by that of a light load, a tenth of" +
	" what the resource can serve: medians of the quotients inside the rounds."

// FloodTable has a line for each implementation.
func FloodTable(rs []*Result, sum *table.Tally) *table.Table {
	t := &table.Table{
		Title: "A server at twice its load", Note: floodNote,
		Head: []string{
			"workload", "by", "goodput", "farad ÷ it", "farad, Vegas ÷ it", "p50", "p99", "farad's p99 ÷ it",
			"refused", "late", "behind",
		}, Left: 2,
	}
	for _, l := range rs {
		for _, im := range l.Impls {
			samples := l.Samples[im.Name]
			if len(samples) == 0 || samples[0].Shares != nil {
				continue
			}
			median := func(f func(Sample) float64) float64 { return measure.Median(l.Samples.Column(im.Name, f)) }
			latency := func(f func(Sample) float64) string {
				return time.Duration(median(f)).Round(100 * time.Microsecond).String()
			}
			beside := func(m table.Metric, ours string, figure func(Sample) float64) string {
				if im.Name == nameLight != (m == table.P99To) || im.Name == cmp.Or(ours, measure.NameFarad) {
					return ""
				}
				of := table.FindOf(Targets, l.Workload, "", m, ours, im.Name)
				return sum.Entry(m, of, l.beside(ours, im.Name, figure))
			}
			t.Add(l.Workload, im.Name,
				fmt.Sprintf("%.2f", median(goodput)),
				beside(table.GoodputTo, "", goodput), beside(table.GoodputTo, nameVegas, goodput),
				latency(p50), latency(p99), beside(table.P99To, "", p99),
				fmt.Sprintf("%.2f", median(refusedPart)), fmt.Sprintf("%.2f", median(latePart)),
				fmt.Sprintf("%.3f", median(behindPart)))
		}
	}
	return t
}

func p50(s Sample) float64 { return float64(s.P50Ns) }

func refusedPart(s Sample) float64 { return s.Refused }

func latePart(s Sample) float64 { return s.Late }

func behindPart(s Sample) float64 { return s.Behind }
