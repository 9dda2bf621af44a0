package limit_test

import (
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/farad-go/farad/bench/limit"
	"github.com/farad-go/farad/bench/render"
	"github.com/farad-go/farad/bench/report"
	"github.com/farad-go/farad/internal/limitsim"
)

var write = flag.Bool("write", false, "write the tables and the plot of docs/design/limit.md: minutes")

const (
	begin = "<!-- limits:begin -->\n"
	end   = "<!-- limits:end -->\n"
)

// drawn are the worlds of the plot, and drawnBy whose lines are in it.
var (
	drawn   = []string{"step", "slower", "tides"}
	drawnBy = []string{"AIMD", "Gradient2", "Vegas", "failsafe-go"}
)

// Without -write it plays the beginning of each world, which shows that everything works.
func TestCompare(t *testing.T) {
	worlds, seeds := limitsim.Worlds(), 5
	if !*write {
		seeds = 1
		for _, w := range worlds {
			w.Lasts = min(w.Lasts, 5*time.Second)
			w.Steps = nil
		}
	}
	matches := make([][]limit.Match, len(worlds))
	lines := make(map[string]map[string]*limitsim.Result)
	for i, w := range worlds {
		lines[w.Name] = make(map[string]*limitsim.Result)
		for _, c := range limit.Contestants {
			m := limit.Play(t, c, w, seeds)
			for _, r := range m {
				require.LessOrEqual(t, r.Highest, int64(limit.Max), "%s, %s", w.Name, c.Name)
				require.Positive(t, r.Good, "%s, %s", w.Name, c.Name)
			}
			matches[i] = append(matches[i], m)
			lines[w.Name][c.Name] = m[0]
		}
		t.Log(w.Name)
	}
	columns := make([][]*limitsim.Result, len(drawn))
	for i, world := range drawn {
		for _, by := range drawnBy {
			require.Contains(t, lines[world], by)
			columns[i] = append(columns[i], lines[world][by])
		}
	}
	tables, plot := limit.Tables(worlds, matches), render.LimitsDrawing("limit.svg", columns)
	if *write {
		const folder = "../../docs/design"
		require.NoError(t, report.Insert(folder+"/limit.md", begin, end, tables))
		require.NoError(t, render.SaveDrawings(folder, []render.Drawing{plot}))
	}
}
